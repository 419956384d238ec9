"""SIGINT: raises KeyboardInterrupt in user code, waits while a frame is written, else does nothing."""
from _sandglass.private import builtins as __builtins__

# The C module: signal.signal wraps it in enums, which costs more than the system call.
from _signal import SIG_UNBLOCK, SIGINT, pthread_sigmask, signal

IDLE, HELD, RUNNING = range(3)


class Interrupts:
    """Where the main thread is. Python runs signal handlers in the main thread, between two of its
    instructions, so plain attributes are enough."""

    __slots__ = ("state", "pending", "handler")

    def __init__(self):
        self.state = IDLE
        self.pending = False

        def handler(_signum, _frame):
            if self.state == RUNNING:
                raise KeyboardInterrupt
            if self.state == HELD:
                self.pending = True

        self.handler = handler
        self.install()

    def install(self):
        """User code may have replaced the handler or blocked the signal."""
        signal(SIGINT, self.handler)
        pthread_sigmask(SIG_UNBLOCK, (SIGINT,))

    def begin(self):
        self.pending = False
        self.state = HELD

    def hold(self):
        """Until resume(), an interrupt is remembered. Returns the state to give to resume()."""
        before = self.state
        self.state = HELD if before == RUNNING else before
        return before

    def resume(self, state=RUNNING):
        """Raises KeyboardInterrupt if one was asked for in the meantime."""
        self.state = state
        if state == RUNNING and self.pending:
            self.pending = False
            raise KeyboardInterrupt

    def end(self):
        self.state = IDLE
        self.pending = False
