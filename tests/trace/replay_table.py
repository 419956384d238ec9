"""What the replay test records: (code, comes out the same) for sessions in Python, and for the other languages."""

PRINTS = [f"print({i}, '{'x' * i}', {i} / 7)" for i in range(30)]
STATE = [f"total = {'0' if i == 0 else 'total'} + {i}; total" for i in range(20)]
FRAMES = [
    "import pandas as pd; import numpy as np; df = pd.DataFrame({'a': range(5), 'b': list('vwxyz')}); df",
    "df.describe()", "df.groupby(df.a % 2).a.sum()", "df.T", "df.a.mean()", "df.dtypes", "df.a.cumsum().tolist()",
    "df.merge(df, on='a')", "df.b.str.upper()", "pd.Series(np.arange(100)).rolling(3).mean().tail(3)",
    "np.linalg.inv(np.array([[2.0, 1], [1, 3]]))", "np.arange(12).reshape(3, 4)", "df[df.a > 2]",
    "pd.DataFrame(np.random.default_rng(7).normal(size=(3, 3)))", "df.pivot_table(index='b', values='a')",
    "pd.date_range('2026-01-01', periods=4)", "df.sort_values('b', ascending=False)", "pd.concat([df, df]).shape",
    "df.to_dict('records')", "df.a.value_counts()",
]
PLOTS = [
    "import matplotlib.pyplot as plt\nplt.plot([1, 3, 2]); plt.title('a')\nplt.show()",
    "plt.bar(['a', 'b'], [1, 2])\nplt.show()", "plt.hist([1, 2, 2, 3])\nplt.show()",
    "df.plot(x='a', y='a')\nplt.show()", "fig, ax = plt.subplots(2)\nax[0].plot([1]); ax[1].scatter([1], [2])\nplt.show()",
    "plt.imshow(np.eye(4))\nplt.show()", "plt.pie([1, 2, 3])\nplt.show()", "plt.plot([1, 2]); plt.savefig('out.png')",
]
FILES = [
    "open('a.txt', 'w').write('hello')", "open('a.txt').read()", "open('a.txt', 'a').write(' world')",
    "import os; sorted(os.listdir('.'))", "os.remove('a.txt')", "df.to_csv('df.csv', index=False)",
    "pd.read_csv('df.csv')", "import json; json.dump({'a': [1, 2]}, open('a.json', 'w'))", "json.load(open('a.json'))",
    "os.makedirs('sub', exist_ok=True); open('sub/x', 'wb').write(bytes(range(256)))", "len(open('sub/x', 'rb').read())",
    "pd.read_csv('in.csv').sum()", "open('in.csv').read()", "os.path.getsize('in.csv')",
    "open('in.csv', 'a').write('9,9\\n')", "pd.read_csv('in.csv')",
    "import pickle; pickle.dump(df, open('df.pkl', 'wb'))", "pickle.load(open('df.pkl', 'rb')).equals(df)",
    "import sqlite3; c = sqlite3.connect(':memory:'); c.execute('select 6 * 7').fetchall()",
    "import gzip; open('z.gz', 'wb').write(gzip.compress(b'abc' * 100, mtime=0))",
]
ERRORS = [
    "1 / 0", "undefined_name", "int('x')", "[][1]", "{}['k']", "raise ValueError('caf\\u00e9')", "None.attribute",
    "'a' + 1", "import no_such_module", "assert False, 'why'", "open('no such file')", "raise SystemExit(3)",
    "def f(n): return f(n + 1)\nf(0)", "syntax error here", "  indented = 1", "df['no such column']",
    "class E(Exception): pass\nraise E('own')", "raise RuntimeError('a') from KeyError('b')", "next(iter([]))",
    "bytes([256])",
]
STREAMS = [
    "import sys; print('to stderr', file=sys.stderr)", "sys.stdout.write('no newline')",
    "sys.stdout.buffer.write(b'\\xff\\xfe\\x00')", "print('\\u96ea \\U0001f600')", "print('a'); print('b', file=sys.stderr)",
    "for i in range(1000): print(i)", "print('x' * 100000)", "import warnings; warnings.warn('careful')",
    "print('\\x1b[31mred\\x1b[0m')", "import subprocess; subprocess.run(['echo', 'from a child'], capture_output=True).stdout",
]
INPUT = [("input() + '!'", "from stdin\n"), ("[input(), input()]", "one\ntwo\n"), ("import sys; sys.stdin.read()", "all of it"),
         ("input()", ""), ("int(input()) * 2", "21\n")]
RICH = [
    "from decimal import Decimal; Decimal('0.1') + 1", "{'b': 1, 'a': [1, 2, {'c': None}]}", "(1, 'two', 3.0, None)",
    "range(10)", "'text'", "b'bytes'", "1e300 * 10", "complex(1, 2)", "sorted({'x', 'y', 'z'})", "True", "...",
    "import math; math.pi", "import fractions; fractions.Fraction(1, 3)", "import datetime; datetime.date(2026, 1, 1)",
    "type(1)", "[i * i for i in range(20)]", "import random; random.seed(5); random.random()", "sum(range(10 ** 6))",
    "class R:\n    __repr__ = lambda self: 'R'\n    _repr_html_ = lambda self: '<b>bold</b>'\nR()",
    "class J:\n    __repr__ = lambda self: 'J'\n    _repr_json_ = lambda self: {'a': 1}\nJ()",
]
MORE = [
    "import sqlite3; sqlite3.connect(':memory:').execute('select 6 * 7').fetchone()",
    "import zipfile, io; z = io.BytesIO(); zipfile.ZipFile(z, 'w').writestr(zipfile.ZipInfo('a'), 'x'); len(z.getvalue())",
    "import threading; t = threading.Thread(target=print, args=('from a thread',)); t.start(); t.join()",
    "import asyncio\nasync def f(): return 7\nasyncio.run(f())", "import re; re.findall(r'\\d+', 'a1 b22')",
    "from dataclasses import dataclass\n@dataclass\nclass P:\n    x: int = 3\nP()", "import statistics; statistics.stdev([1, 2, 4])",
    "import itertools; list(itertools.permutations('abc'))", "import collections; collections.Counter('banana')",
    "import textwrap; print(textwrap.fill('word ' * 40, 30))", "import hashlib; hashlib.sha256(b'a').hexdigest()",
    "import base64; base64.b64encode(b'bytes')", "import gzip; gzip.decompress(gzip.compress(b'x' * 10 ** 5)) == b'x' * 10 ** 5",
    "import os; open('big.bin', 'wb').write(b'z' * (1 << 20))", "os.rename('big.bin', 'moved.bin')",
    "df.to_json()", "df.to_html()", "print(df.to_string())", "df.plot.bar(x='b', y='a')\nplt.show()",
    "import subprocess; subprocess.run(['sh', '-c', 'echo out; echo err >&2; exit 4']).returncode",
    "import struct; struct.pack('<IH', 7, 9)", "f'{3.14159:.2f} {42:#x} {\"s\":>5}'",
    "total", "[n for n in range(50) if all(n % d for d in range(2, n)) and n > 1]",
]
VARIES = [
    "import time; time.time()", "print(time.time_ns())", "import os; os.urandom(8).hex()",
    "import random; random.SystemRandom().random()", "import uuid; str(uuid.uuid4())",
    "datetime.datetime.now().isoformat()", "np.random.default_rng().normal()", "import secrets; secrets.token_hex(4)",
    "open('when.txt', 'w').write(repr(time.time()))", "raise ValueError(os.urandom(4).hex())", "object()",
]

PYTHON = [(code, None, True)
          for code in PRINTS + STATE + FRAMES + PLOTS + FILES + ERRORS + STREAMS + RICH + MORE]
PYTHON += [(code, stdin, True) for code, stdin in INPUT]
PYTHON += [(code, None, False) for code in VARIES]

NODE = ["1 + 1", "console.log('node', [1, 2])", "let a = {b: 1}; a", "a.b += 1", "throw new Error('own')",
        "require('fs').writeFileSync('n.txt', 'x')", "[3, 1, 2].sort()", "null.x", "JSON.stringify(a)",
        "console.error('e')"]
BASH = ["echo $((6 * 7))", "x=5", "echo $x", "ls", "echo file > b.txt; cat b.txt", "false", "cat no-such-file", "exit 3",
        "printf 'a\\nb\\n' | wc -l", "echo err >&2"]
ONCE = [{"code": f"print({i}); open('o{i}', 'w').write('{i}')"} for i in range(6)]
ONCE += [{"code": "print(open('up.txt').read())",
          "files": [{"name": "up.txt", "content": "put in"}]}, {"code": "input()", "stdin": "once\n"},
         {"code": "1/0"}, {"code": "echo hi", "language": "bash"}]
EVALUATIONS = ["38.50 + 41.00", "1/3", "2**10", "NONE", "", "__import__('os')", "1/0", "1" * 300, "(1 + 2) * 3", "-4.5e3"]
