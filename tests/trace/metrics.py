"""What /metrics of a server says is true, and is what Prometheus reads.

    metrics.py SANDGLASS
"""

import json
import re
import time
import unittest

from served import PATIENCE, Server


class Levels(unittest.TestCase):
    def test_metrics_are_true_and_can_be_scraped(self):
        with Server() as server:
            client = server.client()
            self.assertEqual(client.counter("sessions"), 0)
            first, second, third = (client.create() for _ in range(3))
            held = server.client()
            body = json.dumps({"code": "print('go', flush=True)\nimport time\ntime.sleep(60)", "stream": True})
            held.connection.request("POST", f"/v1/containers/{first}/execute", body, {"Content-Type": "application/json"})
            reply = held.connection.getresponse()
            while b"go" not in reply.readline():
                pass
            client.call("DELETE", f"/v1/containers/{third}")
            levels = [client.counter(name) for name in ("sessions", "sessions_created_total", "executions_running")]
            self.assertEqual(levels, [2, 3, 1])
            self.assertEqual(client.counter("ok_total", '{of="create"}'), 3)
            pool = '{policy="standard",language="python",state="%s"}'
            end = time.monotonic() + PATIENCE
            while client.counter("pool_interpreters", pool % "starting") or not client.counter(
                    "pool_interpreters", pool % "ready"):
                self.assertLess(time.monotonic(), end)
                time.sleep(0.05)
            self.assertEqual(client.counter("pool_interpreters", pool % "waited_for"), 0)
            client.execute(second, "1")
            client.call("POST", f"/v1/containers/{first}/interrupt")
            reply.read()
            self.assertEqual(client.counter("executions_running"), 0)
            self.assertEqual(client.counter("stopped_total", '{of="execution"}'), 1)

            families, buckets, counts = {}, {}, {}
            for line in client.raw("GET", "/metrics")[1].decode().splitlines():
                if line.startswith("# TYPE "):
                    name, kind = line[7:].split()
                    self.assertNotIn(name, families)
                    families[name] = kind
                    continue
                found = re.fullmatch(r'(sandglass_\w+?)(_bucket|_sum|_count)?(\{\w+="[^"]*"(,\w+="[^"]*")*\})? ([\d.e+-]+)', line)
                if line.startswith("# HELP "):
                    continue
                self.assertTrue(found, line)
                name, part, value = found[1], found[2], float(found[5])
                self.assertEqual(families.get(name) == "histogram", bool(part), line)
                if part == "_bucket":
                    buckets.setdefault(name, []).append(value)
                elif part == "_count":
                    counts[name] = value
            self.assertEqual(sorted(buckets), ["sandglass_create_duration_seconds", "sandglass_execute_duration_seconds",
                                               "sandglass_http_request_duration_seconds"])
            for name, values in buckets.items():
                self.assertEqual(values, sorted(values))
                self.assertEqual(values[-1], counts[name])
            self.assertEqual(counts["sandglass_create_duration_seconds"], 3)
            self.assertEqual(counts["sandglass_execute_duration_seconds"], 2)


if __name__ == "__main__":
    unittest.main(argv=["metrics.py"])
