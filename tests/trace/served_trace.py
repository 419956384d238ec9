"""What a server's trace says, shows and keeps quiet about.

    served_trace.py SANDGLASS
"""

import hashlib
import json
import os
import pathlib
import resource
import select
import stat
import subprocess
import tempfile
import unittest

import nbformat

from served import PROGRAM, Server, replay

TOKEN = "a-token-that-must-stay-secret"
BARE = "another-token-without-a-name"


def sha256(text):
    return hashlib.sha256(text if isinstance(text, bytes) else text.encode()).hexdigest()


class Trace(unittest.TestCase):
    maxDiff = None

    def test_every_member(self):
        with Server() as server:
            client = server.client()
            session = client.create()
            client.upload(session, "in.csv", b"a,b")
            code = "# What it costs\nprint('caf\u00e9')\nopen('out.txt', 'w').write(open('in.csv').read() + input())\n42"
            done = client.execute(session, code, stdin="!\n", timeout_s=5)
            upload, line = client.trace(session)
            self.assertEqual(upload["kind"], "upload")
            self.assertEqual(upload["inputs"], [{"path": "/mnt/data/in.csv", "sha256": sha256("a,b"), "bytes": 3}])
            self.assertEqual(line["id"], done["id"])
            self.assertRegex(line["time"], r"^20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$")
            self.assertEqual((line["session"], line["owner"], line["seq"]), (session, "", 2))
            self.assertEqual((line["kind"], line["decided_by"], line["ending"]), ("execute", "code", "ok"))
            self.assertEqual((line["title"], line["language"]), ("What it costs", "python"))
            self.assertEqual((line["code"], line["code_sha256"]), (code, sha256(code)))
            self.assertEqual((line["input"], line["timeout_ms"]), ("!\n", 5000))
            self.assertEqual(line["inputs"], upload["inputs"])
            self.assertEqual(line["outputs"], [{"path": "/mnt/data/out.txt", "sha256": sha256("a,b!"), "bytes": 4}])
            self.assertEqual(line["stdout"], {"text": "caf\u00e9\n", "bytes": 6, "sha256": sha256("caf\u00e9\n")})
            self.assertIsNone(line["stderr"])
            self.assertEqual(line["results"][0]["data"]["text/plain"]["text"], "42")
            self.assertEqual((line["outcome"], line["exit_code"], line["error"]), ("ok", 0, None))
            self.assertEqual((line["policy"]["name"], len(line["policy"]["sha256"])), ("standard", 64))
            self.assertEqual(line["usage"]["wall_ms"], done["usage"]["wall_ms"])
            self.assertEqual(line["denied"], [])

    def test_five_words(self):
        with Server() as server:
            client = server.client()
            session = client.create()
            words = [
                ("failure", "1/0"), ("failure", "import os; os._exit(3)"), ("timeout", "while True: pass"), ("ok", "1")]
            for ending, code in words:
                wish = {"timeout_s": 0.5} if ending == "timeout" else {}
                reply = client.execute(session, code, **wish)
                self.assertEqual(reply["ending"], ending, reply)
                self.assertEqual(client.trace(session)[-1]["ending"], ending)
            hungry = client.create()
            reply = client.execute(hungry, "x = bytearray(8 << 30); x[::4096] = b'1' * len(x[::4096])")
            # Without a cgroup the kernel tells the code, which raises.
            eaten = "failure" if reply["outcome"] == "raised" else "refusal"
            self.assertEqual(reply["ending"], eaten, reply)
            self.assertEqual(client.trace(hungry)[-1]["ending"], eaten)
            denied = client.execute(session, "import socket\ntry: socket.socket()\nexcept OSError: pass")
            self.assertEqual((denied["ending"], denied["denied"][0]["syscall"]), ("ok", "socket"))
            self.assertEqual(client.trace(session)[-1]["denied"], denied["denied"])
            self.assertEqual(client.counter("refused_calls_total"), denied["denied"][0]["count"])
            for expression in ("1+1", "NONE", "", "f()"):
                client.call("POST", "/v1/evaluate", {"expression": expression})
            client.call("POST", f"/v1/containers/{session}/execute", {"code": "1", "language": "node"}, status=400)
            line = client.trace(session)[-1]
            self.assertEqual((line["ending"], line["ran"], line["outcome"]), ("refusal", False, "refused"))
            client.call("POST", "/v1/containers", {"policy": "none-of-ours"}, status=400)
            endings = [eaten, *(line["ending"] for line in client.trace(session))]
            for ending, name in (("failure", "failures"), ("timeout", "timeouts"), ("refusal", "refusals")):
                self.assertEqual(client.counter(f"{name}_total", '{of="execution"}'), endings.count(ending))
            self.assertEqual(client.counter("declines_total", '{of="evaluation"}'), 2)
            self.assertEqual(client.counter("refusals_total", '{of="evaluation"}'), 1)
            self.assertEqual(client.counter("refusals_total", '{of="create"}'), 1)
            self.assertEqual(client.counter("errors_total", '{of="execution"}'), 0)
            self.assertEqual(client.counter("execute_duration_seconds_count"), len(endings) - 1)
            self.assertEqual(client.counter("create_duration_seconds_count"), 2)
            server.stop()
            lines = [json.loads(line) for line in (server.folder / "trace-000001.jsonl").open()]
            evaluated = [(line["code"], line["decided_by"], line["ending"]) for line in lines if line["kind"] == "evaluate"]
            self.assertEqual(evaluated, [("1+1", "code", "ok"), ("NONE", "model", "decline"), ("", "model", "decline"),
                                         ("f()", "code", "refusal")])

    def test_refused_creations(self):
        with Server() as server:
            client = server.client()
            for _ in range(100):
                client.call("POST", "/v1/containers", {"policy": "none-of-ours", "language": "node"}, status=400)
            self.assertEqual(client.counter("refusals_total", '{of="create"}'), 100)
            server.stop()
            lines = [json.loads(line) for line in (server.folder / "trace-000001.jsonl").open()]
            self.assertEqual(len(lines), 60)  # a minute: whoever asks without end fills nothing
            first = lines[0]
            self.assertEqual((first["kind"], first["ending"], first["outcome"]), ("create", "refusal", "refused"))
            self.assertEqual((first["policy"]["name"], first["language"]), ("none-of-ours", "node"))
            self.assertEqual((first["session"], first["seq"], first["decided_by"]), ("", 0, "code"))
            self.assertIn("none-of-ours", first["text"])
            self.assertTrue(lines[-1]["text"].endswith("more of them in this minute are counted, and not written"))
            code, report, said = replay(server.folder / "trace-000001.jsonl")
            self.assertEqual((code, report["records"]), (4, []), said)

    def test_notebook_and_page(self):
        with Server() as server:
            client = server.client()
            session = client.create()
            client.upload(session, "in.csv", b"a,b")
            client.execute(session, "print('```\\n# no heading')\nimport sys; print('e', file=sys.stderr)")
            client.execute(session, "import matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.show()")
            client.execute(session, "import pandas as pd\npd.DataFrame({'a': [1]})")
            client.execute(session, "1/0")
            client.execute(session, "while True: pass", timeout_s=0.3)
            client.execute(session, "print('x' * 100000)")
            text = client.trace(session, "ipynb")
            notebook = nbformat.reads(text, as_version=4)
            nbformat.validate(notebook)
            kinds = [[output["output_type"] for output in cell.get("outputs", [])] for cell in notebook.cells]
            self.assertEqual(kinds[:5], [[], ["stream", "stream"], ["display_data"], ["execute_result"], ["error"]])
            self.assertEqual(kinds[5][-1], "error")
            self.assertIn("data.csv".replace("data", "in"), notebook.cells[0]["source"])
            self.assertTrue(notebook.cells[2]["outputs"][0]["data"]["image/png"].startswith("iVBOR"))
            self.assertIn("<table", notebook.cells[3]["outputs"][0]["data"]["text/html"])
            self.assertEqual(notebook.cells[4]["outputs"][0]["ename"], "ZeroDivisionError")
            self.assertIn("100001 bytes in all", notebook.cells[6]["outputs"][0]["text"])
            page = client.trace(session, "md")
            self.assertIn("````\n```\n# no heading\n````", page)
            self.assertIn("![picture](data:image/png;base64,iVBOR", page)
            self.assertIn("Ended: timeout (timed\\_out)", page)
            empty = nbformat.reads(client.trace(client.create(), "ipynb"), as_version=4)
            nbformat.validate(empty)
            self.assertEqual(empty.cells, [])
            client.call("GET", f"/v1/containers/{session}/trace?format=pdf", status=400)
            wrong = client.call("GET", f"/v1/containers/{session}/trace?after=exec_0", status=400)
            self.assertEqual(wrong["error"]["param"], "after")
            client.call("GET", "/v1/containers/cntr_0/trace", status=404)

    def test_what_is_asked_behind_an_upload(self):
        """Without waiting for its answer: the code finds the file, and the trace has both in this order."""
        content = "".join(f"{i}\n" for i in range(800_000))
        with tempfile.TemporaryDirectory(prefix="test-sandglass-") as own:
            with subprocess.Popen([PROGRAM, "mcp", "--trace", f"{own}/t", "--trace-sync", "always"],
                                  stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as mcp:
                def ask(number, method, **params):
                    print(json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}),
                          file=mcp.stdin, flush=True)

                def call(number, name, **arguments):
                    ask(number, "tools/call", name=name, arguments=arguments)

                ask(1, "initialize", protocolVersion="2025-11-25")
                call(2, "execute_code", code="1")
                mcp.stdout.readline()
                session = json.loads(mcp.stdout.readline())["result"]["structuredContent"]["session_id"]
                call(3, "write_file", path="large", content=content, session_id=session)
                call(4, "execute_code", code="len(open('large').read())", session_id=session)
                answers = [json.loads(mcp.stdout.readline()) for _ in range(2)]
                mcp.stdin.close()
            # The code's answer waits for the file to be kept, too.
            self.assertEqual([answer["id"] for answer in answers], [3, 4])
            self.assertEqual(answers[1]["result"]["structuredContent"]["results"][0]["text"], str(len(content)))
            lines = [json.loads(line) for line in open(f"{own}/t/trace-000001.jsonl")]
            self.assertEqual([(line["seq"], line["kind"]) for line in lines],
                             [(1, "execute"), (2, "upload"), (3, "execute")])
            self.assertEqual([file["sha256"] for file in lines[2]["inputs"]], [sha256(content)])
            self.assertEqual(pathlib.Path(own, "t/inputs", sha256(content)).read_text(), content)

    def test_who_asks_for_a_large_trace_holds_nobody_up(self):
        with Server() as server:
            client, other = server.client(), server.client()
            session = client.create()
            for _ in range(20):
                client.execute(session, "'r' * 1_000_000")
            for form in ("ipynb", "md", "jsonl"):
                for _ in range(20):
                    client.connection.request("GET", f"/v1/containers/{session}/trace?format={form}")
                    other.call("GET", "/healthz")
                    # It was asked for first, and is still being made.
                    waits = not select.select([client.connection.sock], [], [], 0)[0]
                    reply = client.connection.getresponse()
                    self.assertGreater(len(reply.read()), 20_000_000)
                    if waits:
                        break
                self.assertTrue(waits, form)

    def test_tokens_stay_out_and_owners_apart(self):
        with tempfile.TemporaryDirectory(prefix="test-sandglass-") as own:
            tokens = os.path.join(own, "tokens")
            with open(tokens, "w", opener=lambda path, flags: os.open(path, flags, 0o600)) as file:
                file.write(f"someone:{TOKEN}\n{BARE}\n")
            with Server("--token-file", tokens, folder=own) as server:
                one, two = server.client(TOKEN), server.client(BARE)
                mine, theirs = one.create(), two.create()
                one.execute(mine, "1")
                two.execute(theirs, "2")
                self.assertNotEqual(one.trace(mine)[0]["owner"], two.trace(theirs)[0]["owner"])
                one.call("GET", f"/v1/containers/{theirs}/trace", status=404)
                one.call("DELETE", f"/v1/containers/{mine}")
                self.assertEqual(one.trace(mine)[0]["code"], "1")  # a deleted container leaves its trace
                two.call("GET", f"/v1/containers/{mine}/trace", status=404)
                two.raw("GET", "/healthz?" + BARE)
                server.stop()
                server.start()
                one, two = server.client(TOKEN), server.client(BARE)
                self.assertEqual(one.trace(mine)[0]["code"], "1")  # and so does one of a server before
                two.call("GET", f"/v1/containers/{mine}/trace", status=404)
                server.stop()
                everything = server.log.encode() + b"".join(
                    file.read_bytes() for file in server.folder.rglob("*") if file.is_file())
                for secret in (TOKEN, BARE):
                    self.assertNotIn(secret.encode(), everything)
                for path in [server.folder, *server.folder.rglob("*")]:
                    mode = stat.S_IMODE(path.stat().st_mode)
                    self.assertEqual(mode, 0o700 if path.is_dir() else 0o600, path)

    def test_what_is_large_is_cut_and_hashed(self):
        with Server() as server:
            client = server.client()
            session = client.create()
            client.execute(session, "print('é' * 50000); raise ValueError('v' * 200000)")
            client.execute(session, "'r' * (1 << 20)")
            first, second = client.trace(session)
            self.assertEqual(first["stdout"]["sha256"], sha256("é" * 50000 + "\n"))
            self.assertEqual(first["stdout"]["bytes"], 100001)
            self.assertEqual(first["stdout"]["text"], "é" * 32768)
            self.assertLessEqual(len(first["error"]["value"]), 65536)
            result = second["results"][0]["data"]["text/plain"]
            self.assertEqual(len(result["sha256"]), 64)
            self.assertIn(len(result["text"]), (0, result["bytes"]))

    def full(self, how):
        """A server whose files may hold 64 KiB: write(2) then fails, as on a full disk."""
        limit = 64 << 10
        return Server("--trace-full", how, "--trace-file-size", "1M",
                      before=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY)))

    def make_room(self, server):
        resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))

    def test_full_and_going_on(self):
        with self.full("go-on") as server:
            client = server.client()
            session = client.create()
            done = [client.execute(session, f"print('{i}' * 9000)")["id"] for i in range(1, 10)]
            lost = client.counter("trace_lost_total")
            self.assertGreater(lost, 0)
            self.assertEqual([line["id"] for line in client.trace(session)], done[:9 - int(lost)])
            self.make_room(server)
            done.append(client.execute(session, "1")["id"])
            self.assertEqual(client.trace(session)[-1]["id"], done[-1])
            server.stop()
            self.assertEqual(server.log.count("cannot be written: EFBIG"), 1, server.log)
            self.assertEqual(server.log.count(f"{int(lost)} records were lost"), 1)
            gaps = [json.loads(line) for line in (server.folder / "trace-000001.jsonl").open()]
            self.assertEqual([line["lost"] for line in gaps if line["kind"] == "gap"], [lost])

    def test_full_and_stopping(self):
        with self.full("stop") as server:
            client = server.client()
            session = client.create()
            status = 200
            for turn in range(20):
                status, data, headers = client.raw("POST", f"/v1/containers/{session}/execute",
                                                   json.dumps({"code": f"print('{turn % 10}' * 9000)"}))
                if status != 200:
                    break
            self.assertEqual(client.counter("trace_lost_total"), 1)
            self.assertEqual(status, 503)
            self.assertIn(b"the trace cannot be written", data)
            self.assertEqual(headers["Retry-After"], "5")
            client.call("POST", "/v1/containers", {"name": "a"}, status=503)
            client.call("POST", "/v1/execute", {"code": "1"}, status=503)
            client.call("POST", "/v1/evaluate", {"expression": "1"}, status=503)
            self.assertEqual(client.raw("POST", f"/v1/containers/{session}/files?name=a", b"1",
                                        "application/octet-stream")[0], 503)
            self.assertGreater(client.counter("errors_total", '{of="execution"}'), 0)
            self.make_room(server)
            done = client.execute(session, "1")
            self.assertEqual(client.trace(session)[-1]["id"], done["id"])

    def test_what_runs_at_the_end_is_recorded(self):
        with Server() as server:
            held = server.client()
            session = held.create()
            body = json.dumps({"code": "print('go', flush=True)\nimport time\ntime.sleep(60)", "stream": True})
            held.connection.request("POST", f"/v1/containers/{session}/execute", body,
                                    {"Content-Type": "application/json"})
            reply = held.connection.getresponse()
            while b"go" not in reply.readline():
                pass
            server.stop()
            line = json.loads((server.folder / "trace-000001.jsonl").read_text())
            self.assertEqual((line["ending"], line["outcome"], line["ran"]), ("stopped", "killed", True))
            self.assertEqual((line["text"], line["stdout"]["text"]), ("the server is shutting down", "go\n"))

    def test_without_a_folder(self):
        for words, kept in (([], True), (["off"], False)):
            with Server(folder="/nowhere", trace=words) as server:
                client = server.client()
                session = client.create()
                client.execute(session, "6 * 7")
                if kept:
                    self.assertEqual(client.trace(session)[0]["code"], "6 * 7")
                else:
                    reply = client.call("GET", f"/v1/containers/{session}/trace", status=404)
                    self.assertIn("--trace off", reply["error"]["message"])
                self.assertEqual(client.counter("ok_total", '{of="execution"}'), 1)
                server.stop()

    def test_rotation_is_said(self):
        with Server("--trace-file-size", "20K", "--trace-files", "2") as server:
            client = server.client()
            session = client.create()
            for i in range(12):
                client.execute(session, f"print('{i}' * 4000)")
            self.assertEqual(len(list(server.folder.glob("trace-*"))), 2)
            gone = client.counter("trace_aged_out_total")
            self.assertGreater(gone, 0)
            seqs = [line["seq"] for line in client.trace(session)]
            self.assertEqual(seqs, list(range(int(gone) + 1, 13)))
            server.stop()
            self.assertIn("trace-000001.jsonl with", server.log)
            self.assertIn("records is removed: there are more than 2 files", server.log)

    def test_two_servers_do_not_share_a_folder(self):
        with Server() as server:
            with self.assertRaisesRegex(AssertionError, "another server writes its trace"):
                Server(folder=server.own.name)
            server.folder.chmod(0o755)
            server.stop()
            with self.assertRaisesRegex(AssertionError, "chmod 700"):
                Server(folder=server.own.name)
            server.folder.chmod(0o700)


if __name__ == "__main__":
    unittest.main(argv=["served_trace.py"])
