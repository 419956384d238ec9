#!/usr/bin/python3
"""Compares verdicts of the restricted mode with CPython's own on generated cases.

    arithmetic_agree.py PROGRAM [--cases N] [--seed S] [--extended] [--jobs J] [--seconds T]

PROGRAM reads JSON strings, one a line, and writes one verdict a line (arithmetic_verdicts). Exit
status 1 where any verdict differs; the first ones are printed. The seed is printed, and gives the
same cases again.
"""
import argparse
import collections
import itertools
import json
import multiprocessing
import subprocess
import sys
import time

from arithmetic_cases import Cases
from arithmetic_reference import is_excused, same, verdict

CHUNK = 10_000
EXTENSIONS = ["--operators", "%", "//", "**", "--functions", "sqrt", "round", "abs", "min", "max",
    "sum"]


def compare(program, seed, count, extended, deadline):
    """Returns how many cases were compared, the kinds of verdict seen, and the disagreements."""
    cases = iter(Cases(seed))
    done, kinds, wrong = 0, collections.Counter(), []
    while done < count and time.monotonic() < deadline:
        chunk = list(itertools.islice(cases, min(CHUNK, count - done)))
        lines = "".join(json.dumps(case) + "\n" for case in chunk)
        chunk = [json.loads(line) for line in lines.splitlines()]  # joins surrogate pairs
        command = [program] + (EXTENSIONS if extended else [])
        answer = subprocess.run(command, input=lines, stdout=subprocess.PIPE, encoding="ascii",
            check=True)
        verdicts = [json.loads(line) for line in answer.stdout.splitlines()]
        if len(verdicts) != len(chunk):
            raise SystemExit(f"{len(chunk)} lines in, {len(verdicts)} out")
        for case, actual in zip(chunk, verdicts):
            expected = verdict(case, extended)
            kinds[expected.get("refused") or next(iter(expected))] += 1
            if same(expected, actual):
                continue
            if is_excused(expected) and actual.get("refused") == "whitelist":
                kinds["(unknown \\N{name})"] += 1
            else:
                wrong.append((case, expected, actual))
        done += len(chunk)
    return done, kinds, wrong


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--cases", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--extended", action="store_true")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=3600)
    options = parser.parse_args()
    if sys.version_info[:2] != (3, 11):
        raise SystemExit("the reference is CPython 3.11; run /usr/bin/python3 of Debian 12")
    began = time.monotonic()
    share = -(-options.cases // options.jobs)
    seeds = [options.seed * 1000 + job for job in range(options.jobs)]
    work = [(options.program, seed, share, options.extended, began + options.seconds)
        for seed in seeds]
    with multiprocessing.Pool(options.jobs) as pool:
        results = pool.starmap(compare, work)
    total = sum(done for done, _, _ in results)
    kinds = sum((kinds for _, kinds, _ in results), collections.Counter())
    wrong = [item for _, _, items in results for item in items]
    for case, expected, actual in wrong[:40]:
        print(f"DIFFERS {case!r}\n  python    {expected}\n  sandglass {actual}")
    seconds = time.monotonic() - began
    mode = "extended" if options.extended else "plain"
    print(
        f"{total} cases, {mode}, seed {options.seed}, {len(wrong)} disagreements, "
        f"{seconds:.1f} s: {dict(kinds.most_common())}"
    )
    return 1 if wrong or total < min(options.cases, CHUNK) else 0


if __name__ == "__main__":
    sys.exit(main())
