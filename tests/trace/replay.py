"""Over 200 varied executions are recorded by a server and replayed: what is deterministic comes out the same, what asks
the time or for randomness comes out different, and what has changed since is said before anything runs.

    replay.py SANDGLASS
"""

import json
import unittest

import replay_table as table
from served import Server, replay


def verdicts(report):
    return {one["id"]: one for one in report["records"]}


class Replays(unittest.TestCase):
    maxDiff = None

    def record_all(self, server):
        """{id: whether it comes out the same}"""
        client = server.client()
        same = {}
        python = client.create()
        client.upload(python, "in.csv", b"a,b\n1,2\n3,4\n")
        for code, stdin, is_same in table.PYTHON:
            same[client.execute(python, code, **({} if stdin is None else {"stdin": stdin}))["id"]] = is_same
        for language, codes in (("node", table.NODE), ("bash", table.BASH)):
            session = client.create(language=language)
            for code in codes:
                same[client.execute(session, code)["id"]] = True
        for wish in table.ONCE:
            same[client.call("POST", "/v1/execute", wish)["id"]] = True
        for expression in table.EVALUATIONS:
            client.call("POST", "/v1/evaluate", {"expression": expression})
        return same

    def test_two_hundred(self):
        with Server() as server:
            same = self.record_all(server)
            server.stop()
            lines = [json.loads(line) for file in sorted(server.folder.glob("*.jsonl")) for line in file.open()]
            same.update({line["id"]: True for line in lines if line["kind"] == "evaluate"})
            self.assertGreater(len(same), 200)
            code, report, errors = replay(server.folder / "trace-000001.jsonl")
            self.assertEqual(report["problems"], [], errors)
            found = verdicts(report)
            self.assertEqual(found.keys(), same.keys())
            wrong = {one["title"]: (one["verdict"], one["text"], one["differences"]) for one in found.values()
                     if one["verdict"] != ("same" if same[one["id"]] else "different")}
            self.assertEqual(wrong, {})
            self.assertEqual(code, 1)
            for one in found.values():
                if one["verdict"] == "different":
                    first = one["differences"][0]
                    self.assertNotEqual(first["recorded"], first["now"])
            first = next(one for one in found.values() if one["title"] == "print(time.time_ns())")
            self.assertEqual(first["differences"][0]["what"], "stdout, line 1")

    def test_one_with_what_came_before(self):
        with Server() as server:
            client = server.client()
            session = client.create()
            client.execute(session, "x = 20")
            client.upload(session, "n.txt", b"22")
            wanted = client.execute(session, "x + int(open('n.txt').read())")["id"]
            client.execute(session, "1/0")
            text = "".join(json.dumps(line) + "\n" for line in client.trace(session))
            server.stop()
            for record in ([wanted, "--trace", server.folder], [server.folder / "trace-000001.jsonl:3"]):
                code, report, errors = replay(*record)
                self.assertEqual((code, report["same"], report["different"]), (0, 2, 0), errors)
                self.assertEqual(report["records"][-1]["id"], wanted)
            code, report, _ = replay(session, "--trace", server.folder)
            self.assertEqual((code, report["same"]), (0, 3))
            code, report, _ = replay("--alone", wanted, "--trace", server.folder)
            self.assertEqual((code, report["different"]), (1, 1))
            self.assertEqual(report["records"][0]["differences"][0]["what"], "the outcome")
            saved = server.folder / "saved"
            saved.write_text(text)
            self.assertEqual(replay(saved, "--trace", server.folder)[0], 0)
            saved.write_text("".join(text.splitlines(keepends=True)[1:]))
            code, report, errors = replay(saved, "--trace", server.folder)
            self.assertEqual(code, 4)
            self.assertIn("these records are missing: 1", errors)

    def test_what_has_changed_is_said_before(self):
        with Server() as server:
            client = server.client()
            session = client.create()
            client.upload(session, "n.txt", b"22")
            client.execute(session, "open('n.txt').read()")
            server.stop()
            file = server.folder / "trace-000001.jsonl"
            kept = next((server.folder / "inputs").iterdir())
            kept.write_bytes(b"23")
            code, report, errors = replay(file)
            self.assertEqual((code, report["records"]), (4, []))
            self.assertIn("the input /mnt/data/n.txt (sha256 785f3ec7eb32) has changed", errors)
            kept.unlink()
            code, report, errors = replay(file)
            self.assertEqual(code, 4)
            self.assertIn("is gone: it is not in", report["problems"][0])
            self.assertEqual(replay(file, "--anyway")[0], 1)
            kept.write_bytes(b"22")
            self.assertEqual(replay(file)[0], 0)
            text = file.read_text()
            policy = json.loads(text.splitlines()[0])["policy"]["sha256"]
            file.write_text(text.replace(policy, "0" * 64))
            code, report, errors = replay(file)
            self.assertEqual(code, 4)
            self.assertIn("the policy standard has changed: sha256 000000000000 was recorded", errors)
            code, report, _ = replay(file, "--anyway")
            self.assertEqual((code, report["same"]), (0, 1))

    def test_what_was_stopped_is_skipped(self):
        with Server() as server:
            client = server.client()
            session = client.create()
            client.execute(session, "while True: pass", timeout_s=0.5)
            client.execute(session, "1")
            held = server.client()
            body = json.dumps({"code": "print('go', flush=True)\nimport time\ntime.sleep(60)", "stream": True})
            held.connection.request("POST", f"/v1/containers/{session}/execute", body,
                                    {"Content-Type": "application/json"})
            reply = held.connection.getresponse()
            while b"go" not in reply.readline():
                pass
            client.call("POST", f"/v1/containers/{session}/interrupt")
            reply.read()
            server.stop()
            code, report, errors = replay(session, "--trace", server.folder)
            self.assertEqual((code, report["same"], report["skipped"]), (0, 2, 1), errors)
            self.assertIn("stopped (interrupted)", report["records"][2]["text"])

    def test_what_is_no_record(self):
        with Server() as server:
            server.stop()
            bad = server.folder / "bad"
            bad.write_text('{"id": 1}\n')
            code, _, errors = replay(bad)
            self.assertEqual(code, 125)
            self.assertIn("line 1: this is no line of a trace", errors)
            self.assertEqual(replay("exec_0", "--trace", server.folder)[0], 125)
            self.assertEqual(replay("exec_0")[0], 125)
            self.assertEqual(replay(server.folder / "nothing")[0], 125)


if __name__ == "__main__":
    unittest.main(argv=["replay.py"])
