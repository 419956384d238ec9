"""Exceptions as text: user frames only, of bounded length, whatever the exception does."""
from _sandglass.private import builtins as __builtins__

import os
import traceback

from _sandglass.channel import clean

MOST_TRACEBACK = 16 << 10
MOST_VALUE = 8 << 10
_MOST_FRAMES = 2000
HERE = os.path.dirname(os.path.abspath(__file__)) + os.sep
_name_of = type.__dict__["__name__"].__get__


def type_name(value):
    return clean(_name_of(type(value)))


def cut(text, most):
    if len(text) <= most:
        return text
    head, tail = most // 3, most - most // 3
    note = "\n... [%d characters left out] ...\n" % (len(text) - head - tail)
    return text[:head] + note + text[-tail:]


def _text_of(error):
    try:
        return cut(clean(str(error)), MOST_VALUE)
    except Exception:
        return "<exception str() failed>"


def _user_frames(tb):
    """The traceback from the cell's own frame on: before it are ours, and asyncio's for one that
    awaits. Where there is none, without our frames at its beginning."""
    first = tb
    while first is not None and not first.tb_frame.f_code.co_filename.startswith("<cell "):
        first = first.tb_next
    while first is None and tb is not None and tb.tb_frame.f_code.co_filename.startswith(HERE):
        tb = tb.tb_next
    return first or tb


def _strip(root):
    """Leaves out our own frames (input, display), in the whole tree of causes and groups."""
    seen = set()
    todo = [root]
    while todo:
        part = todo.pop()
        if part is None or id(part) in seen:
            continue
        seen.add(id(part))
        if part.stack:
            part.stack[:] = [f for f in part.stack if not f.filename.startswith(HERE)]
            if len(part.stack) > _MOST_FRAMES:
                del part.stack[_MOST_FRAMES // 2:-(_MOST_FRAMES // 2)]
        if not part.stack:
            part.stack = None  # no header without a frame, as for a SyntaxError
        todo += [part.__cause__, part.__context__]
        todo += getattr(part, "exceptions", None) or []


_NOTEBOOKS_OWN = ("get_ipython", "In", "Out")


def _help_for(error):
    """What somebody who comes from a notebook, or expects a network, is not told by Python itself."""
    if type(error) is NameError and error.name in _NOTEBOOKS_OWN:
        return "this is Python without IPython: there are no get_ipython(), In and Out, but _ and display()"
    if type_name(error) == "BdbQuit":
        return "the debugger reads its commands from the request's stdin, and there are no more"
    for _ in range(10):
        if type_name(error) == "gaierror":
            return "there is no network here: put the data into a file of the session instead"
        cause = error.__cause__
        error = error.__context__ if cause is None else cause
        if error is None:
            break
    return ""


def describe(error):
    """{"name", "value", "traceback"} of an exception. Runs the user's __str__: only where an
    interrupt can end it."""
    value = _text_of(error)
    try:
        whole = traceback.TracebackException(
            type(error), error, _user_frames(error.__traceback__), compact=True)
        _strip(whole)
        text = cut(clean("".join(whole.format())), MOST_TRACEBACK)
        helped = _help_for(error)
        if helped:
            text += "(%s)\n" % helped
    except Exception as e:
        text = "%s: %s\n(the traceback could not be formatted: %s)\n" % (
            type_name(error), value, type_name(e))
    return {"name": type_name(error), "value": value, "traceback": text}


def brief(error, value=""):
    """The same without running any user code."""
    name = type_name(error)
    text = name + (": " + value if value else "")
    return {"name": name, "value": value, "traceback": text + "\n"}


def not_supported(error, name, lines):
    line = lines[error.line - 1].strip()
    text = '  File "%s", line %d\n    %s\n    ^\nNotSupported: %s\n' % (
        name, error.line, line, error.args[0])
    return {"name": "NotSupported", "value": clean(error.args[0]), "traceback": clean(text)}
