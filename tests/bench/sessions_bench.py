"""Times sessions over HTTP on loopback, beside plain forks of the same prototype and bwrap, in one run.

    sessions_bench.py --bin FOLDER [--out FILE.json] [--rounds N] [--many N]

FOLDER holds sandglass, which is started on a free port, and sessions_client, which asks it: a client in
Python would be half of a warm answer's time. --many: how many containers are open when the latency of a
busy server is measured; 1000 takes a minute and 2 GiB. Times depend on the machine. ipykernel is timed too,
where it is installed; where not, the table says so. Standard library only.
"""

import argparse
import contextlib
import glob
import http.client
import json
import os
import pathlib
import re
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time

import trace_cost
from plain_fork import PYTHON, CannotRun, Prototype

FIRST = "import pandas as pd; 1+1"


def progress(text):
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)


def percentile(times, part):
    ordered = sorted(times)
    return ordered[min(len(ordered) - 1, int(len(ordered) * part))]


def children(pid):
    try:
        text = pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text()
    except OSError:
        return []
    return [int(word) for word in text.split()]


def tree(pid):
    pids = [pid]
    for one in pids:
        pids += children(one)
    return pids


class Client:
    """One connection that is kept, without Nagle's delay."""

    def __init__(self, port):
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        self.connection.connect()
        self.connection.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def call(self, method, path, body=None):
        text = None if body is None else json.dumps(body)
        self.connection.request(method, path, text, {"Content-Type": "application/json"})
        reply = self.connection.getresponse()
        data = reply.read()
        if reply.status >= 300:
            raise CannotRun(f"{method} {path}: {reply.status} {data[:300]!r}")
        return json.loads(data) if data else None

    def create(self):
        return self.call("POST", "/v1/containers", {"name": "bench"})["id"]

    def execute(self, container, code):
        reply = self.call("POST", f"/v1/containers/{container}/execute", {"code": code})
        if reply["outcome"] != "ok":
            raise CannotRun(f"{code}: {json.dumps(reply)[:300]}")
        return reply

    def delete(self, container):
        self.call("DELETE", f"/v1/containers/{container}")


@contextlib.contextmanager
def server(folder, many, *options):
    """(port, pid) of a server whose policy is `standard` with room for many containers; `options`: more for serve."""
    with tempfile.TemporaryDirectory(prefix="test-sandglass-") as own:
        policy = pathlib.Path(own) / "bench.toml"
        policy.write_text('name = "bench"\nextends = "standard"\nwhy = "standard, with room for more"\n'
                          f"[session]\nmax_sessions = {many + 100}\n")
        process = subprocess.Popen(
            [str(folder / "sandglass"), "serve", "--listen", "127.0.0.1:0", "--policy", str(policy), *options],
            stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        try:
            for line in process.stderr:
                found = re.search(r"serving http://127\.0\.0\.1:(\d+)", line)
                if found:
                    break
            else:
                raise CannotRun("the server did not start")
            yield int(found[1]), process.pid
        finally:
            process.terminate()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
            process.stderr.close()


def client_says(folder, port, *words):
    """What sessions_client prints."""
    progress(" ".join(map(str, words)))
    done = subprocess.run([str(folder / "sessions_client"), str(port), *map(str, words)], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=600, check=False)
    if done.returncode != 0:
        raise CannotRun(done.stderr.strip()[-300:] or f"sessions_client: {done.returncode}")
    return json.loads(done.stdout)


def milliseconds(folder, port, *words):
    return [us / 1000 for us in client_says(folder, port, *words)["us"]]


def from_two(work, seconds):
    """How often a second two clients can do it together; `work(i)` gives each client's step."""
    counts, errors = [0, 0], []
    end = time.perf_counter() + seconds

    def loop(i):
        try:
            step = work(i)
            while time.perf_counter() < end:
                step()
                counts[i] += 1
        except Exception as error:  # told below, by the thread that reports
            errors.append(error)

    threads = [threading.Thread(target=loop, args=(i,)) for i in range(2)]
    start = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise CannotRun(f"sustained: {errors[0]}")
    return sum(counts) / (time.perf_counter() - start)


def sustained(folder, port, seconds):
    said = client_says(folder, port, "sustained", seconds)
    return said["count"] / said["seconds"]


def plain_forks(folder, seconds):
    program = folder.parent / "share/sandglass/interpreters/prototype.zip"
    prototypes = [Prototype(program) for _ in range(2)]
    try:
        return from_two(lambda i: lambda: prototypes[i].once(FIRST), seconds)
    finally:
        for prototype in prototypes:
            prototype.close()


# ---------------------------------------------------------------------------------------------
# Many containers at once.


def bytes_in(cgroup):
    """v1's usage_in_bytes is rounded up by what each processor holds in stock (cgroup-v1/memory.txt, 5.5);
    the exact sum is in memory.stat, the kernel's own share beside it."""
    try:
        return int((cgroup / "memory.current").read_text())
    except OSError:
        pass
    stat = dict(line.split() for line in (cgroup / "memory.stat").read_text().splitlines())
    kernel = int((cgroup / "memory.kmem.usage_in_bytes").read_text())
    return int(stat["rss"]) + int(stat["cache"]) + kernel


def jail_memory(pid):
    """Bytes of each jail's cgroup below the server: v1 and v2."""
    for keeper in children(pid):
        found = []
        for root in ("/sys/fs/cgroup/memory", "/sys/fs/cgroup"):
            for path in glob.glob(f"{root}/**/sandglass*{keeper}*/jail-*/memory.stat", recursive=True):
                with contextlib.suppress(OSError):
                    found.append(bytes_in(pathlib.Path(path).parent))
            if found:
                return found
    return []


def memory_row(pid, which, begin, end):
    """`begin`, `end`: which of all jails, the leanest first."""
    time.sleep(0.5)
    memory = sorted(jail_memory(pid))[begin:end]
    if not memory:
        return figure("memory of a session: no memory cgroup here", None, "MiB")
    return figure(f"memory of a session {which}, median of {len(memory)}",
                  statistics.median(memory) / 2**20, "MiB", 2)


def cpu_ticks(pid):
    total = 0
    for one in tree(pid):
        with contextlib.suppress(OSError):
            fields = pathlib.Path(f"/proc/{one}/stat").read_text().rsplit(")", 1)[1].split()
            total += int(fields[11]) + int(fields[12])
    return total


def idle_cpu(pid, seconds):
    time.sleep(1)
    before = cpu_ticks(pid)
    time.sleep(seconds)
    return 100 * (cpu_ticks(pid) - before) / os.sysconf("SC_CLK_TCK") / seconds


def opened(client, held, count):
    while len(held) < count:
        progress(f"containers: {len(held)}/{count}")
        container = client.create()
        client.execute(container, FIRST)
        held.append(container)


def many_containers(folder, client, port, pid, many, rounds):
    held, rows = [], []
    opened(client, held, 10)
    few = milliseconds(folder, port, "create", rounds, 30)
    fresh = [client.create() for _ in range(max(0, min(50, many) - len(held)))]
    rows.append(memory_row(pid, "that has executed nothing", 0, len(fresh)))
    for container in fresh:
        client.execute(container, FIRST)
    held += fresh
    rows.append(memory_row(pid, "that has imported pandas", -len(held), None))
    opened(client, held, many)
    crowd = milliseconds(folder, port, "create", rounds, 30)
    rows.append(figure("create, p50, 10 containers open", statistics.median(few), "ms", None))
    rows.append(figure(f"create, p50, {many} containers open", statistics.median(crowd), "ms", None))
    rows.append(figure("  the latter / the former", statistics.median(crowd) / statistics.median(few), "x", 1.3))
    rows.append(figure(f"idle CPU of the whole tree, {many} containers", idle_cpu(pid, 5), "%", 1))
    for container in held:
        client.delete(container)
    return rows


def bwrap_seconds():
    if not shutil.which("bwrap"):
        return None
    start = time.perf_counter()
    done = subprocess.run(
        ["bwrap", "--unshare-all", "--ro-bind", "/usr", "/usr", "--symlink", "usr/lib", "/lib", "--symlink",
         "usr/lib64", "/lib64", "--ro-bind", "/etc", "/etc", "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp",
         "--", PYTHON, "-s", "-c", "import pandas; 1+1"], stdin=subprocess.DEVNULL, capture_output=True, check=False)
    if done.returncode != 0:
        raise CannotRun(f"bwrap: {done.stderr.decode(errors='replace')[-300:]}")
    return time.perf_counter() - start


def ipykernel_rows(first, warm):
    """`first`, `warm`: ours, in milliseconds."""
    program = pathlib.Path(__file__).with_name("ipykernel_times.py")
    done = subprocess.run([PYTHON, "-s", str(program)], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=300, check=False)
    if done.returncode == 3:
        return [figure("ipykernel: NOT INSTALLED: apt-get install python3-ipykernel python3-jupyter-client",
                       None, "ms")]
    if done.returncode != 0:
        raise CannotRun(f"ipykernel: {done.stderr[-300:]}")
    times = json.loads(done.stdout)
    return [figure("ipykernel: start to the first answer", times["first_ms"], "ms"),
            figure("  it / create and first answer", times["first_ms"] / first, "x", None, 500),
            figure("ipykernel: warm 1+1, p50", times["warm_ms"], "ms"),
            figure("  it / 1+1 in a session", times["warm_ms"] / warm, "x", None, 15)]


# ---------------------------------------------------------------------------------------------


def figure(name, value, unit, at_most=None, at_least=None):
    return {"name": name, "value": value, "unit": unit, "at_most": at_most, "at_least": at_least}


def verdict(row):
    if row["value"] is None or (row["at_most"] is None and row["at_least"] is None):
        return ""
    kept = row["value"] <= row["at_most"] if row["at_most"] is not None else row["value"] >= row["at_least"]
    return "kept" if kept else "BROKEN"


def print_table(rows):
    progress("")
    for row in rows:
        value = "" if row["value"] is None else f"{row['value']:.2f} {row['unit']}"
        promise = "" if row["at_most"] is None else f"<= {row['at_most']}"
        promise = promise if row["at_least"] is None else f">= {row['at_least']}"
        print(f"{row['name']:62}{value:>14}  {promise:8}{verdict(row)}")


def latency_rows(folder, port, rounds):
    times = milliseconds(folder, port, "first", rounds, 50)
    first = statistics.median(times)
    rows = [figure("create and first answer, pool warm, p50", first, "ms", 1.5),
            figure("create and first answer, pool warm, p95", percentile(times, 0.95), "ms", 5)]
    times = milliseconds(folder, port, "first", rounds, 0)
    rows.append(figure("create and first answer, back to back, p50", statistics.median(times), "ms", 8))
    bare = milliseconds(folder, port, "bare", rounds * 20)
    rows.append(figure("GET /healthz, p50", statistics.median(bare), "ms"))
    warm = statistics.median(milliseconds(folder, port, "warm", rounds * 20))
    rows.append(figure("1+1 in a session, p50", warm, "ms", 0.25))
    return rows, first, warm


def measure(folder, rounds, many):
    with server(folder, many) as (port, pid):
        client = Client(port)
        client.delete(client.create())  # the prototype has been loaded
        time.sleep(1)
        rows, first, warm = latency_rows(folder, port, rounds)
        progress("sustained")
        forks = plain_forks(folder, 3)
        ours = sustained(folder, port, 6)
        forks = (forks + plain_forks(folder, 3)) / 2
        rows.append(figure("create, execute, delete by 2 clients", ours, "/s"))
        rows.append(figure("plain forks of the prototype by 2 clients", forks, "/s"))
        rows.append(figure("  the former / the latter", ours / forks, "x", None, 0.75))
        time.sleep(1)
        rows += many_containers(folder, client, port, pid, many, rounds)
    progress("the trace")
    rows += [figure(*row) for row in trace_cost.rows(lambda *options: server(folder, many, *options), Client, rounds)]
    bwrap = bwrap_seconds()
    rows.append(figure("bwrap and python3 -c 'import pandas; 1+1', once" if bwrap else "bwrap: NOT INSTALLED",
                       bwrap and bwrap * 1000, "ms"))
    return rows + ipykernel_rows(first, warm)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", required=True, type=pathlib.Path, help="folder of the built programs")
    parser.add_argument("--out", type=pathlib.Path, help="where the figures go as JSON")
    parser.add_argument("--rounds", type=int, default=60)
    parser.add_argument("--many", type=int, default=200, help="containers open at once")
    options = parser.parse_args()
    try:
        rows = measure(options.bin.resolve(), options.rounds, options.many)
    except (CannotRun, OSError, ValueError, KeyError) as error:
        print(f"sessions_bench: {error}", file=sys.stderr)
        return 1
    print_table(rows)
    if options.out:
        options.out.write_text(json.dumps({"rows": rows}, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
