"""A Python with libraries imported, which forks payloads and never runs user code.

    prototype.py CONTROL_FD [--preload a,b,c] [--join LIBRARY]

The protocol is in README.md. Without --join a payload is a plain fork that takes the descriptors
sent with the order: for tests, and where no jail is wanted. With it, LIBRARY's sandglass_join()
serves each order: it forks, joins a jail and returns 1 in the child.
"""

import thrift  # first

import argparse
import ctypes
import gc
import importlib
import io
import json
import os
import signal
import socket
import struct
import sys
import time

import asyncio  # noqa: F401  a cell with `await` needs it; 30 ms that no payload pays

import driver

THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
MOST_ORDER = 1 << 20
PATIENCE = 2  # seconds


def threads():
    try:
        return len(os.listdir("/proc/self/task"))
    except OSError:
        import threading

        return threading.active_count()


def one_thread():
    """Whether one thread is left. Those that are about to end are waited for: matplotlib stops a timer once
    it has its list of fonts, and on a busy machine that thread ends some moments later."""
    until = time.perf_counter() + PATIENCE
    while threads() != 1:
        if time.perf_counter() > until:
            return False
        time.sleep(0.002)
    return True


class Fatal(Exception):
    """The prototype can't serve; the text says why."""


def load(names):
    """Imports what can be imported. One thread only: a fork copies no other, but their locks."""
    before = {name: os.environ.get(name) for name in THREADS}
    os.environ.update(dict.fromkeys(THREADS, "1"))
    preloaded, missing = [], []
    for name in names:
        try:
            importlib.import_module(name)
            preloaded.append(name)
        except BaseException as error:  # also SystemExit: a library is no reason to die
            missing.append({"name": name, "reason": "%s: %s" % (type(error).__name__, error)})
        if not one_thread():
            raise Fatal("importing %s started a thread, so payloads can't be forked" % name)
    for name, value in before.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value
    return preloaded, missing


# ---------------------------------------------------------------------------------------------
# What is dear on first use, done once before the forks.


def warm_numpy():
    numpy = sys.modules["numpy"]
    square = numpy.eye(3) + 1
    numpy.linalg.inv(square) @ square
    numpy.linalg.svd(square)
    repr(numpy.arange(3) / 3)
    numpy.random.default_rng(0).normal(size=2)


def warm_pandas():
    pandas = sys.modules["pandas"]
    frame = pandas.DataFrame({
        "name": ["a", "b", "a"], "value": [1.5, 2.5, 3.5], "count": [1, 2, 3],
        "day": pandas.to_datetime(["2024-01-01", "2024-01-02", "2024-01-03"])})
    frame._repr_html_()
    repr(frame)
    repr(frame.groupby("name")["value"].agg(["mean", "sum"]))
    repr(frame.describe(include="all", datetime_is_numeric=True)
         if pandas.__version__ < "2" else frame.describe(include="all"))
    frame.merge(frame, on="name").sort_values("value_x")
    frame.pivot_table(index="name", values="value", aggfunc="sum")
    pandas.read_csv(io.StringIO(frame.to_csv(index=False)), parse_dates=["day"])
    frame.set_index("day").resample("D")["value"].sum()


def warm_pyplot():
    pyplot = sys.modules["matplotlib.pyplot"]
    figure, axes = pyplot.subplots()
    axes.plot([1, 2, 3], [1, 4, 9], label="x")
    axes.bar([1, 2], [3, 4])
    axes.set_title("Title $x^2$")
    axes.set_xlabel("x")
    axes.legend()
    axes.grid(True)
    figure.savefig(io.BytesIO(), format="png", bbox_inches="tight")
    pyplot.close("all")


def let_go_of_files():
    """A payload keeps no descriptor of ours, and an object that believes in one breaks there."""
    manager = sys.modules.get("matplotlib.font_manager")
    cached = getattr(manager, "_get_font", None)
    if hasattr(cached, "cache_clear"):
        cached.cache_clear()  # each font is an open file
    gc.collect()


WARM = {"numpy": warm_numpy, "pandas": warm_pandas, "matplotlib.pyplot": warm_pyplot}


def warm(missing):
    import warnings

    for name, step in WARM.items():
        if name not in sys.modules:
            continue
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                step()
        except Exception as error:  # it only costs the payload time
            missing.append({
                "name": name, "reason": "not warmed: %s: %s" % (type(error).__name__, error)})


# ---------------------------------------------------------------------------------------------
# In the child.


def unlike_siblings():
    """State that must not be shared between forks: generators of random numbers and of names."""
    modules = sys.modules
    if "random" in modules:
        modules["random"].seed()
    if "numpy.random" in modules:
        thrift.reseed_numpy()
    if "torch" in modules:
        modules["torch"].manual_seed(int.from_bytes(os.urandom(8), "little") >> 1)
    if "tempfile" in modules:
        modules["tempfile"]._name_sequence = None
        modules["tempfile"].tempdir = None  # chosen by the payload's environment and folders
    if "uuid" in modules:
        modules["uuid"]._node = None
        modules["uuid"]._last_timestamp = None


def become_payload(module, session, preloaded, missing):
    thrift.give_back_hooks()
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    unlike_siblings()
    module.main(3, preloaded, missing, session)


# ---------------------------------------------------------------------------------------------
# Orders.


class Orders:
    def __init__(self, fd):
        self.socket = socket.socket(fileno=fd)

    def send(self, **event):
        data = json.dumps(event, separators=(",", ":")).encode()
        self.socket.sendall(struct.pack("<I", len(data)) + data)

    def receive(self):
        """(order, descriptors), or (None, []) at the end."""
        data, fds = b"", []
        size = None
        while size is None or len(data) < 4 + size:
            missing = 4 - len(data) if size is None else 4 + size - len(data)
            more, ancillary, _, _ = self.socket.recvmsg(
                missing, socket.CMSG_SPACE(16 * 4), socket.MSG_CMSG_CLOEXEC)
            for level, kind, content in ancillary:
                if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
                    whole = len(content) // 4 * 4
                    fds += struct.unpack("%di" % (whole // 4), content[:whole])
            if not more:
                return None, fds
            data += more
            if size is None and len(data) == 4:
                (size,) = struct.unpack("<I", data)
                if size > MOST_ORDER:
                    return None, fds
        return json.loads(data[4:]), fds


def put_in_place(fds):
    """[control, stdin, stdout, stderr] become 3, 0, 1, 2; nothing else stays open."""
    import fcntl

    high = [fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 64) for fd in fds]
    for fd, place in zip(high, (3, 0, 1, 2)):
        os.dup2(fd, place, inheritable=place != 3)
    os.closerange(4, os.sysconf("SC_OPEN_MAX"))


def reap(_signum=None, _frame=None):
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass


def serve_by_fork(orders, payload):
    signal.signal(signal.SIGCHLD, reap)
    thrift.settle_heap()
    while True:
        order, fds = orders.receive()
        if order is None:
            return
        try:
            if order.get("op") != "fork" or len(fds) != 4:
                raise ValueError("an order is {op: fork, id} with four descriptors")
            pid = os.fork()
        except (OSError, ValueError, AttributeError) as error:
            number = order.get("id") if isinstance(order, dict) else None
            orders.send(ev="failed", id=number, error=str(error))
            pid = None
        if pid == 0:
            try:
                orders.socket.detach()
                os.setsid()
                put_in_place(fds)
                payload()
            finally:
                os._exit(70)
        for fd in fds:
            os.close(fd)
        if pid:
            orders.send(ev="forked", id=order["id"], pid=pid)


def serve_by_join(library, fd, payload):
    # PyDLL keeps the interpreter's lock: sandglass_join() calls PyOS_BeforeFork and its fellows.
    join = ctypes.PyDLL(library).sandglass_join
    join.argtypes, join.restype = [ctypes.c_int], ctypes.c_int
    thrift.settle_heap()
    while True:
        result = join(fd)
        if result == 1:
            try:
                payload()
            finally:
                os._exit(70)
        if result < 0:
            return


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("control_fd", type=int)
    parser.add_argument("--preload", default="")
    parser.add_argument("--join")
    options = parser.parse_args()
    began = time.perf_counter()
    orders = Orders(options.control_fd)

    def tell(**event):
        if options.join:  # the orders are the library's
            print(json.dumps(event), flush=True)
        else:
            orders.send(**event)

    os.set_inheritable(options.control_fd, False)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    module = driver.load()
    del sys.modules["driver"], sys.modules["thrift"]
    gc.disable()
    try:
        preloaded, missing = load([name for name in options.preload.split(",") if name])
        unwarmed = []
        warm(unwarmed)
        session = thrift.rehearsed(module)
        thrift.find_numpy_state()
        let_go_of_files()
        thrift.stop_keeping()
        if not one_thread():
            raise Fatal("warming up started a thread, so payloads can't be forked")
    except Fatal as error:
        tell(ev="failed", id=None, error=str(error))
        sys.exit(1)
    gc.enable()
    gc.collect()
    gc.freeze()  # else a payload's first full collection writes to, and so copies, every page
    tell(ev="ready", version=sys.version.split()[0], preloaded=preloaded,
         missing=missing + unwarmed, ms=round((time.perf_counter() - began) * 1000))
    sys.stdout.flush()
    sys.stderr.flush()

    def payload():
        become_payload(module, session, preloaded, missing)

    if options.join:
        serve_by_join(options.join, orders.socket.fileno(), payload)
    else:
        serve_by_fork(orders, payload)


if __name__ == "__main__":
    main()
