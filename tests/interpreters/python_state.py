"""driver.py: what lasts between executions, and values, input and exits."""

import unittest

from drivers import DriverTest


class State(DriverTest):
    def test_ready_names_the_interpreter(self):
        ready = self.driver.ready
        self.assertEqual((ready["ev"], ready["language"]), ("ready", "python"))
        self.assertEqual(ready["preloaded"], [])
        self.assertEqual(self.value("import sys; sys.version.split()[0]"), repr(ready["version"]))

    def test_variables_imports_functions_and_folder_last(self):
        self.run_code("import os, math\nx = 20\ndef twice(v): return v * 2\nos.mkdir('sub'); os.chdir('sub')")
        reply = self.run_code("twice(x) + math.floor(2.5)")
        self.assertEqual(reply.value, "42")
        self.assertEqual(reply.begin["n"], 2)
        self.assertTrue(self.value("os.getcwd()").endswith("/sub'"))

    def test_last_expression(self):
        self.assertEqual(self.value("'a' * 3"), "'aaa'")
        self.assertEqual(self.value("_ + 'b'"), "'aaab'")
        for silent in ("None", "5;", "(5);", "5 ; # note", "5 \\\n;", "x = 5", "", "# only", "if True: 5"):
            self.assertIsNone(self.value(silent), silent)
        self.assertEqual(self.value("5 # a; b"), "5")
        self.assertEqual(self.value("'é;'"), "'é;'")
        self.assertIsNone(self.value("'日本é';"))
        self.assertEqual(self.value("a = 1; a + 1"), "2")

    def test_output_and_results_keep_their_order(self):
        reply = self.run_code(
            "import subprocess, sys\nprint('one')\ndisplay('shown')\nprint('two', file=sys.stderr)\n"
            "subprocess.run(['echo', 'three'])\nprint('four')\n'value'")
        self.assertEqual((reply.out, reply.err), ("one\nthree\nfour\n", "two\n"))
        self.assertEqual([f["ev"] for f in reply.frames], ["begin", "result", "result", "end"])
        self.assertEqual([f["main"] for f in reply.results], [False, True])

    def test_progress_appears_as_it_is_made(self):
        self.driver.send("import time\nprint('now')\ntime.sleep(1)")
        self.driver.wait_for_output("now")
        self.driver.finish()

    def test_input(self):
        self.assertEqual(self.value("a = input('name? '); b = input(); (a, b)", "Ann\nBob\nrest"), "('Ann', 'Bob')")
        self.assertEqual(self.value("import sys; sys.stdin.read()", "x\ny"), "'x\\ny'")
        self.assertEqual(self.value("sys.stdin.buffer.read()", "é"), repr("é".encode()))
        error = self.fails("input()", "EOFError")
        self.assertIn('"stdin"', error["value"])
        self.assertNotIn("streams.py", error["traceback"])
        error = self.fails("input(); input()", "EOFError", "one")
        self.assertIn("used up", error["value"])

    def test_exit_keeps_state(self):
        self.run_code("x = 1")
        for code, status in (("exit()", 0), ("import sys; sys.exit(3)", 3), ("quit(2)", 2),
                             ("raise SystemExit", 0), ("sys.exit(-1)", 255), ("sys.exit(10**30)", None)):
            reply = self.run_code(code)
            self.assertEqual(reply.status, "exit", code)
            if status is not None:
                self.assertEqual(reply.code, status, code)
        reply = self.run_code("sys.exit('why')")
        self.assertEqual((reply.status, reply.code, reply.err), ("exit", 1, "why\n"))
        self.assertEqual(self.value("x"), "1")
        self.assertEqual(self.value("input()", "still\n"), "'still'")

    def test_main_is_a_real_module(self):
        self.run_code("from dataclasses import dataclass\nimport pickle, inspect, typing\n"
                      "@dataclass\nclass P:\n    x: 'int' = 1\ndef f(a):\n    return a + 1\n")
        self.assertEqual(self.value("pickle.loads(pickle.dumps(P(3)))"), "P(x=3)")
        self.assertEqual(self.value("pickle.loads(pickle.dumps(f))(1)"), "2")
        self.assertEqual(self.value("typing.get_type_hints(P)"), "{'x': <class 'int'>}")
        self.assertEqual(self.value("inspect.getsource(f)"), repr("def f(a):\n    return a + 1\n"))
        self.assertEqual(self.value("import __main__; __main__.f is f"), "True")

    def test_multiprocessing(self):
        self.assertEqual(self.value(
            "import multiprocessing as mp\ndef sq(x): return x * x\n"
            "with mp.get_context('fork').Pool(2) as pool: r = pool.map(sq, range(5))\nr"), "[0, 1, 4, 9, 16]")

    def test_future_imports_last(self):
        self.run_code("from __future__ import annotations")
        self.run_code("def f(x: undefined_name): pass")
        self.assertEqual(self.value("f.__annotations__"), "{'x': 'undefined_name'}")

    def test_await(self):
        self.assertEqual(self.value("import asyncio\nasync def f(): return 7\nawait f()"), "7")
        self.assertEqual(self.value("x = await f()\nx + 1"), "8")
        self.assertEqual(self.value("[await f() for _ in range(2)]"), "[7, 7]")
        self.assertEqual(self.value("async def g(): return asyncio.get_running_loop()\nasyncio.run(f())"), "7")
        self.assertEqual(self.value("async with asyncio.Lock(): y = 1\nawait asyncio.sleep(0, y)"), "1")
        self.fails("async def bad(): 1/0\nawait bad()", "ZeroDivisionError")
        self.assertEqual(self.run_code("async def leave(): exit(4)\nawait leave()").code, 4)
        self.lives()

    def test_await_where_no_event_loop_can_be_made(self):
        self.run_code("import asyncio, selectors, os\nclass None_:\n    def __init__(self): raise PermissionError(1, 'Operation not permitted')\n"
                      "selectors.DefaultSelector = None_")
        reply = self.run_code("await asyncio.sleep(0)")
        self.assertEqual((reply.error["name"], reply.err), ("RuntimeError", ""))
        self.assertIn("Operation not permitted", reply.error["value"])

    def test_nothing_of_ours_is_in_the_way(self):
        self.assertEqual(self.value("sorted(n for n in globals() if n[:2] != '__')"), "[]")
        self.assertEqual(self.value("import sys; [m for m in sys.modules if 'sandglass' in m or m == 'driver']"), "[]")
        self.assertEqual(self.value("sys.argv, sys.path[0]"), "([''], '')")
        self.run_code("open('display.py', 'w').write('mine = 1'); open('cells.py', 'w').write('mine = 2')")
        self.assertEqual(self.value("import display as d, cells; d.mine, cells.mine"), "(1, 2)")

    def test_control_channel_is_not_inherited(self):
        self.assertEqual(self.value(
            "import subprocess\nsubprocess.run(['ls', '-l', '/proc/self/fd'], capture_output=True, "
            "close_fds=False, text=True).stdout.count('socket:')"), "0")

    def test_end_of_channel_is_a_quiet_exit(self):
        self.run_code("import atexit, time; atexit.register(time.sleep, 60)")
        self.assertEqual(self.driver.close(), 0)

    def test_code_of_all_kinds(self):
        self.assertEqual(self.value("\ufeffx = 1\nx"), "1")
        self.assertEqual(self.value("x = 2\r\nif x:\r\n\tx = 3\r\nx\r\n"), "3")
        self.assertEqual(self.value("x = 4\x0c\nx"), "4")
        self.assertEqual(self.value("变量 = 5; ℌ = 6; 变量, H"), "(5, 6)")
        self.assertEqual(self.value("len('%s')" % ("x" * 10_000_000)), "10000000")
        self.fails("x = 1\0", "SyntaxError")
        error = self.fails("x = 1\ny = '\ud800'", "SyntaxError")
        self.assertIn("U+D800", error["value"])
        self.assertIn("line 2", error["traceback"])
        self.assertEqual(self.value("s = '\\ud800'; len(s)"), "1")
        reply = self.run_code("print(s, '😀'); raise ValueError(s)")
        self.assertEqual((reply.out, reply.error["value"]), ("\\ud800 😀\n", "\\ud800"))
        self.fails("(" * 1000, "SyntaxError")
        self.assertEqual(self.run_code("-" * 200000 + "1").status, "error")
        self.lives()

    def test_interrupted_await_does_not_go_on_later(self):
        self.driver.send("import asyncio\nsteps = 0\nprint('on')\nwhile True:\n    await asyncio.sleep(0.01)\n    steps += 1")
        self.driver.wait_for_output("on")
        self.driver.interrupt()
        self.assertEqual(self.driver.finish().status, "interrupted")
        self.assertEqual(self.value("before = steps\nawait asyncio.sleep(0.1)\nsteps - before"), "0")


if __name__ == "__main__":
    unittest.main()
