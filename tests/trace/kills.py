"""A server is killed twenty times under load, each time at another moment. After each start every line that is served is a
whole record, and every execution that was replied to is there.

    kills.py SANDGLASS
"""

import http.client
import json
import random
import re
import threading
import time
import unittest

from served import Server

KILLS = 20


class Load(threading.Thread):
    """Executes until the server is gone. Keeps what it was told."""

    def __init__(self, server, number):
        super().__init__()
        self.server = server
        self.number = number
        self.replied = []  # (container, execution, what it printed)
        self.container = None
        self.trouble = None

    def run(self):
        client = self.server.client()
        try:
            container = self.container = client.create()
            for turn in range(10 ** 6):
                if turn % 7 == 3:
                    client.upload(container, "in.bin", bytes([turn % 256]) * 5000)
                text = f"{self.number} {turn} " + "x" * (turn * 997 % 30000)
                done = client.execute(container, f"print({text!r})")
                self.replied.append((container, done["id"], done["stdout"]))
        except (OSError, http.client.HTTPException):
            pass  # it was killed
        except Exception as error:  # told by the test
            self.trouble = error
        finally:
            client.connection.close()


class Readers(threading.Thread):
    """Reads what is being written until the server is gone: whole lines, or none."""

    def __init__(self, server, loads):
        super().__init__()
        self.server = server
        self.loads = loads
        self.lines = 0
        self.trouble = None

    def run(self):
        client = self.server.client()
        try:
            while True:
                for load in self.loads:
                    if load.container:
                        self.lines += len(client.trace(load.container))
        except (OSError, http.client.HTTPException):
            pass  # it was killed, maybe in the middle of a reply
        except Exception as error:  # told by the test
            self.trouble = error
        finally:
            client.connection.close()


class Kills(unittest.TestCase):
    def check(self, server, replied):
        client = server.client()
        traces = {container: client.trace(container) for container in {one[0] for one in replied}}
        for container, execution, printed in replied:
            lines = [line for line in traces[container] if line["id"] == execution]
            self.assertEqual(len(lines), 1, f"{execution} was replied to and is not in the trace")
            self.assertEqual(lines[0]["stdout"]["text"], printed)
            self.assertEqual(lines[0]["session"], container)
        for lines in traces.values():
            for line in lines:
                self.assertIn(line["kind"], ("execute", "upload"))
        client.connection.close()
        return traces

    def test_nothing_is_lost(self):
        chance = random.Random(1)
        # Small files, so that kills hit rotation too; enough of them that none ages out.
        with Server("--trace-file-size", "256K", "--trace-files", "1000") as server:
            replied = []
            read = 0
            for kill in range(KILLS):
                with self.subTest(kill=kill):
                    loads = [Load(server, i) for i in range(3)]
                    reader = Readers(server, loads)
                    for thread in (*loads, reader):
                        thread.start()
                    end = time.monotonic() + 60
                    while not all(load.replied or load.trouble for load in loads) and time.monotonic() < end:
                        time.sleep(0.01)
                    time.sleep(chance.random() * 0.4)
                    server.kill()
                    for thread in (*loads, reader):
                        thread.join(60)
                        self.assertFalse(thread.is_alive())
                        self.assertIsNone(thread.trouble)
                    read += reader.lines
                    server.start()
                    # One of those before, too: a second crash must not harm what outlived the first.
                    self.check(server, [one for load in loads for one in load.replied] + replied[-1:])
                    replied += [one for load in loads for one in load.replied]
            self.assertGreater(len(replied), 100)
            self.assertGreater(read, 1000)
            self.check(server, replied)
            lines = [line for file in sorted(server.folder.glob("trace-*")) for line in file.read_bytes().split(b"\n")]
            self.assertGreater(len(list(server.folder.glob("trace-*"))), 2)
            ids = [json.loads(line)["id"] for line in lines if line]
            self.assertEqual(len(ids), len(set(ids)))

    def test_a_torn_line_is_dropped_and_said_once(self):
        with Server() as server:
            client = server.client()
            container = client.create()
            kept = client.execute(container, "1")["id"]
            client.connection.close()
            server.kill()
            file = server.folder / "trace-000001.jsonl"
            whole = file.read_bytes()
            for cut in (1, 40, 200, len(whole) - 2):
                file.write_bytes(whole + whole[:cut])
                server.log = ""
                server.start()
                client = server.client()
                self.assertEqual([line["id"] for line in client.trace(container)], [kept])
                client.connection.close()
                server.kill()
                self.assertEqual(len(re.findall(rf"cut short by a crash: its {cut} bytes are dropped", server.log)), 1)
                self.assertEqual(file.read_bytes(), whole)
            file.write_bytes(whole + b"\0" * 512 + b"\n" + whole)
            server.start()
            client = server.client()
            self.assertEqual([line["id"] for line in client.trace(container)], [kept, kept])
            client.connection.close()
            server.kill()
            self.assertIn("1 lines are no records and are not served", server.log)

    def test_always_on_disk_before_the_reply(self):
        with Server("--trace-sync", "always") as server:
            client = server.client()
            container = client.create()
            ids = [client.execute(container, str(i))["id"] for i in range(20)]
            client.call("POST", "/v1/evaluate", {"expression": "1+1"})
            client.connection.close()
            server.kill()
            server.start()
            client = server.client()
            self.assertEqual([line["id"] for line in client.trace(container)], ids)
            client.connection.close()


if __name__ == "__main__":
    unittest.main(argv=["kills.py"])
