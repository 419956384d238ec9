"""A server of the built program on a free loopback port, with its trace in a folder of its own, and a client. Standard
library only."""

import http.client
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import urllib.parse

PROGRAM = sys.argv[1] if len(sys.argv) > 1 else os.environ["SANDGLASS_BIN"]
PATIENCE = 60


class Server:
    """`options`: more words for serve. The folder of the trace outlives the server: start() again takes it over.
    `trace`: what --trace is given instead of it; an empty list: there is no --trace."""

    def __init__(self, *options, folder=None, before=None, trace=None):
        self.own = None if folder else tempfile.TemporaryDirectory(prefix="test-sandglass-")
        self.folder = pathlib.Path(folder or self.own.name) / "trace"
        trace = [str(self.folder)] if trace is None else trace
        self.options = [*(["--trace", *trace] if trace else []), *options]
        self.before = before
        self.log = ""
        self.start()

    def start(self):
        self.process = subprocess.Popen(
            [PROGRAM, "serve", "--listen", "127.0.0.1:0", *self.options],
            stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, preexec_fn=self.before)
        seen = []
        for line in self.process.stderr:
            seen.append(line)
            found = re.search(r"serving http://127\.0\.0\.1:(\d+)", line)
            if found:
                self.port = int(found[1])
                self.log = "".join(seen)
                return
        raise AssertionError("the server did not start: " + "".join(seen))

    def kill(self):
        self.process.kill()
        self.log += self.process.stderr.read()
        self.process.wait(PATIENCE)
        self.process.stderr.close()

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        self.log += self.process.stderr.read()
        assert self.process.wait(PATIENCE) == 0, self.log
        self.process.stderr.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.kill()
        if self.own:
            self.own.cleanup()

    def client(self, token=None):
        return Client(self.port, token)


class Client:
    def __init__(self, port, token=None):
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
        self.headers = {"Authorization": f"Bearer {token}"} if token else {}

    def raw(self, method, path, body=None, content_type="application/json"):
        headers = dict(self.headers)
        if body is not None:
            headers["Content-Type"] = content_type
        self.connection.request(method, path, body, headers)
        reply = self.connection.getresponse()
        return reply.status, reply.read(), reply.headers

    def call(self, method, path, body=None, status=200):
        got, data, _ = self.raw(method, path, None if body is None else json.dumps(body))
        assert got == status, f"{method} {path}: {got} {data[:300]!r}"
        return json.loads(data)

    def create(self, **wish):
        return self.call("POST", "/v1/containers", {"name": "test", **wish})["id"]

    def execute(self, container, code, **wish):
        return self.call("POST", f"/v1/containers/{container}/execute", {"code": code, **wish})

    def upload(self, container, name, content):
        path = f"/v1/containers/{container}/files?name={urllib.parse.quote(name)}"
        status, data, _ = self.raw("POST", path, content, "application/octet-stream")
        assert status == 200, data
        return json.loads(data)

    def trace(self, container, form="jsonl"):
        status, data, _ = self.raw("GET", f"/v1/containers/{container}/trace?format={form}")
        assert status == 200, f"trace of {container}: {status} {data[:300]!r}"
        if form != "jsonl":
            return data.decode()
        assert data == b"" or data.endswith(b"\n")
        return [json.loads(line) for line in data.decode().splitlines()]

    def counter(self, name, labels=""):
        _, data, _ = self.raw("GET", "/metrics")
        found = re.search(rf"^sandglass_{name}{re.escape(labels)} (\S+)$", data.decode(), re.MULTILINE)
        assert found, f"no {name}{labels} in /metrics"
        return float(found[1])


def replay(*words):
    """(exit code, what --json printed, stderr)"""
    done = subprocess.run([PROGRAM, "replay", "--json", *map(str, words)], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=600, check=False)
    return done.returncode, json.loads(done.stdout) if done.stdout else None, done.stderr
