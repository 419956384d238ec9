#!/usr/bin/python3
"""Compares verdicts of the restricted mode with CPython's own on small spaces, without gaps.

    arithmetic_exhaustive.py PROGRAM [SPACE...]

The spaces: `points` (every code point at the start, in a name, between digits, around a number),
`numbers` and `operators` (every text of up to five and four characters of an alphabet), `strings`
(every string literal of up to four). All of them take a few minutes. Exit status 1 where any
verdict differs.
"""
import itertools
import json
import subprocess
import sys

from arithmetic_reference import is_excused, same, verdict

CHUNK = 50_000


def texts(alphabet, most, before="", after=""):
    for size in range(most + 1):
        for characters in itertools.product(alphabet, repeat=size):
            yield before + "".join(characters) + after


def points():
    for code in range(0x110000):
        c = chr(code)
        yield from (c, "a" + c, f"1{c}1", f"{c}1{c}")


def strings():
    for prefix in ("", "f", "b", "rf"):
        yield from texts("{}!:=r\\Nx1\"'a#( )\n", 4, prefix + "'", "'")


SPACES = {
    "points": points,
    "numbers": lambda: texts("019e_.jx+ ", 5),
    "operators": lambda: texts("1a+-*/%=<>!:,.()[]{}~ #\\\n\t\"'f", 4),
    "strings": strings,
}


def disagreements(program, cases):
    cases = iter(cases)
    while chunk := list(itertools.islice(cases, CHUNK)):
        lines = "".join(json.dumps(case) + "\n" for case in chunk)
        answer = subprocess.run([program], input=lines, stdout=subprocess.PIPE, encoding="ascii")
        verdicts = answer.stdout.splitlines()
        if len(verdicts) != len(chunk):
            raise SystemExit(f"{len(chunk)} lines in, {len(verdicts)} out")
        for case, line in zip(chunk, verdicts):
            expected = verdict(case)
            actual = json.loads(line)
            if not same(expected, actual) and not is_excused(expected):
                yield case, expected, actual


def main():
    wrong = 0
    for name in sys.argv[2:] or SPACES:
        found = list(disagreements(sys.argv[1], SPACES[name]()))
        for case, expected, actual in found[:20]:
            print(f"DIFFERS {case!r}\n  python    {expected}\n  sandglass {actual}")
        print(f"{name}: {len(found)} disagreements", flush=True)
        wrong += len(found)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
