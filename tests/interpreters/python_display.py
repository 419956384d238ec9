"""driver.py: rich results, figures and tables."""

import base64
import json
import os
import signal
import struct
import time
import unittest

from drivers import DriverTest, has

PNG = b"\x89PNG\r\n\x1a\n"


def png_size(data):
    raw = base64.b64decode(data, validate=True)
    assert raw.startswith(PNG)
    return struct.unpack(">II", raw[16:24])


class Bundles(DriverTest):
    def test_all_kinds(self):
        self.run_code(
            "class R:\n"
            "    def __repr__(self): return 'plain'\n"
            "    def _repr_html_(self): return '<b>é</b>'\n"
            "    def _repr_markdown_(self): return '*m*'\n"
            "    def _repr_latex_(self): return '$x$', {'w': 1}\n"
            "    def _repr_json_(self): return {'a': [1, None]}\n"
            "    def _repr_png_(self): return b'png'\n"
            "    def _repr_jpeg_(self): return b'jpeg'\n"
            "    def _repr_svg_(self): return '<svg/>'\n"
            "    def _repr_pdf_(self): return b'%PDF'\n")
        result = self.run_code("R()").results[0]
        data = result["data"]
        self.assertEqual(json.loads(data.pop("application/json")), {"a": [1, None]})
        self.assertEqual(data, {
            "text/plain": "plain", "text/html": "<b>é</b>", "text/markdown": "*m*", "text/latex": "$x$",
            "image/png": base64.b64encode(b"png").decode(), "image/jpeg": base64.b64encode(b"jpeg").decode(),
            "image/svg+xml": "<svg/>", "application/pdf": base64.b64encode(b"%PDF").decode()})
        self.assertEqual(result["metadata"], {"text/latex": {"w": 1}})
        self.assertEqual(list(self.run_code("R").results[0]["data"]), ["text/plain"])

    def test_mimebundle(self):
        self.run_code("class M:\n    def _repr_mimebundle_(self, include=None, exclude=None):\n"
                      "        return {'text/html': 'h', 'application/vnd.x+json': {'k': 1}, 'a/b': 5}, {'text/html': {'x': float('nan')}}\n"
                      "    def _repr_html_(self): return 'not this'\n    def __repr__(self): return 'r'\n")
        result = self.run_code("M()").results[0]
        self.assertEqual(result["data"], {"text/html": "h", "application/vnd.x+json": '{"k":1}', "text/plain": "r"})
        self.assertEqual(result["metadata"], {})

    def test_display(self):
        reply = self.run_code("display(1, 'a'); display(); 3")
        self.assertEqual([(f["data"]["text/plain"], f["main"]) for f in reply.results],
                         [("1", False), ("'a'", False), ("3", True)])

        data = self.run_code("display({'text/html': '<i>', 'image/png': b'p'}, raw=True)").results[0]["data"]
        self.assertEqual(data, {"text/html": "<i>", "image/png": base64.b64encode(b"p").decode()})

    def test_what_ipython_calls_display_is_ours(self):
        self.run_code("import os\nos.makedirs('IPython/core')\nfor n in ('IPython', 'IPython/core'): open(n + '/__init__.py', 'w').close()\n"
                      "open('IPython/core/display_functions.py', 'w').write('def display(*a): print(a)')\n"
                      "open('IPython/display.py', 'w').write('from IPython.core.display_functions import *')")
        reply = self.run_code("from IPython.display import display\ndisplay('shown')")
        self.assertEqual((reply.out, reply.results[0]["data"]), ("", {"text/plain": "'shown'"}))

    def test_what_ipython_clears_stays(self):
        ipython = self.value("try: import IPython\nexcept ImportError: IPython = None\nIPython is None")
        if ipython == "True":
            self.skipTest("no IPython")
        reply = self.run_code("from IPython.display import clear_output\nprint('a')\nclear_output(wait=True)\nprint('b')")
        self.assertEqual((reply.out, reply.err), ("a\nb\n", ""))

    def test_representations_that_misbehave(self):
        self.assertEqual(self.value("class B:\n    def __repr__(self): raise ValueError('no')\nB()"),
                         "<B: repr() raised ValueError: no>")
        self.assertIn("repr() raised TypeError", self.value("class B:\n    def __repr__(self): return 5\nB()"))
        self.assertIn("repr() raised ValueError", self.value("10 ** 5000"))
        self.assertIn("repr() raised RecursionError", self.value("l = []\nfor i in range(100000): l = [l]\nl"))
        reply = self.run_code("class B:\n    def _repr_html_(self): 1/0\n    def __repr__(self): return 'b'\nB()")
        self.assertEqual((reply.status, reply.value), ("ok", "b"))
        self.assertEqual(reply.err, "B._repr_html_() raised ZeroDivisionError: division by zero\n")
        self.assertEqual(self.value("class P:\n    def __getattr__(self, n): return lambda *a, **k: 'junk'\n    def __repr__(self): return 'p'\nP()"), "p")
        self.assertEqual(self.value("from unittest.mock import MagicMock\ntype(MagicMock()).__name__"), "'MagicMock'")
        self.run_code("MagicMock()")
        self.assertEqual(self.value("class S(str):\n    def isascii(self): 1/0\nclass B:\n    def __repr__(self): return S('é')\nB()"), "é")
        reply = self.run_code("class B:\n    def __repr__(self): exit(3)\nB()")
        self.assertEqual((reply.status, reply.code), ("exit", 3))

    def test_size_is_bounded(self):
        text = self.value("'x' * 5_000_000")
        self.assertLess(len(text), 1_100_000)
        self.assertIn("5000002 characters long", text)
        reply = self.run_code("class H:\n    def _repr_html_(self): return 'h' * 20_000_000\nH()")
        self.assertEqual(list(reply.results[0]["data"]), ["text/plain"])
        self.assertIn("text/html: 20000000 characters", reply.value)
        self.assertIn("text/html: 6000000", self.value("class H:\n    def _repr_html_(self): return '日' * 6_000_000\nH()"))
        self.assertEqual(len(self.run_code("class H:\n    def _repr_html_(self): return 'h' * 15_000_000\nH()").results[0]["data"]["text/html"]), 15_000_000)


@unittest.skipUnless(has("matplotlib.pyplot"), "no matplotlib")
class Figures(DriverTest):
    def test_open_figures_come_without_being_asked_for(self):
        reply = self.run_code("import matplotlib.pyplot as plt\nfig, ax = plt.subplots(figsize=(4, 3), dpi=50)\nax.plot([1, 2]);")
        self.assertEqual((reply.err, len(reply.results)), ("", 1))
        width, height = png_size(reply.results[0]["data"]["image/png"])
        self.assertTrue(120 < width <= 210 and 100 < height <= 160, (width, height))
        self.assertEqual(reply.results[0]["data"]["text/plain"], "<Figure size 200x150 with 1 Axes>")
        self.assertEqual(self.run_code("1").results[0]["data"], {"text/plain": "1"})
        # The object lives on, and is shown again as a value: once.
        reply = self.run_code("ax.set_title('later')\nfig")
        self.assertEqual([f["main"] for f in reply.results], [True])
        png_size(reply.results[0]["data"]["image/png"])
        # What is drawn next is a figure of its own.
        self.assertEqual(self.value("plt.plot([3]); plt.gcf() is fig"), "False")

    def test_show_shows_at_once(self):
        reply = self.run_code("import matplotlib\nmatplotlib.use('Agg')\nfrom matplotlib import pyplot as plt\n"
                              "for i in range(2):\n    plt.plot([i])\n    plt.show()\n    print(i, plt.get_fignums())\n")
        self.assertEqual((len(reply.results), reply.out, reply.err), (2, "0 []\n1 []\n", ""))

    def test_as_value_and_displayed_once(self):
        reply = self.run_code("import matplotlib.pyplot as plt\nf = plt.figure(); plt.plot([1])\ndisplay(f)\ng = plt.figure()\ng")
        self.assertEqual([(f["main"], "image/png" in f["data"]) for f in reply.results], [(False, True), (True, True)])

    def test_after_an_error_and_one_that_cannot_be_drawn(self):
        reply = self.run_code("import matplotlib.pyplot as plt\nplt.plot([1])\n1/0")
        self.assertEqual([f["ev"] for f in reply.frames], ["begin", "error", "result", "end"])
        reply = self.run_code("plt.title('$\\\\frac{$')")
        self.assertEqual(reply.status, "ok")
        self.assertIn("could not be drawn: ValueError", reply.results[-1]["data"]["text/plain"])
        self.lives()

    @unittest.skipUnless(has("PIL"), "no PIL")
    def test_images(self):
        reply = self.run_code("from PIL import Image\nImage.new('RGB', (7, 5))")
        self.assertEqual(png_size(reply.results[0]["data"]["image/png"]), (7, 5))

    @unittest.skipUnless(has("pandas"), "no pandas")
    def test_tables(self):
        reply = self.run_code("import pandas as pd\npd.DataFrame({'a': [1, 2], 'é': ['x', 'y']})")
        data = reply.results[0]["data"]
        self.assertIn("<td>x</td>", data["text/html"])
        self.assertEqual(data["text/plain"].splitlines()[1].split(), ["0", "1", "x"])
        self.assertEqual(list(self.run_code("pd.Series([1])").results[0]["data"]), ["text/plain"])


class Order(DriverTest):
    """The host drains the pipes before it handles a frame: what it has then is what came before."""

    def order(self, code):
        self.driver.channel.order.clear()
        self.assertEqual(self.run_code(code).status, "ok")
        return [(ev, out, err) for ev, out, err in self.driver.channel.order if ev in ("result", "mark")]

    def test_what_follows_a_result_waits_for_it(self):
        code = "import os, sys\nfor i in range(200):\n    os.write(1, b'a')\n    display(i)\n    os.write(2, b'b')"
        self.assertEqual(self.order(code), [("result", i + 1, i) for i in range(200)])
        self.assertEqual(self.order("for i in range(9):\n    display(i)\n    os.system('echo -n 123')"),
                         [("result", 3 * i, 0) for i in range(9)])

    def test_stdout_and_stderr_take_turns(self):
        code = "import sys\nfor i in range(100):\n    print('out')\n    print('err', file=sys.stderr)"
        order = self.order(code)
        self.assertEqual(order, [("mark", 4 * ((i + 2) // 2), 4 * ((i + 1) // 2)) for i in range(199)])
        self.assertEqual(self.order("print('a', end='')\nprint('b', file=sys.stderr)\nprint('c', end='')"), [("mark", 0, 0), ("mark", 0, 2)])
        self.assertEqual(self.order("import os\nos.system('echo a')\nprint('b', file=sys.stderr)"), [("mark", 2, 0)])
        self.assertEqual(self.order("for i in range(50): print(i)\n7"), [("result", 140, 0)])

    def test_turns_cost_no_more_than_a_thousand_waits(self):
        order = self.order("import sys\nfor i in range(3000):\n    print('o')\n    print('e', file=sys.stderr)")
        self.assertEqual(len(order), 1000)
        self.assertEqual(self.run_code("1").value, "1")

    def test_threads_and_children_do_not_wait(self):
        code = ("import os, sys, threading\ndef work():\n    for i in range(200):\n        print('o')\n        print('e', file=sys.stderr)\n"
                "        display(i)\nts = [threading.Thread(target=work) for _ in range(4)]\nfor t in ts: t.start()\nwork()\nfor t in ts: t.join()")
        reply = self.run_code(code)
        self.assertEqual((reply.status, len(reply.results)), ("ok", 1000))
        self.assertEqual((reply.out.count("o"), reply.err.count("e")), (1000, 1000))
        reply = self.run_code("if os.fork() == 0:\n    work()\n    os._exit(0)\nos.wait()[1]")
        self.assertEqual((reply.value, reply.err.count("e")), ("0", 200))
        self.lives()

    def test_interrupts_while_it_waits(self):
        self.run_code("import sys")
        for turn in range(60):
            self.driver.send("while True:\n    print('o')\n    print('e', file=sys.stderr)\n    display(1)")
            while self.driver.channel.receive()["ev"] != "begin":
                pass
            time.sleep(turn % 6 / 1000)
            os.killpg(self.driver.process.pid, signal.SIGINT)
            self.assertEqual(self.driver.finish().status, "interrupted")
        self.run_code("import signal\ndef late(*a): raise TimeoutError('late')\nsignal.signal(signal.SIGALRM, late)")
        for turn in range(60):
            self.fails("signal.setitimer(signal.ITIMER_REAL, 0.0%02d, 0.2)\nwhile True: display(1)" % (turn % 20 + 1), "TimeoutError")
        self.lives()

    def test_requests_may_come_before_the_answer(self):
        self.driver.send("for i in range(20): display(i)")
        self.driver.send("1 + 1")
        self.driver._number = 1
        self.assertEqual(len(self.driver.finish().results), 20)
        self.driver._number = 2
        self.assertEqual(self.driver.finish().value, "2")


if __name__ == "__main__":
    unittest.main()
