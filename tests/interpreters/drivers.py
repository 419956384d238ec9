"""Runs a driver as the host does: a socket pair for control, pipes for the three streams."""

import json
import os
import pathlib
import select
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
import unittest

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "runner" / "interpreters"
PYTHON = os.environ.get("SANDGLASS_TEST_PYTHON") or (
    "/usr/bin/python3" if os.path.exists("/usr/bin/python3") else sys.executable)
PATIENCE = 20  # seconds; a driver that hangs fails its test


def has(*modules):
    """Whether the tested Python, not necessarily this one, has the modules."""
    line = "import " + ", ".join(modules)
    return subprocess.run([PYTHON, "-c", line], capture_output=True).returncode == 0


def frame_of(message):
    data = message if isinstance(message, bytes) else json.dumps(message).encode()
    return struct.pack("<I", len(data)) + data


class Wires:
    """The host's ends. Whoever waits for a frame drains the pipes, as the host does: before a frame
    is handled, all output that was written before it has been read."""

    def __init__(self, end, out, err):
        self.end = end
        self.read = {out: bytearray(), err: bytearray()}
        self._out, self._err = out, err
        self.order = []  # frames, and how much of stdout and stderr had come by then
        self._buffer = b""
        self._open = {end.fileno(), out, err}
        for fd in (out, err):
            os.set_blocking(fd, False)

    def _drain(self, fd):
        try:
            while data := os.read(fd, 1 << 16):
                self.read[fd] += data
            self._open.discard(fd)
        except BlockingIOError:
            pass

    def turn(self, seconds):
        """Waits until something has come, and takes it."""
        ready = select.select(self._open, [], [], seconds)[0]
        if self.end.fileno() in ready:
            more = self.end.recv(1 << 20)
            if not more:
                raise EOFError
            self._buffer += more
        for fd in self._open & set(self.read):
            self._drain(fd)

    def has_frame(self):
        head = self._buffer[:4]
        return len(head) == 4 and len(self._buffer) >= 4 + struct.unpack("<I", head)[0]

    def frame(self):
        if not self.has_frame():
            return None
        end = 4 + struct.unpack("<I", self._buffer[:4])[0]
        data, self._buffer = self._buffer[4:end], self._buffer[end:]
        frame = json.loads(data.decode("ascii"))
        for fd in self._open & set(self.read):
            self._drain(fd)
        self.order.append((frame["ev"], len(self.read[self._out]), len(self.read[self._err])))
        if "mark" in frame:
            self.end.sendall(frame_of({"op": "passed", "n": frame.pop("mark")}))
        return self.frame() if frame["ev"] == "mark" else frame

    def receive(self):
        """The next frame; EOFError at the end."""
        deadline = time.monotonic() + PATIENCE
        while (frame := self.frame()) is None:
            assert time.monotonic() < deadline, "no frame"
            self.turn(1)
        return frame


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
        self._out, self._err = out, err
        self.channel = Wires(end, out, err)
        self.ready = self.channel.receive()

    def send(self, code, stdin=None, **more):
        self._number += 1
        self.channel.end.sendall(self._encode(
            {"op": "execute", "id": self._number, "code": code, "stdin": stdin, **more}))

    def finish(self):
        frames = [self.channel.receive()]
        while frames[-1]["ev"] != "end":
            frames.append(self.channel.receive())
        assert all(f["id"] == self._number for f in frames), frames
        return Reply(frames, self._taken(self._out), self._taken(self._err))

    def _taken(self, fd):
        """What came on a pipe since the last time."""
        self.channel._drain(fd)
        data = bytes(self.channel.read[fd])
        self.channel.read[fd].clear()
        return data.decode("utf-8", "surrogateescape")

    def run(self, code, stdin=None):
        self.send(code, stdin)
        return self.finish()

    def interrupt(self, after=0.3):
        time.sleep(after)
        os.killpg(self.process.pid, signal.SIGINT)

    def insist(self):
        """Interrupts until the execution ends, as the host does."""
        for _ in range(PATIENCE * 4):
            os.killpg(self.process.pid, signal.SIGINT)
            deadline = time.monotonic() + 0.25
            while time.monotonic() < deadline:
                self.channel.turn(0.05)
                if self.channel.has_frame():
                    return self.finish()
        raise AssertionError("not interrupted")

    def wait_for_output(self, text):
        deadline = time.monotonic() + PATIENCE
        while text.encode() not in self.channel.read[self._out]:
            assert time.monotonic() < deadline, (text, self.channel.read)
            self.channel.turn(1)

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
