"""matplotlib figures: shown at the end of an execution, or by plt.show(), without being asked for.

matplotlib is never imported from here; pyplot is adapted when user code, or the prototype, does so.
"""
from _sandglass.private import builtins as __builtins__

import io
import sys
from binascii import b2a_base64

from _sandglass.channel import clean
from _sandglass.errors import type_name
from _sandglass.imports import when_imported

_PYPLOT = "matplotlib.pyplot"
_find = sys.modules.get


class Figures:
    def __init__(self, show):
        """show(data, metadata) sends one result."""
        self._show = show
        when_imported(_PYPLOT, self._adapt)

    def _adapt(self, pyplot):
        def show(*_args, **_kwargs):
            """Shows the open figures and closes them."""
            self.flush()

        pyplot.show = show

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
