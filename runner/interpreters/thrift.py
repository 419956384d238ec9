"""What makes payloads of a prototype cheap: forked late, with little left for each to touch for the first
time. A page that a payload writes to is a copy, 4 KiB of its own; a refcount is enough.

Imported first: importing it starts to keep the hooks that HOOKS_OF lists.
"""

import ctypes
import gc
import os
import signal
import sys

# What these modules do in a child of os.fork(): new locks for those that other threads held, and a
# new seed. A prototype has one thread, and unlike_siblings() seeds; so a payload does without, which
# saves it 200 pages, and gets the hooks for forks of its own.
HOOKS_OF = ("threading", "logging", "random")
hooks = []
_register = os.register_at_fork


def _keep_or_register(**steps):
    if all(getattr(step, "__module__", None) in HOOKS_OF for step in steps.values()):
        hooks.append(steps)
    else:
        _register(**steps)


os.register_at_fork = _keep_or_register


def stop_keeping():
    os.register_at_fork = _register


def give_back_hooks():
    """In the payload."""
    for steps in hooks:
        os.register_at_fork(**steps)


# What sessions begin with, more or less. Ten times: CPython rewrites code in its first rounds.
OFTEN = ("1 + 1", "x = [1, 2]\nfor i in x:\n    print(i)", "def f(a):\n    return a\nf('text')", "1 / 0", "1 1")
TABLE = "import pandas as pd\npd.DataFrame({'a': [1, 2], 'b': ['x', 'y']})"
FIGURE = "import matplotlib.pyplot as plt\nplt.plot([1, 2])"


def rehearsed(module):
    """A session that is ready to be forked. Descriptors 1 and 2 are pipes meanwhile, as they will be:
    streams look at what they are made on, and what cells print (some hundred bytes) goes nowhere."""
    kept = [os.dup(fd) for fd in (1, 2)]
    read, write = os.pipe()
    for fd in (1, 2):
        os.dup2(write, fd)
    try:
        session = module.Session()
        session.rehearse(OFTEN, 10)
        if "pandas" in sys.modules:
            session.rehearse([TABLE], 10)
        if "matplotlib.pyplot" in sys.modules:
            session.rehearse([FIGURE], 1)
        return session
    finally:
        for fd, old in zip((1, 2), kept):
            os.dup2(old, fd)
            os.close(old)
        os.close(read)
        os.close(write)
        signal.signal(signal.SIGINT, signal.SIG_IGN)


filling = []


def settle_heap():
    """Right before the first fork. malloc(3) sorts freed pieces at the next large request, and by that
    writes to hundreds of pages: once here, not in each payload. And CPython gives out the gaps that
    the imports left, each in another page: with those filled (8 MiB, shared), a payload's objects lie
    side by side in pages of its own."""
    for size in range(48, 513, 16):
        filling.append([bytes(size - 33) for _ in range(1000)])
    filling.append([(object(), float(number)) for number in range(1000)])
    gc.freeze()
    for size in (120 << 10, 64 << 10, 4 << 10):
        bytearray(size)
    use_huge_pages()


HUGE = 2 << 20
MADV_COLLAPSE = 25  # since Linux 6.1; before that an error, and nothing changes


def use_huge_pages():
    """One entry is copied at a fork instead of 512. A payload that writes to one still gets 4 KiB."""
    madvise = ctypes.CDLL(None).madvise
    madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    try:
        with open("/proc/self/maps") as maps:
            lines = [line.split() for line in maps]
    except OSError:
        return
    for line in lines:
        if line[1] != "rw-p" or (len(line) > 5 and line[5] != "[heap]"):
            continue
        start, end = (int(word, 16) for word in line[0].split("-"))
        for at in range(-(-start // HUGE) * HUGE, end - HUGE + 1, HUGE):
            madvise(at, HUGE, MADV_COLLAPSE)


MT_WORDS = 624
mt_words = mt_position = None  # the state that numpy.random uses, where it is what we think


def find_numpy_state():
    """numpy names the address, but not what lies there: 624 words and a position. Tried out here, when
    all is imported: nothing draws from it any more."""
    global mt_words, mt_position
    if "numpy.random" not in sys.modules:
        return
    random = sys.modules["numpy.random"]
    try:
        at = random.mtrand._rand._bit_generator.ctypes.state_address
        before = random.get_state()
        if before[0] != "MT19937" or ctypes.string_at(at, 4 * MT_WORDS) != before[1].tobytes():
            return
        mt_words = memoryview((ctypes.c_uint8 * (4 * MT_WORDS)).from_address(at)).cast("B")
        mt_position = memoryview((ctypes.c_int32 * 1).from_address(at + 4 * MT_WORDS)).cast("B").cast("i")
        for _ in range(10):
            reseed_numpy()
        after = random.get_state()
        if after[1].tobytes() == before[1].tobytes() or after[2] != MT_WORDS or after[3] != 0:
            mt_words = None
    except Exception:
        mt_words = None


def reseed_numpy():
    """All of the generator's state from the kernel. In place, since seed() costs each payload 150
    pages."""
    if mt_words is None:
        sys.modules["numpy.random"].seed()
        return
    mt_words[:] = os.urandom(4 * MT_WORDS)
    mt_position[0] = MT_WORDS
