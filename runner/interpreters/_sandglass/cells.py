"""Compiles a cell: what to run, which expression's value to show, and help for what is not Python."""
from _sandglass.private import builtins as __builtins__

import __future__ as _future
import ast
import linecache
from collections import deque

AWAIT = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
TREE = ast.PyCF_ONLY_AST
_FUTURES = 0
for _name in _future.all_feature_names:
    _FUTURES |= getattr(_future, _name).compiler_flag

_SOURCES_KEPT = 32 << 20  # characters of source that tracebacks and inspect can still show

_compile, _cache, _Module, _Expression, _Expr = (
    compile, linecache.cache, ast.Module, ast.Expression, ast.Expr)


class NotSupported(Exception):
    """A line of IPython's or the shell's language. `line` is its number."""

    def __init__(self, message, line):
        super().__init__(message)
        self.line = line


class Compiler:
    def __init__(self):
        self._flags = AWAIT
        self._kept = deque()
        self._size = 0

    def forget(self):
        for name, _ in self._kept:
            _cache.pop(name, None)
        self.__init__()

    def compile(self, source, name):
        """(body, value, silent): code objects or None, to be run in this order; silent: `x;`."""
        if source.startswith("\ufeff"):
            source = source[1:]
        lines = self._remember(source, name)
        try:
            tree = _compile(source, name, "exec", self._flags | TREE, True)
        except SyntaxError:
            helped = magic(lines, self._flags, name)
            if helped:
                raise helped from None
            raise
        except UnicodeEncodeError as e:
            line = source.count("\n", 0, e.start) + 1
            raise SyntaxError(
                "the code is not valid Unicode: lone surrogate U+%04X" % ord(source[e.start]),
                (name, line, None, None)) from None
        except ValueError as e:  # null bytes, before Python 3.11.4
            raise SyntaxError(
                str(e), (name, source.count("\n", 0, source.find("\0")) + 1, None, None)) from None
        body = tree.body
        value = None
        silent = False
        if body and type(body[-1]) is _Expr:
            last = body.pop()
            silent = _ends_with_semicolon(lines, last)
            flags = self._flags
            if body:
                compiled = _compile(tree, name, "exec", flags, True)
                flags |= compiled.co_flags & _FUTURES
            value = _compile(_Expression(last.value), name, "eval", flags, True)
            if not body:
                return None, value, silent
        else:
            compiled = _compile(tree, name, "exec", self._flags, True)
        # `from __future__ import annotations` holds for the cells that follow.
        self._flags |= compiled.co_flags & _FUTURES
        return compiled, value, silent

    def _remember(self, source, name):
        # Split as the tokenizer does: str.splitlines also splits at form feeds and U+2028.
        text = source
        if "\r" in text:
            text = text.replace("\r\n", "\n").replace("\r", "\n")
        lines = [line + "\n" for line in text.split("\n")]
        _cache[name] = (len(source), None, lines, name)
        self._kept.append((name, len(source)))
        self._size += len(source)
        while self._size > _SOURCES_KEPT and len(self._kept) > 1:
            old, size = self._kept.popleft()
            self._size -= size
            _cache.pop(old, None)
        return lines


def _ends_with_semicolon(lines, statement):
    index = statement.end_lineno - 1
    rest = lines[index].encode("utf-8", "replace")[statement.end_col_offset:].lstrip(b" \t\f")
    while rest.startswith(b"\\") and index + 1 < len(lines):
        index += 1
        rest = lines[index].encode("utf-8", "replace").lstrip(b" \t\f")
    return rest.startswith(b";")


# ---------------------------------------------------------------------------------------------
# IPython's additions. Looked at only once a cell has failed to parse.

_NO_NETWORK = (
    "packages can't be installed from here: there is no network. What is installed: "
    "sorted(d.name for d in importlib.metadata.distributions())")
_MAGICS = {
    "pip": _NO_NETWORK,
    "conda": _NO_NETWORK,
    "mamba": _NO_NETWORK,
    "matplotlib": "%matplotlib is not needed: figures are shown without it. Remove the line",
    "config": "%config is not needed here: set matplotlib.rcParams instead",
    "cd": 'write os.chdir("folder") instead of %cd',
    "pwd": "write os.getcwd() instead of %pwd",
    "ls": "write os.listdir() instead of %ls",
    "cat": "write print(open(name).read()) instead of %cat",
    "run": 'write runpy.run_path("file.py") instead of %run',
    "env": "write os.environ instead of %env",
    "time": "write t = time.perf_counter() ... time.perf_counter() - t instead of %time",
    "timeit": 'write timeit.timeit("...", globals=globals()) instead of %timeit',
    "who": "write dir() instead of %who",
    "whos": "write dir() instead of %whos",
    "reset": "open a new session instead of %reset",
    "writefile": 'write open(name, "w").write(text) instead of %%writefile',
    "capture": "write contextlib.redirect_stdout(io.StringIO()) instead of %%capture",
    "load_ext": "there are no extensions of IPython here. Remove the line",
    "autoreload": "write importlib.reload(module) instead of %autoreload",
    "html": 'write display(...) of an object with _repr_html_ instead of %%html',
}
_SHELL = (
    "shell commands are not Python: write subprocess.run({0!r}, shell=True), where the policy "
    "allows processes")
_CANDIDATES = 50


def magic(lines, flags, name):
    """The error for the first line that is IPython's and not Python's, or None. A line counts only
    if all that stands before it is Python: `%` may well start a continued line or one in a string."""
    tried = 0
    for index, line in enumerate(lines):
        text = line.strip()
        if not text or tried > _CANDIDATES:
            continue
        message = _magic_message(text)
        if message is None:
            continue
        tried += 1
        indent = line[:len(line) - len(line.lstrip())]
        before = "".join(lines[:index]) + indent + "pass\n"
        try:
            _compile(before, name, "exec", flags | TREE, True)
        except (SyntaxError, ValueError):
            continue
        return NotSupported(message, index + 1)
    return None


def _magic_message(text):
    first = text[0]
    if first in "%!?":
        return _explain(text)
    if _installs(text):
        return _NO_NETWORK
    if text[-1] == "?" and text.rstrip("?").replace(".", "").isidentifier():
        return "write help(%s) instead of %s" % (text.rstrip("?"), text)
    target, equals, value = text.partition("=")
    value = value.lstrip()
    if equals and value[:1] in ("!", "%") and target.strip().replace(".", "").isidentifier():
        return _explain(value)
    return None


def _installs(command):
    """pip install ..., also as python -m pip install ..."""
    words = command.split()
    if words[:1] in (["python"], ["python3"]) and words[1:2] == ["-m"]:
        words = words[2:]
    return words[:1] in (["pip"], ["pip3"], ["conda"], ["apt"], ["apt-get"]) and "install" in words[1:3]


def _explain(text):
    if text[0] == "?":
        return "write help(%s) instead of %s" % (text.strip("? ") or "object", text)
    command = text.lstrip("%!")
    word = (command.split() or [""])[0]
    if text[0] == "!":
        if word in ("conda", "apt", "apt-get") or _installs(command):
            return _NO_NETWORK
        return _SHELL.format(command.strip())
    if word in ("bash", "sh", "system", "sx", "script"):
        return _SHELL.format(command.partition(word)[2].strip() or "...")
    if word in _MAGICS:
        return _MAGICS[word]
    return "%" + word + " is an IPython command; here only Python works"
