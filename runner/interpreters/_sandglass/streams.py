"""sys.stdin, sys.stdout and sys.stderr as user code sees them."""
from _sandglass.private import builtins as __builtins__

import builtins as _shared
import io
import os
import sys

_input = _shared.input
_dup, _close, _get_inheritable, _set_inheritable = (
    os.dup, os.close, os.get_inheritable, os.set_inheritable)

NO_STDIN = (
    "there is no more input to read: this execution was given no stdin. Give the text in the "
    'request\'s "stdin" field, or put the value into the code')
STDIN_USED_UP = (
    "there is no more input to read: the text in the request's \"stdin\" field is used up. Give "
    "one line for each input() call")


# Changes between stdout and stderr in one execution that wait for the host: each costs a round trip.
MOST_TURNS = 1000


class _Pipe(io.FileIO):
    """Output that waits for the reader also where a child process has made the pipe non-blocking
    (node does): without this, print() would raise BlockingIOError."""

    def __init__(self, fd, turn_to):
        super().__init__(fd, "w", closefd=False)
        self._turn_to = turn_to

    def write(self, data):
        self._turn_to(self.fileno())
        written = super().write(data)
        while written is None:
            os.set_blocking(self.fileno(), True)
            written = super().write(data)
        return written


def _put_back(fd, kept):
    """Makes a closed `fd` a copy of `kept` again. By dup(2) alone, which a tight policy allows: it takes
    the lowest number that is free."""
    spare = []
    try:
        _get_inheritable(fd)
        return
    except OSError:
        pass
    try:
        while (copy := _dup(kept)) < fd:
            spare.append(copy)
        if copy == fd:
            _set_inheritable(fd, True)  # subprocesses write to it too
        else:
            spare.append(copy)
    except OSError:
        pass
    for copy in spare:
        _close(copy)


class Streams:
    def __init__(self, settle):
        """settle() waits until the host has what was written so far. False: it can't, here."""
        self._given = False
        self._kept = ()
        self._settle = settle
        self._last = None  # the stream that was written to since all was settled
        self._turns = 0
        self.out = sys.stdout = sys.__stdout__ = self._open(1)
        self.err = sys.stderr = sys.__stderr__ = self._open(2)
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

    def keep(self):
        """In the process that serves: copies of both pipes, for code that closes descriptor 1 or 2."""
        try:
            self._kept = ((1, _dup(1)), (2, _dup(2)))
        except OSError:
            pass

    def _open(self, fd):
        # closefd=False: sys.stdout.close() must not let the next open file become descriptor 1.
        # backslashreplace: a lone surrogate is shown rather than an error.
        raw = io.BufferedWriter(_Pipe(fd, self._turn_to), 65536)
        return io.TextIOWrapper(raw, "utf-8", "backslashreplace", "\n", True)

    def _turn_to(self, fd):
        """Two pipes have no order: before one is written to, the host has read the other. Before
        stderr also where we have written nothing: a subprocess may have."""
        if fd == self._last or self._turns >= MOST_TURNS:
            return
        if self._last is None and fd == 1:
            self._last = fd
            return
        self._turns += 1
        if self._settle():
            self._last = fd

    def settled(self):
        self._last = None

    def begin(self, stdin):
        """For each execution: its stdin, and streams that work, whatever the last one did."""
        self._last = None
        self._turns = 0
        for fd, kept in self._kept:
            _put_back(fd, kept)
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
            try:
                stream = self._open(fd)
            except OSError:  # the descriptor and its copy are closed: there is nothing to write to
                return
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
