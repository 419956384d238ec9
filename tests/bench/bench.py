"""Times Sandglass beside what it is compared with, in one run: A B A B, medians, ratios.

    bench.py --bin FOLDER [--out FILE.json] [--rounds N] [--only WORD] [--strict]

FOLDER holds sandglass, sandglass-spawner and pool_bench. Times depend on the machine; ratios hardly do, so
the promises are ratios. A broken promise is printed and is no failure (other work on the machine makes
noise), except with --strict, where three times the promise is one. Exit 1 also if something does not run.
Standard library only.
"""

import argparse
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import time
import tempfile
import tomllib

import arithmetic_bench

STRICT_FACTOR = 3.0
POLICIES = pathlib.Path(__file__).resolve().parents[2] / "policies"

# What a payload times itself: pure Python, and numpy on one thread so that both sides use one core.
PYTHON_WORK = """
import time
start = time.perf_counter()
total = 0
for i in range(4_000_000):
    total += i * i % 7
print(time.perf_counter() - start)
"""
NUMPY_WORK = """
import os, time
os.environ["OPENBLAS_NUM_THREADS"] = "1"
import numpy
start = time.perf_counter()
a = numpy.arange(360_000, dtype=float).reshape(600, 600) / 360_000
for _ in range(8):
    a = a @ a.T
    a = numpy.sort(a / a.max(), axis=1)
print(time.perf_counter() - start)
"""


class CannotRun(Exception):
    """Something to be timed did not start or failed."""


def progress(text):
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)


def timed(command):
    """Runs the command once: seconds as a whole process, and its stdout."""
    start = time.perf_counter()
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    elapsed = time.perf_counter() - start
    if done.returncode != 0:
        reason = done.stderr.decode(errors="replace").strip()[-600:]
        raise CannotRun(f"{' '.join(command)[:200]}: exit code {done.returncode}: {reason}")
    return elapsed, done.stdout


def row(name, ours, other, other_name, promise, unit="ms"):
    """One line of the table. Lists of seconds become medians in ms, and their ratio."""
    mine, theirs = (statistics.median(times) * 1000 for times in (ours, other))
    return {"name": name, "unit": unit, "ours": mine, "other": theirs, "other_name": other_name,
            "ratio": mine / theirs, "ratio_of_minima": min(ours) / min(other), "promise": promise,
            "rounds": len(ours)}


def interleaved(name, ours, other, rounds):
    """[(seconds, stdout)] of both commands after one unmeasured turn: A B B A A B ..., since the second
    of two neighbours may always find a warmer or a busier machine."""
    results = {0: [], 1: []}
    for turn in range(-1, rounds):
        progress(f"{name}: {turn + 1}/{rounds}")
        for side in (0, 1) if turn % 2 else (1, 0):
            result = timed((ours, other)[side])
            if turn >= 0:
                results[side].append(result)
    return results[0], results[1]


def whole_process(name, ours, other, rounds, promise):
    mine, theirs = interleaved(name, ours, other, rounds)
    return [row(name, [t for t, _ in mine], [t for t, _ in theirs], "bwrap", promise)]


def inside_process(name, ours, other, rounds, promise):
    """The payload prints its own seconds; the promise is about these, the whole is for information."""
    mine, theirs = interleaved(name, ours, other, rounds)
    return [
        row(f"{name}, inside", [float(out) for _, out in mine], [float(out) for _, out in theirs],
            "bare", promise),
        row(f"{name}, whole", [t for t, _ in mine], [t for t, _ in theirs], "bare", None),
    ]


def bind_arguments(sandglass):
    """The read-only binds of `standard`, as arguments of bwrap."""
    shown = subprocess.run([sandglass, "policy", "show", "standard"], capture_output=True, check=False)
    if shown.returncode != 0:
        raise CannotRun(f"policy show standard: {shown.stderr.decode(errors='replace')}")
    files = tomllib.loads(shown.stdout.decode()).get("files", {})
    binds = files.get("read_only", []) + files.get("read_only_if_present", [])
    arguments, targets = [], set()
    for bind in binds:
        if isinstance(bind, dict):
            source = bind.get("source") or bind.get("path")
            target = bind.get("target") or source
        else:
            source, _, target = bind.partition(":")
            target = target or source
        if os.path.exists(source):
            arguments += ["--ro-bind", source, target]
            targets.add(target)
    for link in ("bin", "sbin", "lib", "lib64"):
        if f"/{link}" not in targets and os.path.isdir(f"/usr/{link}"):
            arguments += ["--symlink", f"usr/{link}", f"/{link}"]
    return arguments


def bwrap_command(binds, command):
    """All namespaces unshared, and what else a jail of `standard` has that bwrap can give."""
    return ["bwrap", "--unshare-user", "--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts",
            "--unshare-cgroup-try", "--uid", "1000", "--gid", "1000", "--hostname", "sandglass",
            *binds, "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", "--tmpfs", "/mnt/data",
            "--chdir", "/mnt/data", "--cap-drop", "ALL", "--new-session", "--die-with-parent",
            "--clearenv", "--setenv", "PATH", "/usr/bin:/bin", "--", *command]


def pool(folder, rounds):
    """From the pool of a running spawner: times, memory and what is left, by pool_bench."""
    progress("pool")
    _, out = timed([str(folder / "pool_bench"), str(folder / "sandglass-spawner"), str(POLICIES), str(rounds)])
    found = json.loads(out)
    rows = [row("/bin/true from the pool", found["pool_s"], found["fork_exec_s"], "fork+exec", 1.5),
            row("  the same, back to back", found["back_to_back_s"], found["fork_exec_s"], "fork+exec", None)]
    if found["empty_jail_private_kib"]:
        largest = max(found["empty_jail_private_kib"])
        rows.append(figure("an empty pooled jail, private", largest, "KiB", 1024))
    rows.append(figure(f"growth of the spawner over {found['jails']} jails", found["growth_kib"], "KiB", 256))
    rows.append(figure("left behind by them", len(found["leftovers"]), "things", 0))
    for line in found["leftovers"]:
        print(f"left behind: {line}", file=sys.stderr)
    return rows


def figure(name, value, unit, promise):
    return {"name": name, "unit": unit, "ours": value, "promise": promise}


def measured(line):
    """The number a promise is about: the ratio where there is one, else the figure itself."""
    return line.get("ratio", line["ours"])


def verdict(line):
    if line["promise"] is None:
        return ""
    return "kept" if measured(line) <= line["promise"] else "BROKEN"


def print_table(rows):
    progress("")
    print(f"{'medians':44}{'ours':>12}{'other':>12}  {'':10}{'ratio':>7}{'of minima':>11}{'promise':>9}")
    for line in rows:
        ours = f"{line['ours']:.2f} {line['unit']}" if line["unit"] == "ms" else f"{line['ours']} {line['unit']}"
        other = f"{line['other']:.2f} ms" if "other" in line else ""
        ratio = f"{line['ratio']:.3f}" if "ratio" in line else ""
        minima = f"{line['ratio_of_minima']:.3f}" if "ratio" in line else ""
        promise = "" if line["promise"] is None else f"<= {line['promise']}"
        print(f"{line['name']:44}{ours:>12}{other:>12}  {line.get('other_name', ''):10}{ratio:>7}{minima:>11}"
              f"{promise:>9}  {verdict(line)}")


def arithmetic(folder, sandglass, rounds):
    """Verdicts in memory against the same walk in Python, and a million lines through `eval --batch`."""
    rows = []
    for name, texts in arithmetic_bench.inputs().items():
        progress(f"arithmetic: {name}")
        walk, _, ours, _ = arithmetic_bench.measure(str(folder / "arithmetic_bench"), texts)
        promise = None if name == "all refused" else 0.01  # of what a model writes
        rows.append(row(f"1000 verdicts: {name}", [ours * 1e-6], [walk * 1e-6], "Python", promise))
    lines = "".join(json.dumps(text) + "\n" for text in arithmetic_bench.inputs()["calculations"]) * 50
    with tempfile.TemporaryFile() as file:
        file.write(lines.encode())
        times = []
        for turn in range(rounds):
            progress(f"eval --batch: {turn + 1}/{rounds}")
            times.append(piped(["taskset", "--cpu-list", str(min(os.sched_getaffinity(0))), sandglass, "eval",
                                "--batch"], file))
    rows.append(figure("1,000,000 lines through eval --batch", round(statistics.median(times) * 1000), "ms ", 1000))
    return rows


def piped(command, file):
    """Seconds from a file through a pipe into the command, and through a pipe out of it."""
    file.seek(0)
    start = time.perf_counter()
    with subprocess.Popen(["cat"], stdin=file, stdout=subprocess.PIPE) as source:
        with subprocess.Popen(command, stdin=source.stdout, stdout=subprocess.PIPE) as child:
            answers = sum(block.count(b"\n") for block in iter(lambda: child.stdout.read(1 << 20), b""))
    elapsed = time.perf_counter() - start
    if child.returncode != 0 or answers != 1_000_000:
        raise CannotRun(f"{' '.join(command)}: exit code {child.returncode}, {answers} answers")
    return elapsed


def benchmarks(folder, rounds):
    """(word for --only, function that gives rows)."""
    sandglass = str(folder / "sandglass")
    python = "/usr/bin/python3"

    def run(policy, code):
        return [sandglass, "run", "--policy", policy, "--lang", "python", "-c", code]

    def against_bwrap(name, ours, command, promise):
        if not shutil.which("bwrap"):
            raise CannotRun("bwrap is not installed: scripts/install-deps bench")
        return whole_process(name, ours, bwrap_command(bind_arguments(sandglass), command), rounds, promise)

    few = max(5, rounds // 4)
    return [
        ("exec", lambda: against_bwrap("exec --policy standard -- /bin/true", [
            sandglass, "exec", "--policy", "standard", "--", "/bin/true"], ["/bin/true"], 1.0)),
        ("run", lambda: against_bwrap("run --lang python -c pass", run("standard", "pass"),
                                      [python, "-c", "pass"], 1.1)),
        ("python", lambda: inside_process("Python work under tight", run("tight", PYTHON_WORK),
                                          [python, "-c", PYTHON_WORK], few, 1.02)),
        ("numpy", lambda: inside_process("numpy work under tight", run("tight", NUMPY_WORK),
                                         [python, "-c", NUMPY_WORK], few, 1.02)),
        ("pool", lambda: pool(folder, rounds * 5)),
        ("arithmetic", lambda: arithmetic(folder, sandglass, few)),
    ]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", required=True, type=pathlib.Path, help="folder of the built programs")
    parser.add_argument("--out", type=pathlib.Path, help="where the figures go as JSON")
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--only", help="exec, run, python, numpy, pool or arithmetic")
    parser.add_argument("--strict", action="store_true", help="fail at three times a promise")
    options = parser.parse_args()
    if options.rounds < 1:
        parser.error("--rounds: at least 1")

    rows, broken = [], []
    for word, measure in benchmarks(options.bin.resolve(), options.rounds):
        if options.only not in (None, word):
            continue
        try:
            rows += measure()
        except (CannotRun, OSError, ValueError, KeyError) as error:
            broken.append(f"{word}: {error}")
    print_table(rows)
    for line in broken:
        print(f"bench: {line}", file=sys.stderr)
    if options.out:
        options.out.write_text(json.dumps({"rows": rows, "errors": broken}, indent=1) + "\n")
    far_off = [line["name"] for line in rows if line["promise"] is not None
               and measured(line) > STRICT_FACTOR * line["promise"]]
    if options.strict and far_off:
        print(f"bench: over {STRICT_FACTOR:g} times the promise: {', '.join(far_off)}", file=sys.stderr)
        return 1
    return 1 if broken or not rows else 0


if __name__ == "__main__":
    sys.exit(main())
