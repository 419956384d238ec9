"""driver.js: values, await, errors, output, exits, interrupts and bad days."""

import os
import shutil
import signal
import socket
import time
import unittest

from drivers import FOLDER, Driver, DriverTest, frame_of

NODE = "/usr/bin/node" if os.path.exists("/usr/bin/node") else shutil.which("node")


@unittest.skipUnless(NODE, "no node")
class JavaScript(DriverTest):
    def start(self):
        return Driver([NODE, str(FOLDER / "driver.js")])

    def settles(self):
        """A signal that was sent within the instant in which a cell ended may end one of the next."""
        quiet = 0
        for _ in range(20):
            self.driver.send("await new Promise((resolve) => setTimeout(resolve, 100))")
            status = self.driver.finish().status
            self.assertIn(status, ("ok", "interrupted"))
            quiet = quiet + 1 if status == "ok" else 0
            if quiet == 3:
                return
        self.fail("interrupts go on coming")

    def lives(self):
        self.assertEqual(self.value("41 + 1"), "42")

    def test_declarations_last_and_may_be_repeated(self):
        self.assertEqual(self.driver.ready["language"], "node")
        self.run_code("const a = 1; let b = 2; class C { get v() { return 3; } } function f() { return 4; } var d = 5")
        reply = self.run_code("a + b + new C().v + f() + d")
        self.assertEqual((reply.value, reply.begin["n"]), ("15", 2))
        self.assertEqual(self.value("const a = 10; a + b"), "12")
        self.assertEqual(self.value("f() + a"), "14")

    def test_values(self):
        for code, text in (("'a' + 1", "'a1'"), ("null", "null"), ("undefined", None), ("let q = 5", None), ("", None),
                           ("{a: 1}", "{ a: 1 }"), ("{ let x = 2; x }", "2"), ("[1, [2]]", "[ 1, [ 2 ] ]"), ("NaN", "NaN"),
                           ("-0", "-0"), ("12n ** 20n", "3833759992447475122176n"), ("Symbol('s')", "Symbol(s)"),
                           ("new Map([[1, {a: 2}]])", "Map(1) { 1 => { a: 2 } }"), ("5;", "5"), ("5 // c", "5"),
                           ("(() => 1)", "[Function (anonymous)]"), ("[] instanceof Array", "true"), ("'\\ud800é😀'", "'\\ud800é😀'"),
                           ("{ toString() { throw 1 } }", "{ toString: [Function: toString] }")):
            self.assertEqual(self.value(code), text, code)
        self.assertIn("inspecting it threw", self.value("({ [require('util').inspect.custom]() { throw new Error('x') } })"))
        self.assertLess(len(self.value("'x'.repeat(5e6)")), 1_100_000)

    def test_await(self):
        self.assertEqual(self.value("const v = await new Promise(r => setTimeout(() => r(7), 10)); v * 2"), "14")
        self.assertEqual(self.value("v"), "7")
        self.assertEqual(self.value("let sum = 0; for await (const x of [1, Promise.resolve(2)]) sum += x; sum"), "3")
        self.assertEqual(self.fails("await Promise.reject(new TypeError('no'))", "TypeError")["value"], "no")
        self.assertIn("Promise", self.value("Promise.resolve(1)"))

    def test_modules(self):
        self.run_code("const fs = require('fs'); fs.writeFileSync('m.js', 'exports.x = 5'); fs.writeFileSync('e.mjs', 'export const y = 6; export default 7')")
        self.assertEqual(self.value("require('./m').x"), "5")
        self.assertEqual(self.value("const { y, default: z } = await import('./e.mjs'); [y, z]"), "[ 6, 7 ]")
        self.assertEqual(self.value("(await import('node:path')).sep + (await import('fs')).constants.F_OK"), "'/0'")
        self.assertEqual(self.value("fs.mkdirSync('sub'); process.chdir('sub'); fs.writeFileSync('m.js', 'exports.x = 8'); require('./m').x"), "8")
        self.assertEqual(self.value("""'import("a")' + `import("b") ${typeof await import("fs")} import(` + /import("c")/.source /* import( */"""),
                         """'import("a")import("b") object import(import("c")'""")
        self.assertIn("await import", self.fails("import fs2 from 'fs'", "SyntaxError")["value"])
        self.fails("await import('./nothing.mjs')", "Error")

    def test_errors(self):
        self.run_code("function f(x) {\n  return x.y;\n}")
        error = self.fails("1\n\nf(null)", "TypeError")
        self.assertEqual(error["traceback"].splitlines()[1:], ["    at f (<cell 1>:2:12)", "    at <cell 2>:3:1"])
        error = self.fails("let x = 1;\nlet y = {;\n", "SyntaxError")
        self.assertTrue(error["traceback"].startswith("<cell 3>:2\nlet y = {;\n         ^\n"), error)
        self.assertEqual(self.fails("throw 5", "Number")["value"], "5")
        self.assertEqual(self.fails("throw null", "object")["value"], "null")
        self.fails("throw { get constructor() { throw 1 } }", "<no text: making it threw>")
        self.fails("const e = new Error('x'); Object.defineProperty(e, 'stack', { get() { throw 1 } }); throw e", "Error")
        self.assertIn("[cause]: Error: inner", self.fails("throw new Error('outer', { cause: new Error('inner') })", "Error")["traceback"])
        self.fails("(function r() { r() })()", "RangeError")
        text = self.value("const err = new TypeError('kept'); ({ err, list: [err] })")
        self.assertRegex(text, r"TypeError: kept\n +at <cell \d+>:1:13")
        self.assertNotRegex(text, "driver|inspector|vm|breakable|cell_")
        self.assertIn("'\\n    at x (<cell_1>'", self.value("'\\n    at x (<cell_1>'"))
        self.run_code("require('fs').writeFileSync('driver.js', 'exports.f = () => {\\n  throw new Error(1)\\n}')")
        self.assertIn("/driver.js:2:9", self.fails("require('./driver.js').f()", "Error")["traceback"])
        self.assertIn("leave `export` out", self.fails("export const one = 1", "SyntaxError")["value"])
        self.assertLess(len(self.fails("throw new Error('x'.repeat(1e7))", "Error")["traceback"]), 20000)
        self.lives()

    def test_output_keeps_its_order(self):
        reply = self.run_code("console.log('a'); console.error('e'); require('child_process').execSync('echo b', { stdio: 'inherit' }); process.stdout.write('c'); 1")
        self.assertEqual((reply.out, reply.err, reply.value), ("a\nb\nc", "e\n", "1"))
        self.assertEqual(len(self.run_code("for (let i = 0; i < 1000; i++) console.log('x'.repeat(999))").out), 1_000_000)

    def test_input(self):
        self.assertEqual(self.value("require('fs').readFileSync(0, 'utf8')", "l1\nl2"), "'l1\\nl2'")
        self.assertEqual(self.value("let t = ''; for await (const c of process.stdin) t += c; t", "é"), "'é'")
        self.assertEqual(self.value("require('fs').readFileSync('/dev/stdin').length"), "0")

    def test_exit(self):
        self.run_code("let x = 1")
        for code, status in (("process.exit(3)", 3), ("process.exit()", 0), ("try { process.exit(4) } catch {}\n5", 4),
                             ("setTimeout(() => process.exit(6), 10); await new Promise(() => {})", 6),
                             ("process.exitCode = 7; process.exit()", 7), ("await (async () => process.exit(8))()", 8)):
            reply = self.run_code(code)
            self.assertEqual((reply.status, reply.code), ("exit", status), code)
        self.assertEqual(self.value("x"), "1")

    def test_callbacks_after_the_end(self):
        first = self.run_code("setTimeout(() => { throw new Error('late') }, 20); setTimeout(() => Promise.reject(new Error('lost')), 20); setTimeout(() => { done = 1; process.exit(2) }, 30); var done = 0")
        time.sleep(0.3)
        reply = self.run_code("done")
        self.assertEqual(reply.value, "1")
        err = first.err + reply.err  # where the end was slow to come, they came before it
        self.assertIn("Uncaught Error: late", err)
        self.assertIn("Uncaught Error: lost", err)
        reply = self.run_code("Promise.reject(new Error('now')); 1")
        self.assertEqual((reply.status, reply.value), ("ok", "1"))
        self.assertIn("Uncaught Error: now", reply.err)

    def test_interrupts(self):
        for code in ("while (true);", "await new Promise(() => {})", "for (;;) await new Promise(r => setTimeout(r, 1))"):
            self.driver.send("var x = 5; console.log('on');\n" + code)
            self.driver.wait_for_output("on")
            self.driver.interrupt(0.1)
            reply = self.driver.finish()
            self.assertEqual((reply.status, reply.error["name"]), ("interrupted", "KeyboardInterrupt"), code)
            self.assertEqual(self.value("x"), "5")
        self.run_code("process.removeAllListeners('SIGINT')")
        for _ in range(3):
            self.driver.interrupt(0.02)
        time.sleep(0.1)
        self.lives()

    def test_interrupts_right_after_begin(self):
        for code in ("while (true);", "for (let i = 0; i < 1e6; i++); await new Promise(() => {})"):
            for _ in range(20):
                self.driver.send(code)
                self.assertEqual(self.driver.channel.receive()["ev"], "begin")
                self.assertEqual(self.driver.insist().status, "interrupted")
        self.settles()
        self.lives()

    def test_interrupt_storm(self):
        """At any moment: whole frames and one end, or a death that the host sees (README.md)."""
        for turn in range(60):
            self.driver.send("for (let i = 0; i < 1e6; i++); await null; 1")
            time.sleep(turn % 10 / 3000)
            os.killpg(self.driver.process.pid, signal.SIGINT)
            try:
                self.assertIn(self.driver.finish().status, ("ok", "interrupted"))
            except (EOFError, OSError):
                self.assertEqual(self.driver.process.wait(10), -signal.SIGINT)
                self.driver.close()
                self.driver = self.start()
                self.addCleanup(self.driver.close)
        self.settles()
        self.lives()

    def test_an_interrupt_in_the_instant_of_the_end_meets_no_later_cell(self):
        """Of 100 that come at about the end, node keeps some 6 for what it watches next."""
        for turn in range(120):
            self.driver.send("for (let i = 0; i < 3e5; i++); await null; 1")
            try:
                self.assertEqual(self.driver.channel.receive()["ev"], "begin")
                time.sleep(turn % 20 / 10000)
                os.killpg(self.driver.process.pid, signal.SIGINT)
                self.assertIn(self.driver.finish().status, ("ok", "interrupted"))
                self.driver.send("console.log(7)", interrupted=True)
                reply = self.driver.finish()
                self.assertEqual((reply.status, reply.out), ("ok", "7\n"), turn)
            except (EOFError, OSError):
                self.assertEqual(self.driver.process.wait(10), -signal.SIGINT)
                self.driver.close()
                self.driver = self.start()
                self.addCleanup(self.driver.close)

    def test_what_it_stands_on_is_replaced(self):
        for code in ("console.log = null", "JSON.stringify = JSON.parse = null", "process.exit = process.on = null; 1", "require('fs').writeSync = require('fs').readSync = null",
                     "Buffer.allocUnsafe = null; setImmediate = null; String.prototype.replace = null", "Object.defineProperty = null", "delete globalThis.require",
                     "Array.prototype.includes = Object.keys = null"):
            # It goes on, or it ends so that the host sees it; it never hangs.
            driver = self.start()
            try:
                driver.run(code)
                self.assertEqual(driver.run("41 + 1").value, "42", code)
            except (EOFError, OSError):
                self.assertEqual(driver.process.wait(10), 1, code)
            driver.close()

    def test_control_channel_is_not_inherited_nor_ours_in_sight(self):
        self.assertEqual(self.value("require('child_process').execSync('ls /proc/self/fd').toString().split('\\n')"), "[ '0', '1', '2', '3', '' ]")
        self.assertEqual(self.value("Object.keys(globalThis).filter(n => /sandglass|import|box/.test(n))"), "[]")
        self.assertEqual(self.value("process.argv.length"), "1")

    def test_ends(self):
        self.assertEqual(self.driver.close(), 0)
        for code, status in (("process.reallyExit(9)", 9), ("process.kill(process.pid, 'SIGKILL')", -9)):
            driver = self.start()
            driver.send(code)
            with self.assertRaises((EOFError, ConnectionResetError)):
                driver.finish()
            self.assertEqual(driver.process.wait(10), status)
            driver.close()
        for data in (frame_of(b"nonsense"), frame_of({"op": "other"}), b"\xff\xff\xff\xff", b"\x05\0"):
            driver = self.start()
            driver.channel.end.sendall(data)
            driver.channel.end.shutdown(socket.SHUT_WR)
            self.assertEqual(driver.process.wait(10), 0)
            driver.close()

    def test_large_requests_come_in_pieces(self):
        self.assertEqual(self.value("'%s'.length" % ("y" * 5_000_000)), "5000000")


if __name__ == "__main__":
    unittest.main()
