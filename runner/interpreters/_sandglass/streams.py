"""sys.stdin, sys.stdout and sys.stderr as user code sees them."""
from _sandglass.private import builtins as __builtins__

import builtins as _shared
import io
import os
import sys

_input = _shared.input

NO_STDIN = (
    "there is no more input to read: this execution was given no stdin. Give the text in the "
    'request\'s "stdin" field, or put the value into the code')
STDIN_USED_UP = (
    "there is no more input to read: the text in the request's \"stdin\" field is used up. Give "
    "one line for each input() call")


class _Pipe(io.FileIO):
    """Output that waits for the reader also where a child process has made the pipe non-blocking
    (node does): without this, print() would raise BlockingIOError."""

    def write(self, data):
        written = super().write(data)
        while written is None:
            os.set_blocking(self.fileno(), True)
            written = super().write(data)
        return written


def _open(fd):
    # closefd=False: sys.stdout.close() must not let the next open file become descriptor 1.
    # backslashreplace: a lone surrogate is shown rather than an error.
    raw = _Pipe(fd, "w", closefd=False)
    return io.TextIOWrapper(io.BufferedWriter(raw, 65536), "utf-8", "backslashreplace", "\n", True)


class Streams:
    def __init__(self):
        self._given = False
        self.out = sys.stdout = sys.__stdout__ = _open(1)
        self.err = sys.stderr = sys.__stderr__ = _open(2)
        self._flush_out, self._flush_err = self.out.flush, self.err.flush
        self.begin(None)
        sys.__stdin__ = sys.stdin

        def input(prompt="", /):
            try:
                return _input(prompt)
            except EOFError:
                raise EOFError(STDIN_USED_UP if self._given else NO_STDIN) from None

        input.__doc__ = _input.__doc__
        input.__qualname__ = "input"
        _shared.input = input

    def begin(self, stdin):
        """For each execution: its stdin, and streams that work, whatever the last one did."""
        self._given = stdin is not None
        data = stdin.encode("utf-8", "replace") if stdin else b""
        sys.stdin = io.TextIOWrapper(io.BytesIO(data), "utf-8")
        if getattr(sys, "stdout", None) is not self.out or self.out.closed:
            self._restore("stdout", 1)
        if getattr(sys, "stderr", None) is not self.err or self.err.closed:
            self._restore("stderr", 2)

    def _restore(self, name, fd):
        """A stream that user code put there stays, as in a notebook; a closed one can't."""
        field = name[3:]
        if getattr(self, field).closed:
            stream = _open(fd)
            setattr(self, field, stream)
            setattr(self, "_flush_" + field, stream.flush)
        try:
            usable = not getattr(sys, name).closed
        except AttributeError:  # duck-typed streams need not have `closed`
            usable = callable(getattr(getattr(sys, name, None), "write", None))
        except Exception:  # ValueError: detached
            usable = False
        if not usable:
            setattr(sys, name, getattr(self, field))

    def flush(self):
        """Before each frame, so that the host sees output and results in order."""
        try:
            self._flush_out()
        except Exception:
            pass
        try:
            self._flush_err()
        except Exception:
            pass

    def flush_replaced(self):
        """Runs user code if sys.stdout is no longer ours: only where an interrupt can end it."""
        for name, ours in (("stdout", self.out), ("stderr", self.err)):
            stream = getattr(sys, name, None)
            if stream is not ours:
                try:
                    stream.flush()
                except Exception:
                    pass
