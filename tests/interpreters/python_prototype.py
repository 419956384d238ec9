"""prototype.py: what it reports, and payloads that it forks."""

import json
import os
import signal
import socket
import struct
import subprocess
import time
import unittest

from drivers import FOLDER, PYTHON, Driver, Wires, frame_of, has


class Prototype:
    def __init__(self, *arguments):
        self.end, theirs = socket.socketpair()
        self.process = subprocess.Popen(
            [PYTHON, "-s", str(FOLDER / "prototype.py"), str(theirs.fileno()), *arguments],
            pass_fds=[theirs.fileno()], env={**os.environ, "MPLBACKEND": "agg"},
            stdout=subprocess.PIPE if "--join" in arguments else None)
        theirs.close()
        out, self._w1 = os.pipe()
        err, self._w2 = os.pipe()
        self._wires = Wires(self.end, out, err)
        if "--join" in arguments:  # the orders are the library's
            self.ready = json.loads(self.process.stdout.readline())
        else:
            self.ready = self.receive()

    def receive(self):
        return self._wires.receive()

    def order(self, number, fds, message=None):
        socket.send_fds(self.end, [frame_of(message or {"op": "fork", "id": number})], fds)
        return self.receive()

    def close(self):
        self.end.close()
        if self.process.stdout:
            self.process.stdout.close()
        return self.process.wait(10)


class Payload(Driver):
    """A driver that the prototype has forked."""

    def __init__(self, prototype, number=1):
        ours, theirs = socket.socketpair()
        stdin, out, err = os.pipe(), os.pipe(), os.pipe()
        self.reply = prototype.order(number, [theirs.fileno(), stdin[0], out[1], err[1]])
        for fd in (*stdin, out[1], err[1]):
            os.close(fd)
        theirs.close()
        self.pid = self.reply["pid"]
        self._start(ours, out[0], err[0], frame_of)

    def interrupt(self, after=0.1):
        time.sleep(after)
        os.killpg(self.pid, signal.SIGINT)

    def close(self):
        self.channel.end.close()
        os.close(self._out)
        os.close(self._err)


class Forks(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        preload = "json,random,uuid,tempfile,numpy,pandas,matplotlib.pyplot,no_such_module"
        cls.prototype = Prototype("--preload", preload)

    @classmethod
    def tearDownClass(cls):
        assert cls.prototype.close() == 0

    def payload(self):
        payload = Payload(self.prototype)
        self.addCleanup(payload.close)
        return payload

    def test_ready(self):
        ready = self.prototype.ready
        self.assertEqual(ready["ev"], "ready")
        self.assertIn("json", ready["preloaded"])
        self.assertIn({"name": "no_such_module", "reason": "ModuleNotFoundError: No module named 'no_such_module'"}, ready["missing"])
        self.assertGreaterEqual(ready["ms"], 0)

    def test_payload_is_a_driver(self):
        payload = self.payload()
        self.assertEqual(payload.reply, {"ev": "forked", "id": 1, "pid": payload.pid})
        self.assertIn("json", payload.ready["preloaded"])
        self.assertEqual(payload.ready["missing"], self.prototype.ready["missing"])
        reply = payload.run("import sys, os; print('out'); os.system('echo system; echo err >&2'); 1 + 1")
        self.assertEqual((reply.value, reply.out, reply.err), ("2", "out\nsystem\n", "err\n"))
        self.assertEqual(payload.run("__name__, sys.argv, sys.path[0], os.getsid(0) == os.getpid()").value, "('__main__', [''], '', True)")
        # The last is what lists them; 4 and 5 are 1 and 2 once more, and no program that is executed has them.
        self.assertEqual(payload.run("sorted(os.listdir('/proc/self/fd'))").value, "['0', '1', '2', '3', '4', '5', '6']")
        self.assertEqual(payload.run("[os.readlink('/proc/self/fd/%d' % n) == os.readlink('/proc/self/fd/%d' % (n - 3)) "
                                     "and not os.get_inheritable(n) for n in (4, 5)]").value, "[True, True]")
        self.assertEqual(payload.run("[n for n in os.environ if 'THREADS' in n]").value, repr([n for n in os.environ if "THREADS" in n]))
        self.assertEqual(payload.run("import gc; gc.isenabled(), gc.get_freeze_count() > 1000").value, "(True, True)")

    def test_siblings_share_no_randomness(self):
        code = ("import random, uuid, tempfile\nr = [random.random(), uuid.uuid4().hex, uuid.uuid1().hex, next(tempfile._get_candidate_names())]\n"
                "try:\n    import numpy; r += [numpy.random.rand(), numpy.random.default_rng().random()]\nexcept ImportError: pass\nr")
        values = [self.payload().run(code).value.strip("[]").split(", ") for _ in range(3)]
        for column in zip(*values):
            self.assertEqual(len(set(column)), 3, column)

    def test_siblings_share_no_state(self):
        first, second = self.payload(), self.payload()
        first.run("x = 1; import json; json.x = 1")
        self.assertEqual(second.run("'x' in globals(), hasattr(__import__('json'), 'x')").value, "(False, False)")
        second.send("print('on')\nwhile True: pass")
        second.wait_for_output("on")
        second.interrupt()
        self.assertEqual(second.finish().status, "interrupted")
        self.assertEqual(first.run("x").value, "1")

    def test_children_work_and_the_dead_are_reaped(self):
        payload = self.payload()
        self.assertEqual(payload.run("import subprocess; subprocess.run('exit 3', shell=True).returncode").value, "3")
        payload.send("import os; os._exit(1)")
        with self.assertRaises(EOFError):
            payload.finish()
        deadline = time.monotonic() + 10
        while os.path.exists("/proc/%d" % payload.pid):
            self.assertLess(time.monotonic(), deadline, "not reaped")
            time.sleep(0.01)

    def test_bad_orders_are_refused(self):
        null = os.open("/dev/null", os.O_RDWR)
        self.addCleanup(os.close, null)
        self.assertEqual(self.prototype.order(7, [null])["ev"], "failed")
        self.assertEqual(self.prototype.order(8, [null] * 4, {"op": "other", "id": 8})["id"], 8)
        self.assertEqual(self.payload().run("2").value, "2")

    def test_interrupts_do_not_reach_it(self):
        os.kill(self.prototype.process.pid, signal.SIGINT)
        self.assertEqual(self.payload().run("3").value, "3")

    @unittest.skipUnless(has("pandas", "matplotlib.pyplot"), "no pandas, matplotlib")
    def test_tables_and_figures(self):
        payload = self.payload()
        reply = payload.run("import pandas as pd\nimport matplotlib.pyplot as plt\ndf = pd.DataFrame({'a': [1, 2]})\ndf.plot()\nplt.show()\ndf")
        self.assertEqual(reply.err, "")
        self.assertEqual([sorted(f["data"]) for f in reply.results], [["image/png", "text/plain"], ["text/html", "text/plain"]])


class Starts(unittest.TestCase):
    def with_a_thread_of(self, seconds):
        """A prototype that preloads a module which starts a thread."""
        path = self.enterContext(__import__("tempfile").TemporaryDirectory())
        with open(path + "/starts_thread.py", "w") as file:
            file.write(f"import threading, time\nthreading.Thread(target=time.sleep, args=({seconds},), daemon=True).start()\n")
        os.environ["PYTHONPATH"] = path
        try:
            return Prototype("--preload", "json,starts_thread")
        finally:
            del os.environ["PYTHONPATH"]

    def test_a_preloaded_thread_is_refused(self):
        prototype = self.with_a_thread_of(30)
        self.assertEqual(prototype.ready["ev"], "failed")
        self.assertIn("starts_thread", prototype.ready["error"])
        self.assertEqual(prototype.close(), 1)

    def test_a_preloaded_thread_that_ends_is_waited_for(self):
        prototype = self.with_a_thread_of(0.2)
        self.assertEqual((prototype.ready["ev"], prototype.ready["preloaded"]), ("ready", ["json", "starts_thread"]))
        self.assertEqual(prototype.close(), 0)

    @unittest.skipUnless(__import__("shutil").which("cc"), "no C compiler")
    def test_join_library_serves_the_orders(self):
        path = self.enterContext(__import__("tempfile").TemporaryDirectory())
        with open(path + "/join.c", "w") as file:
            file.write(r'''
#include <unistd.h>
#include <sys/socket.h>
void PyOS_BeforeFork(void); void PyOS_AfterFork_Parent(void); void PyOS_AfterFork_Child(void);
int sandglass_join(int fd) {            /* an order is one byte with one descriptor */
  char byte, room[64]; struct iovec part = {&byte, 1};
  struct msghdr m = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof room};
  if (recvmsg(fd, &m, 0) <= 0) return -1;
  int control = *(int *)CMSG_DATA(CMSG_FIRSTHDR(&m));
  PyOS_BeforeFork();
  pid_t pid = fork();
  if (pid) { PyOS_AfterFork_Parent(); close(control); return 0; }
  if (control != 3) { dup2(control, 3); close(control); }
  PyOS_AfterFork_Child();
  return 1;
}
''')
        subprocess.run(["cc", "-shared", "-fPIC", "-o", path + "/join.so", path + "/join.c"], check=True)
        prototype = Prototype("--preload", "json", "--join", path + "/join.so")
        ours, theirs = socket.socketpair()
        socket.send_fds(prototype.end, [b"x"], [theirs.fileno()])
        theirs.close()
        wires = Wires(ours, os.pipe()[0], os.pipe()[0])
        self.assertEqual(wires.receive()["preloaded"], ["json"])
        ours.sendall(frame_of({"op": "execute", "id": 1, "code": "6 * 7", "stdin": None}))
        self.assertEqual([wires.receive() for _ in range(3)][1]["data"], {"text/plain": "42"})
        ours.close()
        self.assertEqual(prototype.close(), 0)


if __name__ == "__main__":
    unittest.main()
