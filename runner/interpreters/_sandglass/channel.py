"""Frames on the control channel: u32 little-endian length, then JSON in ASCII.

Only read(2) and write(2): a tight policy has neither poll(2) nor sendmsg(2).
"""
from _sandglass.private import builtins as __builtins__

import json
import os
import time
from _thread import allocate_lock, get_ident

from _sandglass.interrupts import RUNNING

MOST_IN = 64 << 20
MOST_OUT = 16 << 20
_READ_AT_ONCE = 1 << 20

_read, _write, _getpid, _exit, _sleep = os.read, os.write, os.getpid, os._exit, time.sleep
_scan = json.JSONDecoder().scan_once


def _refuse(value):
    raise TypeError("not JSON: " + type(value).__name__)


def _is_from_the_system(error):
    # Signal handlers like to raise TimeoutError, which is an OSError too, but has no errno.
    return isinstance(error, OSError) and error.errno is not None


def _make_encoder():
    # The C encoder itself: json.dumps is Python code that looks names up in builtins which user
    # code can replace.
    from json import encoder

    if encoder.c_make_encoder is None:
        return json.JSONEncoder(separators=(",", ":"), allow_nan=False).encode
    try:
        make = encoder.c_make_encoder(
            None, _refuse, encoder.encode_basestring_ascii, None, ":", ",", False, False, False)
        make({"a": [1, None, True, 0.5]}, 0)
    except TypeError:
        return json.JSONEncoder(separators=(",", ":"), allow_nan=False).encode
    return lambda value: "".join(make(value, 0))


encode = _make_encoder()


def clean(text):
    """A plain str that every JSON parser takes: lone surrogates become \\udc80 and the like."""
    if type(text) is not str:
        text = str.__str__(text)
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            text = text.encode("utf-8", "backslashreplace").decode()
    return text


def _parse(data):
    try:
        return _scan(data.decode(), 0)[0]
    except (ValueError, StopIteration):
        return None


def _is_answer(request):
    return type(request) is dict and request.get("op") == "passed"


class Channel:
    def __init__(self, interrupts):
        self._fd = -1
        self._main = None  # the thread that receives; none before open()
        self._pid = _getpid()
        self._buffer = b""
        self._interrupts = interrupts
        self._lock = allocate_lock()
        self._waiting = None  # in the main thread, while it writes: what to write next
        self.executing = False
        self._mark = 0
        self._asking = False
        self._passed = set()  # marks that were answered, but not yet to whom they belong
        self._early = []  # requests that came while an answer was waited for

    def open(self, fd):
        os.set_inheritable(fd, False)
        self._fd = fd
        self._main = get_ident()
        self._pid = _getpid()
        # A child that user code forks is no driver. fork(2) made by C code is met by is_ours().
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._forget)

    def _forget(self):
        try:
            os.close(self._fd)
        except OSError:
            pass

    def is_ours(self):
        return _getpid() == self._pid

    def _more(self, most):
        while True:
            try:
                return _read(self._fd, most)
            except BlockingIOError:  # user code made the descriptor non-blocking
                _sleep(0.001)
            except BaseException as error:
                if _is_from_the_system(error):  # closed, or the host died: as good as an end
                    return b""
                # A signal handler that user code left behind (an alarm, say) has raised. Nothing was
                # read, and no cell is there to end.
                self._stray(error)

    def receive(self):
        """The next request; None at the end of the channel."""
        while True:
            request = self._early.pop(0) if self._early else self._frame()
            if not _is_answer(request):  # one that an interrupt kept wait() from
                return request

    def _frame(self):
        buffer = self._buffer
        while len(buffer) < 4:
            more = self._more(65536)
            if not more:
                return None
            buffer += more
        size = int.from_bytes(buffer[:4], "little")
        if size > MOST_IN:
            return None
        missing = 4 + size - len(buffer)
        if missing > 0:
            parts = [buffer]
            while missing > 0:
                more = self._more(min(missing, _READ_AT_ONCE))
                if not more:
                    return None
                parts.append(more)
                missing -= len(more)
            buffer = b"".join(parts)
        self._buffer = buffer[4 + size:]
        return _parse(buffer[4:4 + size])

    def mark(self):
        """A number for a frame whose answer wait() waits for; 0 where nothing can wait for one: in
        another thread or process, or within a frame or a wait that a signal has broken into."""
        if not self.executing or self._asking or self._waiting is not None:
            return 0
        if get_ident() != self._main or _getpid() != self._pid:
            return 0
        self._mark += 1
        return self._mark

    def wait(self, mark):
        """Until the host has passed on what was written before the frame with this mark. What a
        signal handler raises ends the wait; the answer is then skipped when it comes."""
        self._asking = True
        try:
            while mark not in self._passed:
                size = int.from_bytes(self._buffer[:4], "little")
                if len(self._buffer) < 4 or len(self._buffer) < 4 + size:
                    if not self._answer():
                        _exit(0)  # as at the end of the channel between executions
                    continue
                request = _parse(self._buffer[4:4 + size])
                self._buffer = self._buffer[4 + size:]
                if _is_answer(request):
                    self._passed.add(request.get("n"))
                else:
                    self._early.append(request)
            self._passed.discard(mark)
        finally:
            self._asking = False

    def _answer(self):
        """Reads more. False: the channel is at its end."""
        got = []  # as in _write_all
        try:
            got.extend(map(_read, (self._fd,), (65536,)))
        except BlockingIOError:
            _sleep(0.001)
        except OSError as error:
            if _is_from_the_system(error):
                return False
            raise
        finally:
            self._buffer += b"".join(got)
        return got != [b""]

    def send(self, text):
        """Sends one encoded frame. False if this process is a child that user code forked."""
        if _getpid() != self._pid:
            return False
        data = len(text).to_bytes(4, "little") + text.encode("ascii")
        if get_ident() != self._main:
            with self._lock:
                self._write_all(data)
            return True
        if self._waiting is not None:
            # A signal handler of user code displays something while a frame is being written.
            self._waiting.append(data)
            return True
        before = self._interrupts.hold()
        self._waiting = [data]
        raised = None
        while self._waiting:
            try:
                with self._lock:
                    while self._waiting:
                        raised = self._write_all(self._waiting[0]) or raised
                        del self._waiting[0]
            except BaseException as error:  # not while it wrote: the frame is still to be sent
                raised = error
        self._waiting = None
        if raised is not None:
            if before != RUNNING:
                self._stray(raised)
            else:
                self._interrupts.state = before
                raise raised
        self._interrupts.resume(before)
        return True

    def _write_all(self, data):
        """Returns what a signal handler has raised meanwhile: half a frame must not stay half."""
        raised = None
        # A handler runs when write(2) has returned and before its result can be bound to a name:
        # extend() has put it into the list by then.
        wrote = []
        while True:
            try:
                while (done := sum(wrote)) < len(data):
                    wrote.extend(map(_write, (self._fd,), (data[done:] if done else data,)))
                return raised
            except BlockingIOError:
                _sleep(0.001)
            except BaseException as error:
                if _is_from_the_system(error):
                    _exit(1)  # nobody listens any more
                raised = error

    def _stray(self, error):
        try:
            os.write(2, ("%s, raised by a signal handler between executions, is ignored: %s\n" % (
                type(error).__name__, error)).encode("utf-8", "backslashreplace"))
        except Exception:
            pass
