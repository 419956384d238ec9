"""Values as MIME bundles, by the _repr_*_ methods that notebooks use."""
from _sandglass.private import builtins as __builtins__

import json
import sys
from binascii import b2a_base64

from _sandglass.channel import MOST_OUT, clean, encode
from _sandglass.errors import type_name

MOST_PLAIN = 1 << 20

_METHODS = (
    ("text/html", "_repr_html_"),
    ("text/markdown", "_repr_markdown_"),
    ("text/latex", "_repr_latex_"),
    ("application/json", "_repr_json_"),
    ("image/png", "_repr_png_"),
    ("image/jpeg", "_repr_jpeg_"),
    ("image/svg+xml", "_repr_svg_"),
    ("application/pdf", "_repr_pdf_"),
)
# Types that have none of the methods: their repr is all there is.
_PLAIN = frozenset((int, float, str, bool, bytes, complex, list, dict, tuple, set, frozenset))
_dumps = json.JSONEncoder(allow_nan=False, separators=(",", ":")).encode


def plain(value):
    """repr(value): bounded, and text also where repr raises."""
    try:
        text = repr(value)
    except Exception as error:
        try:
            why = str(error)
        except Exception:
            why = "<exception str() failed>"
        return clean("<%s: repr() raised %s: %s>" % (type_name(value), type_name(error), why[:1000]))
    if len(text) > MOST_PLAIN:
        note = "\n... [the text is %d characters long; the first %d are shown]"
        text = text[:MOST_PLAIN] + note % (len(text), MOST_PLAIN)
    return clean(text)


def _warn(value, method, error):
    try:
        sys.stderr.write("%s.%s() raised %s: %s\n" % (
            type_name(value), method, type_name(error), error))
    except Exception:
        pass


def _as_text(mime, value):
    """What stands in a frame for one representation; None if it has no such form."""
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, (bytes, bytearray, memoryview)):
        return b2a_base64(value, newline=False).decode("ascii")
    if mime == "application/json" or mime.endswith("+json"):
        return clean(_dumps(value))
    return None


def _call(value, name, **arguments):
    # Looked up on the type: objects that answer to every attribute name (mocks, proxies) have none
    # of these, and a class is not shown as its instances are.
    method = getattr(type(value), name, None)
    if method is None or not callable(method):
        return None
    try:
        return method(value, **arguments)
    except Exception as error:
        _warn(value, name, error)
        return None


def render(value):
    """(data, metadata) of a value. Runs user code."""
    if type(value) in _PLAIN or value is None:
        return {"text/plain": plain(value)}, {}
    data, metadata = {}, {}
    whole = _call(value, "_repr_mimebundle_", include=None, exclude=None)
    if isinstance(whole, tuple) and len(whole) == 2:
        whole, extra = whole
        _merge_metadata(metadata, extra)
    if isinstance(whole, dict):
        _merge(data, value, whole)
    for mime, name in _METHODS:
        if mime in data:
            continue
        made = _call(value, name)
        if isinstance(made, tuple) and len(made) == 2:
            made, extra = made
            _merge_metadata(metadata, {mime: extra})
        if made is not None:
            _merge(data, value, {mime: made})
    if "text/plain" not in data:
        data["text/plain"] = plain(value)
    return data, metadata


def bundle(value):
    """The data of a value that is a bundle already."""
    data = {}
    if isinstance(value, dict):
        _merge(data, value, value)
    return data or {"text/plain": plain(value)}


def _merge(data, value, made_by_mime):
    for mime, made in made_by_mime.items():
        try:
            text = _as_text(mime, made)
        except Exception as error:
            _warn(value, str(mime), error)
            continue
        if text is not None and isinstance(mime, str):
            data[clean(mime)] = text


def _merge_metadata(metadata, extra):
    if isinstance(extra, dict):
        try:
            metadata.update(json.loads(_dumps(extra)))
        except Exception:
            pass  # metadata is an extra: what is not JSON is left out


def frame(id, main, data, metadata, mark=0):
    """The encoded result frame; what is too large gives way to a note that says how large it was."""
    text = None
    head = {"ev": "result", "id": id, "main": main}
    if mark:
        head["mark"] = mark
    if sum(map(len, data.values())) <= MOST_OUT - 65536:
        try:
            text = encode({**head, "data": data, "metadata": metadata})
        except Exception:  # metadata that only looks like JSON
            text = encode({**head, "data": data, "metadata": {}})
    if text is None or len(text) > MOST_OUT:
        sizes = ", ".join("%s: %d characters" % (m[:100], len(t)) for m, t in data.items())
        note = ("[this result is too large to be shown (%s; the limit is %d for the encoded whole); "
                "write it to a file instead]" % (sizes[:2000], MOST_OUT))
        text = encode({**head, "data": {"text/plain": note}, "metadata": {}})
    return text
