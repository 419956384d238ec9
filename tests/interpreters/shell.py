"""driver.sh: what lasts, statuses, exits, interrupts and bad days."""

import os
import shutil
import signal
import subprocess
import time
import unittest

from drivers import FOLDER, Driver, DriverTest


def request(message):
    """bash's own framing: a header line, the code's bytes, the stdin's bytes."""
    code = message["code"].encode()
    text = message["stdin"]
    data = None if text is None else text.encode()
    head = "execute %d %d %s\n" % (message["id"], len(code), "-" if data is None else len(data))
    return head.encode() + code + (data or b"")


class Shell(DriverTest):
    def start(self):
        return Driver(["/usr/bin/bash", str(FOLDER / "driver.sh")], encode=request)

    def says(self, code, text, status="ok", stdin=None):
        reply = self.run_code(code, stdin)
        self.assertEqual((reply.out, reply.status), (text, status), (code, reply.err, reply.error))
        return reply

    def lives(self):
        self.says("echo $((41 + 1))", "42\n")

    def test_state_lasts(self):
        ready = self.driver.ready
        self.assertEqual((ready["ev"], ready["language"], ready["version"][:2]), ("ready", "bash", "5."))
        self.says("x=5; declare -A m=([k]=v); a=(1 '2 3'); f() { echo in f $x; }; mkdir sub; cd sub; alias ll='echo'; shopt -s nullglob", "")
        reply = self.says('f; echo "${m[k]} ${a[1]}"; basename "$PWD"; basename "$(pwd)"; shopt -q nullglob && echo yes', "in f 5\nv 2 3\nsub\nsub\nyes\n")
        self.assertEqual(reply.begin["n"], 2)
        self.says("declare y=3; export z='a b'", "")
        self.says('bash -c \'echo "$z"\'; echo $y', "a b\n3\n")
        self.says("set -- a 'b c'", "")
        self.says('echo $# "$2"', "2 b c\n")

    def test_status(self):
        reply = self.says("echo out; echo err >&2; false", "out\n", "error")
        self.assertEqual((reply.err, reply.error["name"], reply.error["value"], reply.code), ("err\n", "ExitStatus", "1", None))
        self.assertEqual(self.run_code("(exit 42)").error["value"], "42")
        reply = self.run_code("nosuchcommand")
        self.assertEqual(reply.error["value"], "127")
        self.assertIn("nosuchcommand: command not found", reply.err)
        self.says("true", "")
        self.says("", "")
        self.says("# only a comment", "")

    def test_errors_name_the_line(self):
        reply = self.run_code("x=1\n\nnosuchcommand\n")
        self.assertIn("line 3: nosuchcommand", reply.err)
        reply = self.run_code("echo a\nif then\n")
        self.assertEqual((reply.status, reply.error["value"]), ("error", "2"))
        self.assertIn("line 2: syntax error", reply.err)
        for code in ("echo $(", "'", "{", "for", "a=(", "cat <<E\nx"):
            self.run_code(code)
            self.lives()

    def test_exit_keeps_state(self):
        self.run_code("x=$'a\\nb'; declare -A m=([k]='v w'); declare -r ro=1; declare -i n=7; export e=5; f() { echo f; }; export -f f; alias ll=echo; shopt -s extglob dotglob; set -o pipefail; mkdir s; cd s")
        for code, status in (("exit 3", 3), ("exit", 0), ("false; exit", 1), ("g() { local l=1; exit 9; }; g", 9),
                             ("while :; do for i in 1; do exit 5; done; done", 5), ("exit 256", 0), ("eval 'exit 6'", 6)):
            reply = self.run_code(code)
            self.assertEqual((reply.status, reply.code), ("exit", status), code)
            self.says('echo "$x|${m[k]}|$ro|$e"; f; bash -c f; n=n+1; basename "$PWD"; shopt -q dotglob && echo dot; set -o | grep -c "pipefail.*on"',
                      "a\nb|v w|1|5\nf\nf\ns\ndot\n1\n")
        self.says("echo $n; alias ll", "14\nalias ll='echo'\n")
        self.assertEqual(self.driver.process.poll(), None)
        self.says("(exit 3); echo $(exit 4) a; exit 5 | cat; echo on", "a\non\n")

    def test_strict_mode_ends_the_cell_only(self):
        self.says("set -euo pipefail; x=1; echo ok", "ok\n")
        reply = self.says("x=2; echo a; false; echo never", "a\n", "error")
        self.assertEqual(reply.error["value"], "1")
        self.says("echo $x $-", "2 ehuB\n")
        reply = self.says("echo $unset_name; echo never", "", "error")
        self.assertIn("unset_name: unbound variable", reply.err)
        self.says("false | true; echo never", "", "error")
        self.says("echo $x", "2\n")
        self.says("set +eu; echo ${nosuch:?is missing}; echo never", "", "error")
        self.says("false; echo on", "on\n")

    def test_exit_trap(self):
        self.says("trap 'echo bye $x' EXIT; x=1", "")
        self.says("echo a; exit 2", "a\nbye 1\n", "exit")
        self.says("exit 2", "", "exit")
        self.says("(trap 'echo inner' EXIT); trap 'echo err' ERR; false; true", "inner\nerr\n")

    def test_input(self):
        self.says('read a; read b; echo "$b,$a"; cat', "l2,l1\nrest\n", stdin="l1\nl2\nrest\n")
        self.says("cat", "é'\"\\ $x\n", stdin="é'\"\\ $x")
        self.says("cat; read x || echo none", "none\n")
        self.assertEqual(len(self.run_code("cat", "z" * 300_000 + "\n").out), 300_001)

    def test_output_order_and_tracing(self):
        self.says("for i in 1 2 3; do echo $i; done; /bin/echo four; printf five", "1\n2\n3\nfour\nfive")
        reply = self.run_code("set -x; echo a")
        self.assertEqual(reply.err, "++ echo a\n")  # an eval counts as a level
        reply = self.run_code("echo b; exit 0")
        self.assertEqual((reply.out, reply.status), ("b\n", "exit"))
        self.assertNotIn("__sandglass_l", reply.err)
        self.run_code("set +x")
        self.assertEqual(self.run_code("echo c").err, "")

    def test_interrupts(self):
        for code in ("sleep 60", "while :; do :; done", "f() { while sleep 1; do :; done; }; f", "bash -c 'sleep 60'; sleep 60",
                     "cat /dev/zero | sleep 60", "read x </dev/tty || sleep 60"):
            self.driver.send("x=5; echo on; " + code)
            self.driver.wait_for_output("on")
            self.driver.interrupt(0.2)
            reply = self.driver.finish()
            self.assertEqual((reply.status, reply.error["name"]), ("interrupted", "KeyboardInterrupt"), code)
            self.says("echo $x", "5\n")
        for _ in range(5):
            self.driver.interrupt(0.02)
        self.lives()

    def test_stray_control_flow(self):
        for code in ("break", "break 5", "continue", "continue 9", "for i in 1; do break 3; done"):
            self.run_code("x=7")
            self.assertEqual(self.run_code(code).status, "ok", code)
            self.says("echo $x", "7\n")
        self.run_code("return 3")
        self.lives()

    def test_signals_to_itself(self):
        for name in ("TERM", "HUP", "USR1", "PIPE"):
            reply = self.says("x=%s; kill -%s $$; echo never" % (name, name), "", "error")
            self.assertEqual(reply.error["name"], "Signal", name)
            self.says("echo $x", name + "\n")
        self.says("trap 'echo usr' USR1; kill -USR1 $$; echo on", "usr\non\n")

    def test_take_over_asks_for_no_rights(self):
        """`set +o privileged` gives up rights by a system call, which a policy refuses and reports."""
        strace = shutil.which("strace")
        if not strace:
            self.skipTest("no strace")
        driver = Driver([strace, "-f", "-qq", "-e", "signal=none", "-e", "trace=setresuid,setresgid,setuid,setgid", "-o", "/dev/stderr",
                         "/usr/bin/bash", str(FOLDER / "driver.sh")], encode=request)
        self.addCleanup(driver.close)
        first = driver.run("set -o pipefail; exit 3")
        reply = driver.run("set -o | grep -c 'pipefail.*on'")
        self.assertEqual((first.code, reply.out, first.err + reply.err), (3, "1\n", ""))

    def test_hostile(self):
        for code in ("unset -v IFS", "IFS=x", "printf() { echo no; }", "read() { return 1; }", "unset -f exit trap", "shopt -s expand_aliases; alias printf=false",
                     "set -f", "set -C", "set -o posix", "LC_ALL=C", "readonly IFS", "exec 2>/dev/null", "umask 777", "shopt -s nocasematch; shopt -u extglob",
                     "exec 1>&2", "PATH=", "enable -n printf", "unset __sandglass_count", "exec 3>&-", "POSIXLY_CORRECT=1"):
            driver = self.start()
            try:
                driver.run(code)
                reply = driver.run("echo $((41 + 1)); (exit 3)")
                if "exec" not in code:
                    self.assertEqual((reply.out, reply.error["value"]), ("42\n", "3"), code)
            except (EOFError, OSError):
                driver.process.wait(10)  # died, and was noticed
                self.assertIn(code.split()[0], ("printf()", "read()", "set", "enable"), code)
            driver.close()

    def test_control_channel_is_not_inherited(self):
        self.says("ls -l /proc/self/fd | grep -c socket:; true", "0\n")
        self.run_code("exit 1")
        self.says("ls -l /proc/self/fd | grep -c socket:; true", "0\n")
        self.says("compgen -v | grep -v -c __sandglass >/dev/null; env | grep -c __sandglass; true", "0\n")

    def test_ends(self):
        self.run_code("trap 'sleep 60' EXIT")
        self.assertEqual(self.driver.close(), 0)
        for code, status in (("kill -9 $$", -9), ("exec true", 0), ("exec sh -c 'exit 7'", 7)):
            driver = self.start()
            driver.send(code)
            with self.assertRaises((EOFError, ConnectionResetError)):
                driver.finish()
            self.assertEqual(driver.process.wait(10), status)
            driver.close()
        for data in (b"nonsense\n", b"execute 1 x -\n", b"execute 1 99 -\nshort", b"execute"):
            driver = self.start()
            driver.channel.end.sendall(data)
            driver.channel.end.shutdown(1)
            self.assertEqual(driver.process.wait(10), 0, data)
            driver.close()

    def test_large_cells(self):
        self.says("x='%s'; echo ${#x}" % ("é" * 500_000), "500000\n")
        self.assertEqual(len(self.run_code("exit 1").frames), 2)
        self.says("echo ${#x}", "500000\n")


if __name__ == "__main__":
    unittest.main()
