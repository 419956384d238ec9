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


def client_text(folder):
    """The last record's first result."""
    last = json.loads((folder / "trace-000001.jsonl").read_text().splitlines()[-1])
    return last["results"][0]["data"]["text/plain"]["text"]


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
            self.assertGreater(sum(same.values()), 200)  # executions that are to come out the same
            server.stop()
            lines = [json.loads(line) for file in sorted(server.folder.glob("*.jsonl")) for line in file.open()]
            same.update({line["id"]: True for line in lines if line["kind"] == "evaluate"})
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

    def test_a_record_that_was_edited(self):
        with Server() as server:
            client = server.client()
            session = client.create()
            client.execute(session, "print(1.5)\n2.5")
            server.stop()
            file = server.folder / "trace-000001.jsonl"
            line = json.loads(file.read_text())

            def edited(text, *names, **wish):
                changed = json.loads(json.dumps(line))
                at = changed
                for name in names[:-1]:
                    at = at[name]
                at[names[-1]] = text
                file.write_text(json.dumps(changed) + "\n")
                return replay(file, *wish.get("words", ()))

            for names, what in (
                    (("code",), "the code"), (("code_sha256",), "the code"), (("stdout", "text"), "stdout"),
                    (("stdout", "sha256"), "stdout"),
                    (("results", 0, "data", "text/plain", "text"), "result 1 as text/plain")):
                with self.subTest(names=names):
                    code, report, _ = edited("3.5", *names)
                    self.assertEqual((code, report["records"]), (4, []))
                    self.assertEqual(report["problems"], [
                        f"{what} of the record {line['id']} has been edited: it is not what its sha256 says"])
            # Nor is it the same where all hashes but one fit.
            code, report, _ = edited("3.5", "results", 0, "data", "text/plain", "text", words=["--anyway"])
            self.assertEqual((code, report["different"]), (1, 1))
            self.assertEqual(report["records"][0]["differences"],
                             [{"what": "result 1 as text/plain, line 1", "recorded": "3.5", "now": "2.5"}])
            for names in (("usage", "wall_ms"), ("truncated", "stdout"), ("exit_code",)):
                code, _, errors = edited(10 ** 18, *names) if names == ("exit_code",) else edited("x", *names)
                self.assertEqual(code, 125)
                self.assertIn(f'"{names[-1]}" is missing or makes no sense', errors)

    def test_numbers_of_records(self):
        with Server() as server:
            client = server.client()
            session = client.create()
            for i in range(8):
                client.execute(session, f"x = {i}")
            client.call("POST", "/v1/execute", {"code": "print(1)"})
            server.stop()
            file = server.folder / "trace-000001.jsonl"
            lines = [json.loads(line) for line in file.open()]

            def told(records):
                file.write_text("".join(json.dumps(one) + "\n" for one in records))
                return replay(file)[1]

            missing = told([lines[i] for i in (1, 3, 6, 7)])["problems"]
            self.assertEqual(len(missing), 1)
            self.assertIn(f"of session {session} these records are missing: 1, 3, 5, 6;", missing[0])
            last = dict(lines[7], seq=2 ** 63)
            self.assertIn(f"missing: 8 to {2 ** 63 - 1};", told([*lines[:7], last])["problems"][0])
            self.assertEqual(told([*lines[:8], *lines[:8]])["same"], 8)  # what stands in two files is one
            other = dict(lines[1], id="exec_2")
            self.assertEqual(told([*lines[:8], other])["problems"],
                             [f"of session {session} two different records have the number 2"])
            # Whatever its line says, what ran in a jail of its own runs in one, and none is left out.
            strange = dict(lines[8], session=session, seq=9)
            report = told([*lines[:8], strange])
            self.assertEqual([one["kind"] for one in report["records"]], ["execute"] * 8 + ["once"])
            self.assertEqual(report["same"], 9)

    def test_a_file_removed_among_many(self):
        with Server() as server:
            client = server.client()
            session = client.create()
            files = [client.upload(session, f"{i}.txt", b"x")["id"] for i in range(130)]
            client.call("DELETE", f"/v1/containers/{session}/files/{files[120]}")
            client.execute(session, "import os; '120.txt' in os.listdir('.'), len(os.listdir('.'))")
            server.stop()
            code, report, errors = replay(session, "--trace", server.folder)
            self.assertEqual((code, report["same"]), (0, 1), (errors, report))
            self.assertEqual(client_text(server.folder), "(False, 129)")

    def test_records_with_strange_paths(self):
        with Server() as server:
            client = server.client()
            session = client.create()
            client.upload(session, "n.txt", b"22")
            client.execute(session, "import os; sorted(os.listdir('/mnt/data'))")
            server.stop()
            file = server.folder / "trace-000001.jsonl"
            upload, line = [json.loads(one) for one in file.open()]
            strange = {"../../etc/n.txt": "it did not come to ../../etc/n.txt",
                       "/etc/n.txt": "it did not come to /etc/n.txt",
                       "/mnt/data/..": "a file needs a name", "": "a file needs a name",
                       "/mnt/data/a\0b": "the name has a zero byte",
                       "/mnt/data/" + "x" * 300: "the name is longer than 255 bytes"}
            text = ""
            for number, path in enumerate(strange):
                upload["inputs"][0]["path"] = path
                for one in (upload, line):
                    text += json.dumps(dict(one, session=f"cntr_{number}")) + "\n"
            file.write_text(text)
            code, report, _ = replay(file)
            self.assertEqual((code, report["failed"]), (125, 6))
            self.assertEqual([one["text"] for one in report["records"] if one["kind"] == "upload"], [*strange.values()])
            upload["inputs"][0]["sha256"] = "../../trace-000001.jsonl"
            file.write_text(json.dumps(upload) + "\n")
            self.assertIn("is gone: it is not in", replay(file)[1]["problems"][0])

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
