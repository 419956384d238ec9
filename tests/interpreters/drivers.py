"""Runs a driver as the host does: a socket pair for control, pipes for the three streams."""

import json
import os
import pathlib
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
import unittest

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "runner" / "interpreters"
PYTHON = "/usr/bin/python3" if os.path.exists("/usr/bin/python3") else sys.executable
PATIENCE = 20  # seconds; a driver that hangs fails its test


def has(*modules):
    """Whether the tested Python, not necessarily this one, has the modules."""
    line = "import " + ", ".join(modules)
    return subprocess.run([PYTHON, "-c", line], capture_output=True).returncode == 0


def frame_of(message):
    data = message if isinstance(message, bytes) else json.dumps(message).encode()
    return struct.pack("<I", len(data)) + data


class Channel:
    def __init__(self, end):
        end.settimeout(PATIENCE)
        self.end = end
        self._buffer = b""

    def receive(self):
        """The next frame; EOFError at the end."""
        while True:
            if len(self._buffer) >= 4:
                (size,) = struct.unpack("<I", self._buffer[:4])
                if len(self._buffer) >= 4 + size:
                    data, self._buffer = self._buffer[4:4 + size], self._buffer[4 + size:]
                    return json.loads(data.decode("ascii"))
            more = self.end.recv(1 << 20)
            if not more:
                raise EOFError
            self._buffer += more


class Reply:
    """All frames of one execution and what came on the pipes meanwhile."""

    def __init__(self, frames, out, err):
        self.frames, self.out, self.err = frames, out, err
        self.begin, self.end = frames[0], frames[-1]
        self.status, self.code = self.end["status"], self.end["code"]
        self.results = [f for f in frames if f["ev"] == "result"]
        self.error = next((f for f in frames if f["ev"] == "error"), None)

    @property
    def value(self):
        """text/plain of the last expression."""
        main = [f for f in self.results if f["main"]]
        return main[-1]["data"]["text/plain"] if main else None


class Driver:
    def __init__(self, command, encode=frame_of, cwd=None, env=None):
        self.folder = tempfile.TemporaryDirectory()
        ours, theirs = socket.socketpair()
        self.process = subprocess.Popen(
            [*command, str(theirs.fileno())], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, pass_fds=[theirs.fileno()], start_new_session=True,
            cwd=cwd or self.folder.name, env={**os.environ, "MPLBACKEND": "agg", **(env or {})})
        theirs.close()
        self.process.stdin.close()
        self._start(ours, self.process.stdout.fileno(), self.process.stderr.fileno(), encode)

    def _start(self, end, out, err, encode):
        self._encode = encode
        self._number = 0
        self._read = {1: bytearray(), 2: bytearray()}
        for number, fd in ((1, out), (2, err)):
            threading.Thread(target=self._drain, args=(fd, self._read[number]), daemon=True).start()
        self.channel = Channel(end)
        self.ready = self.channel.receive()

    @staticmethod
    def _drain(fd, into):
        try:
            while data := os.read(fd, 1 << 16):
                into += data
        except OSError:
            pass

    def send(self, code, stdin=None):
        self._number += 1
        self.channel.end.sendall(self._encode(
            {"op": "execute", "id": self._number, "code": code, "stdin": stdin}))

    def finish(self):
        frames = [self.channel.receive()]
        while frames[-1]["ev"] != "end":
            frames.append(self.channel.receive())
        assert all(f["id"] == self._number for f in frames), frames
        return Reply(frames, self.taken(1), self.taken(2))

    def taken(self, number):
        """What came on a pipe since the last time. The driver has flushed: it is in the pipe."""
        time.sleep(0.02)
        data = bytes(self._read[number])
        del self._read[number][:len(data)]
        return data.decode("utf-8", "surrogateescape")

    def run(self, code, stdin=None):
        self.send(code, stdin)
        return self.finish()

    def interrupt(self, after=0.3):
        time.sleep(after)
        os.killpg(self.process.pid, signal.SIGINT)

    def wait_for_output(self, text):
        deadline = time.monotonic() + PATIENCE
        while text.encode() not in self._read[1]:
            assert time.monotonic() < deadline, (text, bytes(self._read[1]))
            time.sleep(0.01)

    def close(self):
        """Ends the driver by closing the channel; its exit status."""
        self.channel.end.close()
        try:
            return self.process.wait(PATIENCE)
        finally:
            self.process.kill()
            self.process.wait()
            self.process.stdout.close()
            self.process.stderr.close()
            self.folder.cleanup()


class DriverTest(unittest.TestCase):
    """One fresh driver a test."""

    def start(self):
        return Driver([PYTHON, "-s", str(FOLDER / "driver.py")])

    def setUp(self):
        self.driver = self.start()
        self.addCleanup(self.driver.close)

    def run_code(self, code, stdin=None):
        return self.driver.run(code, stdin)

    def value(self, code, stdin=None):
        reply = self.run_code(code, stdin)
        self.assertEqual(reply.status, "ok", reply.error or reply.err)
        return reply.value

    def fails(self, code, name, stdin=None):
        reply = self.run_code(code, stdin)
        self.assertEqual(reply.status, "error")
        self.assertEqual(reply.error["name"], name, reply.error)
        return reply.error

    def lives(self):
        self.assertEqual(self.value("41 + 1"), "42")
