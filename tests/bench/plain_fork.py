"""A plain fork of the prototype that sessions come from: no jail, no HTTP. Its protocol is described in
runner/interpreters/README.md. Standard library only."""

import json
import os
import socket
import struct
import subprocess

PYTHON = "/usr/bin/python3"


class CannotRun(Exception):
    """Something to be timed did not start or failed."""


def send(sock, document, fds=()):
    data = json.dumps(document).encode()
    packet = struct.pack("<I", len(data)) + data
    if fds:
        socket.send_fds(sock, [packet], fds)
    else:
        sock.sendall(packet)


def receive(sock):
    def exactly(count):
        data = b""
        while len(data) < count:
            more = sock.recv(count - len(data))
            if not more:
                raise CannotRun("the prototype or its payload has gone")
            data += more
        return data
    (size,) = struct.unpack("<I", exactly(4))
    return json.loads(exactly(size))


class Prototype:
    def __init__(self, program):
        self.orders, theirs = socket.socketpair()
        self.process = subprocess.Popen(
            [PYTHON, "-s", str(program), str(theirs.fileno()), "--preload=numpy,pandas,matplotlib.pyplot"],
            pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            env={"PATH": "/usr/bin:/bin", "MPLBACKEND": "agg"})
        theirs.close()
        receive(self.orders)
        self.null = os.open("/dev/null", os.O_RDWR)

    def once(self, code):
        """A payload forked, asked and let go."""
        ours, theirs = socket.socketpair()
        with ours:
            send(self.orders, {"op": "fork", "id": 1},
                 [theirs.fileno(), self.null, self.null, self.null])
            theirs.close()
            receive(self.orders)
            send(ours, {"op": "execute", "id": 1, "code": code, "stdin": None})
            while receive(ours).get("ev") != "end":
                pass

    def close(self):
        self.orders.close()
        self.process.terminate()
        self.process.wait()
        os.close(self.null)
