"""matplotlib figures: shown at the end of an execution, or by plt.show(), without being asked for.

matplotlib is never imported from here; pyplot is adapted when user code, or the prototype, has.
"""
from _sandglass.private import builtins as __builtins__

import io
import sys
from binascii import b2a_base64

from _sandglass.channel import clean
from _sandglass.errors import type_name

_PYPLOT = "matplotlib.pyplot"
_find = sys.modules.get


class _Finder:
    """On sys.meta_path until pyplot is imported: lets it be, and adapts it once it is complete."""

    def __init__(self, adapt):
        self._adapt = adapt

    def find_spec(self, name, path=None, target=None):
        if name != _PYPLOT:
            return None
        for finder in list(sys.meta_path):
            spec = None if finder is self else finder.find_spec(name, path, target)
            if spec is not None:
                self._follow(spec)
                return spec
        return None

    def _follow(self, spec):
        execute = spec.loader.exec_module

        def exec_module(module):
            execute(module)
            self._adapt(module)
            if self in sys.meta_path:
                sys.meta_path.remove(self)

        spec.loader.exec_module = exec_module


class Figures:
    def __init__(self, show):
        """show(data, metadata) sends one result."""
        self._show = show
        pyplot = _find(_PYPLOT)
        if pyplot is not None:
            self._adapt(pyplot)
        else:
            sys.meta_path.insert(0, _Finder(self._adapt))

    def _adapt(self, pyplot):
        def show(*_args, **_kwargs):
            """Shows the open figures and closes them."""
            self.flush()

        pyplot.show = show
        pyplot.close  # what flush() needs: fail here rather than there

    def data_of(self, value):
        """The bundle of a Figure, else None."""
        kind = _find("matplotlib.figure")
        figure = getattr(kind, "Figure", None)
        if figure is None or not isinstance(value, figure):
            return None
        return self._draw(value)

    def close(self, figure):
        """A figure that has been shown as a value is not shown again."""
        pyplot = _find(_PYPLOT)
        if pyplot is not None:
            pyplot.close(figure)

    def _draw(self, figure):
        label = "<Figure size %dx%d with %d Axes>" % (
            *(figure.get_size_inches() * figure.dpi), len(figure.axes))
        out = io.BytesIO()
        try:
            if figure.axes or figure.lines or figure.patches or figure.texts or figure.images:
                figure.savefig(out, format="png", dpi=figure.dpi, bbox_inches="tight")
            else:  # "tight" of nothing has no size
                figure.savefig(out, format="png", dpi=figure.dpi)
        except Exception as error:
            return {"text/plain": clean("%s could not be drawn: %s: %s" % (
                label, type_name(error), error))}
        png = b2a_base64(out.getvalue(), newline=False).decode("ascii")
        return {"image/png": png, "text/plain": label}

    def any(self):
        pyplot = _find(_PYPLOT)
        return pyplot is not None and hasattr(pyplot, "get_fignums") and bool(pyplot.get_fignums())

    def flush(self):
        """Shows all open figures in the order of their numbers and closes them."""
        if not self.any():
            return
        pyplot = _find(_PYPLOT)
        for number in pyplot.get_fignums():
            figure = pyplot.figure(number)
            try:
                self._show(self._draw(figure), {})
            finally:
                pyplot.close(figure)
