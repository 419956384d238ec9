"""The loop: one request, one execution, one `end`."""
from _sandglass.private import builtins as __builtins__

import builtins as _shared
import os
import sys
import types

from _sandglass import errors
from _sandglass.cells import Compiler, NotSupported
from _sandglass.channel import Channel, clean, encode
from _sandglass.display import bundle, frame, render
from _sandglass.figures import Figures
from _sandglass.imports import when_imported
from _sandglass.interrupts import Interrupts
from _sandglass.streams import Streams

_LEAST_DEPTH = 1000
_CO_COROUTINE = 0x80
_exec, _eval, _exit, _modules = exec, eval, os._exit, sys.modules
_gettrace, _settrace, _getprofile, _setprofile = (
    sys.gettrace, sys.settrace, sys.getprofile, sys.setprofile)
_getlimit, _setlimit = sys.getrecursionlimit, sys.setrecursionlimit


def _fresh_main():
    """The module that user code runs in: what pickle, dataclasses and inspect find as __main__."""
    module = types.ModuleType("__main__")
    module.__builtins__ = _shared
    _modules["__main__"] = module
    return module


class Session:
    """Made in the process that serves it, or in one that forks it: open() follows then, and what the
    making touched is not touched again in each fork. Descriptors 1 and 2 must be pipes."""

    def __init__(self):
        self._interrupts = Interrupts()
        self._channel = Channel(self._interrupts)
        self._streams = Streams(self._settle)
        self._main = _fresh_main()
        self._names = self._main.__dict__
        self._compiler = Compiler()
        self._figures = Figures(self._show)
        self._count = 0
        self._id = None
        self._loop = None
        self._trace = self._profile = None
        self._limit = None

        def display(*values, raw=False, metadata=None, **_options):
            """Shows values as a notebook does: tables, images, HTML, or their repr.

            raw: the values are dictionaries from MIME types to data."""
            for value in values:
                if raw:
                    self._show(bundle(value), {})
                else:
                    self._display(value)

        display.__qualname__ = "display"
        display.__module__ = "builtins"
        _shared.display = display

        def clear_output(wait=False):
            """Does nothing: what has been shown is shown."""

        def adapt(module):
            module.display = display
            module.clear_output = clear_output

        # What `from IPython.display import display` gives, where IPython is installed.
        when_imported("IPython.core.display_functions", adapt)
        when_imported("warnings", self._adapt_warnings)

    def _adapt_warnings(self, module):
        """A warning that a library gives while we draw or await for the cell is the cell's."""
        plain = module.formatwarning

        def formatwarning(message, category, filename, lineno, line=None):
            if filename.startswith(errors.HERE):
                return "<cell %d>: %s: %s\n" % (self._count, category.__name__, message)
            return plain(message, category, filename, lineno, line)

        module.formatwarning = formatwarning

    def open(self, fd):
        self._channel.open(fd)
        self._streams.keep()
        self._interrupts.install()

    # ------------------------------------------------------------------------------------ frames

    def _send(self, text):
        self._streams.flush()
        return self._channel.send(text)

    def _event(self, ev, **fields):
        return self._send(encode({"ev": ev, "id": self._id, **fields}))

    def _settle(self):
        """Waits until the host has taken all output made so far. False where that can't be."""
        mark = self._channel.mark()
        if mark:
            self._channel.send(encode({"ev": "mark", "id": self._id, "mark": mark}))
            self._channel.wait(mark)
        return bool(mark)

    def _show(self, data, metadata, main=False):
        self._streams.flush_replaced()
        self._streams.flush()
        # What the code writes next must not overtake this. Behind the last value comes nothing.
        mark = 0 if main else self._channel.mark()
        if not self._send(frame(self._id, main, data, metadata, mark)):
            # In a process that user code forked: it has an output, but no channel.
            sys.stdout.write(data.get("text/plain", "") + "\n")
        elif mark:
            self._channel.wait(mark)
            self._streams.settled()

    def _display(self, value):
        data = self._figures.data_of(value)
        if data is None:
            self._show(*render(value))
        else:
            self._show(data, {})
            self._figures.close(value)

    # ------------------------------------------------------------------------------------ the loop

    def serve(self, preloaded, missing):
        self._send(encode({
            "ev": "ready", "language": "python", "version": sys.version.split()[0],
            "preloaded": list(preloaded), "missing": list(missing)}))
        while True:
            request = self._channel.receive()
            self._interrupts.begin()
            if type(request) is dict and request.get("op") == "rehearse":
                self.rehearse(("import math\n1 + 1",), 1)
                self._interrupts.end()
                continue
            if type(request) is not dict or request.get("op") != "execute":
                break
            self._execute(request)
            self._interrupts.end()
        self._streams.flush()
        _exit(0)  # no atexit hooks: they are the user's, and nobody waits for them

    def rehearse(self, cells, times):
        """Runs cells of ours that nobody hears of, before any other: the first one is dear, since its
        code, types and pages are touched for the first time. Leaves no name and no count behind."""
        before = dict(self._names)
        self._send = len  # instead of the method: a frame goes nowhere
        try:
            for _ in range(times):
                for code in cells:
                    self._execute({"code": code})
        finally:
            del self._send
        self._names.clear()
        self._names.update(before)
        self._compiler.forget()
        self._count, self._id = 0, None

    def _execute(self, request):
        self._count += 1
        self._id = request.get("id")
        self._event("begin", n=self._count)
        self._prepare(request.get("stdin"))
        self._channel.executing = True
        status, code = "ok", None
        cell = None
        name = "<cell %d>" % self._count
        source = request.get("code") or ""
        try:
            cell = self._compiler.compile(source, name)
        except NotSupported as error:
            status = "error"
            lines = source.replace("\r\n", "\n").replace("\r", "\n").split("\n")
            self._event("error", **errors.not_supported(error, name, lines))
        except BaseException as error:
            status = "error"
            self._fail(error)
        if cell is not None:
            failure = self._guarded(self._run, cell)
            self._tidy(failure)
            if failure is not None:
                status, code = self._judge(failure)
            if self._figures.any():
                drawn = self._guarded(self._figures.flush)
                if drawn is not None and status == "ok":
                    status, code = self._judge(drawn)
                drawn = None
            failure = None
        self._event("end", status=status, code=code)
        self._channel.executing = False

    def _guarded(self, step, *arguments):
        """Runs what an interrupt may end. Returns the exception that ended it, or None."""
        try:
            try:
                self._interrupts.resume()
                step(*arguments)
                self._interrupts.hold()
            except BaseException as error:
                self._interrupts.hold()
                return error
        except KeyboardInterrupt as error:  # a second one, before hold()
            self._interrupts.hold()
            return error
        return None

    def _run(self, cell):
        body, value, silent = cell
        shown = None
        try:
            # A tracer that the user has set goes on in the next cell, but sees no frames of ours.
            if self._trace is not None:
                _settrace(self._trace)
            if self._profile is not None:
                _setprofile(self._profile)
            if body is not None:
                if body.co_flags & _CO_COROUTINE:
                    self._await(_eval(body, self._names))
                else:
                    _exec(body, self._names)
            if value is not None:
                shown = _eval(value, self._names)
                if value.co_flags & _CO_COROUTINE:
                    shown = self._await(shown)
        finally:
            self._trace, self._profile = _gettrace(), _getprofile()
            if self._trace is not None:
                _settrace(None)
            if self._profile is not None:
                _setprofile(None)
        if shown is not None and not silent:
            self._result(shown)
        self._streams.flush_replaced()

    def _result(self, value):
        if not self._channel.is_ours():
            return
        self._names["_"] = value
        data = self._figures.data_of(value)
        if data is None:
            self._show(*render(value), main=True)
        else:
            self._show(data, {}, main=True)
            self._figures.close(value)

    def _await(self, coroutine):
        import asyncio

        if self._loop is None or self._loop.is_closed():
            # Where a loop can't be made, asyncio prints a complaint about the half-made one.
            hook, sys.unraisablehook = sys.unraisablehook, lambda _: None
            try:
                self._loop = asyncio.new_event_loop()
            except OSError as error:
                coroutine.close()
                error.__traceback__ = None  # lets go of the half-made loop now
                raise RuntimeError(
                    "top-level await needs an event loop, which this sandbox does not allow "
                    "(%s)" % error) from None
            finally:
                sys.unraisablehook = hook
        asyncio.set_event_loop(self._loop)
        task = self._loop.create_task(coroutine)
        try:
            return self._loop.run_until_complete(task)
        except BaseException:
            if not task.done():  # interrupted: the rest of the cell must not run in a later one
                task.cancel()
                try:
                    self._loop.run_until_complete(task)
                except asyncio.CancelledError:
                    pass
            raise

    # ---------------------------------------------------------------- before and after user code

    def _prepare(self, stdin):
        self._streams.begin(stdin if isinstance(stdin, str) else None)
        if _modules.get("__main__") is not self._main:
            _modules["__main__"] = self._main
        self._names.setdefault("__name__", "__main__")
        if self._limit is not None:
            try:
                _setlimit(self._limit)
            except (RecursionError, ValueError):
                pass
            self._limit = None

    def _tidy(self, failure):
        """Takes back what user code may have changed under us."""
        if not self._channel.is_ours():
            self._leave_child(failure)
        self._interrupts.install()
        if _getlimit() < _LEAST_DEPTH:  # too low for formatting a traceback
            self._limit = _getlimit()
            _setlimit(_LEAST_DEPTH)

    def _leave_child(self, failure):
        """User code forked, and this is the child at the end of the cell: it ends as a script."""
        code = 0
        try:
            if isinstance(failure, SystemExit):
                code = _exit_code(failure)
            elif failure is not None:
                code = 1
                self._streams.err.write(errors.describe(failure)["traceback"])
            self._streams.flush_replaced()
            self._streams.flush()
        finally:
            _exit(code)

    def _judge(self, failure):
        if isinstance(failure, SystemExit):
            return "exit", _exit_code(failure)
        self._fail(failure)
        return ("interrupted" if isinstance(failure, KeyboardInterrupt) else "error"), None

    def _fail(self, failure):
        """Sends the error frame. An exception's __str__ is user code."""
        made = []
        stopped = self._guarded(lambda: made.append(errors.describe(failure)))
        if not made:
            made.append(errors.brief(
                failure, "<exception str() failed: %s>" % errors.type_name(stopped)))
        self._event("error", **made[0])


def _exit_code(failure):
    """What the shell would see of a script: None is 0, text is printed and 1, numbers wrap."""
    code = failure.code
    if code is None:
        return 0
    if isinstance(code, int):
        return int.__and__(code, 0xFF)
    try:
        sys.stderr.write(clean(str(code)) + "\n")
    except Exception:
        pass
    return 1


def main(control_fd, preloaded=(), missing=(), session=None):
    """Never returns. The caller has put the pipes at descriptors 0 to 2."""
    sys.argv = [""]
    session = session or Session()
    session.open(control_fd)
    session.serve(preloaded, missing)
