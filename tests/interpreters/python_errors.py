"""driver.py: exceptions, their tracebacks, and help for what is not Python."""

import unittest

from drivers import DriverTest


class Errors(DriverTest):
    def test_traceback_has_user_frames_only(self):
        self.run_code("def f(x):\n    y = x\n    return 1 / y\n")
        error = self.fails("a = 1\n\nf(0)", "ZeroDivisionError")
        self.assertEqual(error["value"], "division by zero")
        lines = [line for line in error["traceback"].splitlines() if not set(line) <= set(" ~^")]
        self.assertEqual(lines[:3], [
            "Traceback (most recent call last):",
            '  File "<cell 2>", line 3, in <module>', "    f(0)"])
        self.assertEqual(lines[3:5], ['  File "<cell 1>", line 3, in f', "    return 1 / y"])
        self.assertEqual(lines[-1], "ZeroDivisionError: division by zero")

    def test_lines_are_counted_as_python_counts_them(self):
        for odd in ("a = '\\x0c \u2028 \x1c \x85'", "a = 1 \x0c"):
            error = self.fails(odd + "\nb = 2\n1 / 0 # here", "ZeroDivisionError")
            self.assertIn(', line 3, in <module>\n    1 / 0 # here\n', error["traceback"])
        error = self.fails("a = 1\r\n1 / 0 # here\r\n", "ZeroDivisionError")
        self.assertIn(', line 2, in <module>\n    1 / 0 # here\n', error["traceback"])

    def test_syntax_error_with_caret(self):
        error = self.fails("x = 1\nfoo bar(", "SyntaxError")
        self.assertTrue(error["traceback"].startswith('  File "<cell 1>", line 2\n    foo bar(\n'), error)
        self.assertIn("^", error["traceback"])
        self.fails("  x = 1", "IndentationError")
        self.fails("return 1", "SyntaxError")
        self.fails("break", "SyntaxError")

    def test_chains_and_groups(self):
        text = self.fails("try:\n    1/0\nexcept Exception as e:\n    raise ValueError('b') from e", "ValueError")["traceback"]
        self.assertIn("ZeroDivisionError: division by zero\n\nThe above exception was the direct cause", text)
        text = self.fails("try:\n    input()\nexcept Exception:\n    {}['k']", "KeyError")["traceback"]
        self.assertIn("During handling of the above exception", text)
        self.assertNotIn("_sandglass", text)
        self.fails("e = ValueError('loop'); e.__cause__ = e\nraise e", "ValueError")
        if self.value("'ExceptionGroup' in dir(__builtins__)") == "False":
            return  # Python 3.10
        text = self.fails("raise ExceptionGroup('g', [ValueError('v'), KeyError('k')])", "ExceptionGroup")["traceback"]
        self.assertIn("ValueError: v", text)
        self.assertIn("KeyError: 'k'", text)

    def test_length_is_bounded(self):
        error = self.fails("def f(): f()\nf()", "RecursionError")
        self.assertLess(len(error["traceback"]), 5000)
        error = self.fails("def a(): b()\ndef b(): a()\na()", "RecursionError")
        self.assertLess(len(error["traceback"]), 20000)
        self.assertIn("characters left out", error["traceback"])
        error = self.fails("raise ValueError('x' * 50_000_000)", "ValueError")
        self.assertLess(len(error["value"]), 20000)
        self.assertLess(len(error["traceback"]), 20000)
        self.fails("import sys\nsys.setrecursionlimit(50000)\ndef g(n): return g(n - 1) if n else 1/0\ng(15000)", "ZeroDivisionError")
        self.fails("e = None\nfor i in range(5000):\n    n = ValueError(i); n.__cause__ = e; e = n\nraise e", "ValueError")

    def test_exceptions_that_misbehave(self):
        error = self.fails("class E(Exception):\n    def __str__(self): raise KeyError\nraise E", "E")
        self.assertEqual(error["value"], "<exception str() failed>")
        error = self.fails("class E(Exception):\n    def __str__(self): return 5\nraise E", "E")
        self.assertIn("failed", error["value"])
        self.fails("class E(Exception):\n    def __str__(self): exit(3)\nraise E", "E")
        self.fails("class M(type):\n    @property\n    def __name__(self): 1/0\n"
                   "class E(Exception, metaclass=M): pass\nraise E", "E")
        self.fails("class E(BaseException): pass\nraise E", "E")
        self.fails("raise GeneratorExit", "GeneratorExit")
        self.fails("raise 5", "TypeError")
        self.fails("compile('a b', 'x', 'exec')", "SyntaxError")
        self.lives()

    def test_str_that_never_ends_can_be_interrupted(self):
        self.driver.send("class E(Exception):\n    def __str__(self):\n        print('in')\n        while True: pass\nraise E")
        self.driver.wait_for_output("in")
        self.driver.interrupt(0.1)
        reply = self.driver.finish()
        self.assertEqual((reply.status, reply.error["name"]), ("error", "E"))
        self.lives()

    def test_lines_that_are_not_python_are_explained(self):
        for code, told in (("%pip install x", "no network"), ("!pip install x", "no network"),
                           ("!ls -l", "subprocess.run('ls -l', shell=True)"), ("?x", "help(x)"),
                           ("x?", "help(x)"), ("a = 1\n%matplotlib inline\n", "not needed"),
                           ("files = !ls", "subprocess"), ("%%bash\nls it's", "subprocess"),
                           ("%%html\n<b>'</b>", "_repr_html_"), ("if 1:\n    !ls", "subprocess"),
                           ("%nonsense", "IPython"), ("s = '''\n%x\n'''\n%cd /", "os.chdir"),
                           ("%timeit f()\nx = = 1", "timeit.timeit"),
                           ("pip install x", "no network"), ("!python3 -m pip install x", "no network"),
                           ("x = 1\npip3 install -q x", "no network"), ("!apt-get update", "no network"),
                           ("%load_ext autoreload", "Remove the line")):
            error = self.fails(code, "NotSupported")
            self.assertIn(told, error["value"], code)
        error = self.fails("a = 1\n%cd x", "NotSupported")
        self.assertTrue(error["traceback"].startswith('  File "<cell %d>", line 2\n    %%cd x\n' % 19), error)

    def test_python_that_looks_like_it_is_left_alone(self):
        self.assertEqual(self.value("(7\n%4)"), "3")
        self.assertEqual(self.value("7 \\\n%4"), "3")
        self.assertEqual(self.value("'''\n!ls\n%x\n?'''"), repr("\n!ls\n%x\n?"))
        self.fails("s = '''\n%x\n'''\nx = = 1", "SyntaxError")
        self.fails("(\n%x", "SyntaxError")
        self.fails("pip uninstall", "SyntaxError")
        self.assertEqual(self.value("pip = install = 7\npip"), "7")

    def test_traceback_of_an_awaiting_cell_begins_with_it(self):
        for code, line in (("1\nawait nothing", 2), ("import asyncio\n\nawait asyncio.sleep('x')", 3)):
            text = self.run_code(code).error["traceback"]
            self.assertTrue(text.startswith('Traceback (most recent call last):\n  File "<cell '), text)
            self.assertIn('line %d, in <module>' % line, text.splitlines()[1])

    def test_what_notebooks_have_and_we_have_not_is_said(self):
        for code in ("get_ipython().run_line_magic('time', 'x')", "Out[1]", "def f():\n    In\nf()"):
            self.assertTrue(self.fails(code, "NameError")["traceback"].endswith("display())\n"), code)
        self.assertNotIn("IPython", self.fails("nothing", "NameError")["traceback"])
        self.assertIn("request's stdin", self.fails("breakpoint()\n1", "BdbQuit")["traceback"])
        self.assertEqual(self.run_code("breakpoint()\nprint(7)", "c\n").out[-2:], "7\n")
        code = "import socket\ntry:\n    raise socket.gaierror(-2, 'unknown')\nexcept OSError as e:\n    raise ValueError(1)"
        self.assertTrue(self.fails(code, "ValueError")["traceback"].endswith(
            "ValueError: 1\n(there is no network here: put the data into a file of the session instead)\n"))
        self.fails("e = ValueError('loop'); e.__cause__ = e\nraise e", "ValueError")

    def test_warnings_name_the_cell(self):
        reply = self.run_code("import warnings\nwarnings.warn('careful')")
        self.assertEqual(reply.err, "<cell 1>:2: UserWarning: careful\n  warnings.warn('careful')\n")
        # One that comes up while we work for the cell names no file of ours.
        reply = self.run_code("import warnings\nclass C:\n    def __repr__(self):\n"
                              "        warnings.warn('odd', stacklevel=2)\n        return 'c'\nC()")
        self.assertEqual((reply.value, reply.err), ("c", "<cell 2>: UserWarning: odd\n"))
        self.assertIn("<cell 3>: RuntimeWarning: coroutine 'sleep' was never awaited",
                      self.run_code("import asyncio\nasyncio.create_task(asyncio.sleep(0))").err)


if __name__ == "__main__":
    unittest.main()
