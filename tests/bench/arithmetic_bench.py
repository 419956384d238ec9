#!/usr/bin/python3
"""The restricted mode against the same whitelist walk in Python, on the same inputs, in one run.

    arithmetic_bench.py PROGRAM [--check]

PROGRAM is arithmetic_bench. Two comparisons: `walk` is a text to a verdict in memory on both sides,
`batch` is a JSON line to a JSON line on both sides. With --check, exit status 1 below 1,000,000
verdicts a second in batch mode, or below FLOOR times Python's walk on what a model writes.
"""
import ast
import json
import math
import operator
import random
import subprocess
import sys
import tempfile
import time

BINARY = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}
UNARY = {ast.UAdd: operator.pos, ast.USub: operator.neg}
QUESTIONS = [
    "3.2 * 10",
    "240 * 0.14",
    "260 - 240",
    "(3.2 - 3.0) * 20",
    "38.50 + 41.00",
    "57.00 + 9.75",
    "140 - 130",
    "42 * 2 + 20",
    "3.0 * 0.010",
    "180 / 30",
    "128 - 125",
    "12.50 + 13.25",
]
FLOOR = 30  # the goal is 100; what is reached depends on the processor
ROUNDS = 7
SLICE = 250  # of Python's texts take as long as a round of ours, which is all 20,000
REFUSED = [
    "2 ** 10",
    "__import__('os').listdir('.')",
    "1" + "+1" * 40,
    "38.50 + price",
    "sum([1, 2, 3])",
    "38.50 +",
    "What does a heating element cost?",
    "[x for x in (1).__class__.__base__.__subclasses__()]",
    "1/0",
    "NONE",
]


class Unsafe(Exception):
    pass


def walk(node, depth=0):
    if depth > 32:
        raise Unsafe("expression nests deeper than 32 levels")
    if isinstance(node, ast.Constant) and type(node.value) in (int, float):
        return node.value
    if isinstance(node, ast.BinOp) and type(node.op) in BINARY:
        return BINARY[type(node.op)](walk(node.left, depth + 1), walk(node.right, depth + 1))
    if isinstance(node, ast.UnaryOp) and type(node.op) in UNARY:
        return UNARY[type(node.op)](walk(node.operand, depth + 1))
    raise Unsafe(f"{type(node).__name__} is not on the arithmetic whitelist")


def in_python(reply):
    text = reply.strip()
    if not text or text.upper() == "NONE":
        return None
    try:
        if len(text) > 200:
            raise Unsafe(f"expression is {len(text)} characters; the limit is 200")
        value = walk(ast.parse(text, mode="eval").body)
        if isinstance(value, float) and not math.isfinite(value):
            raise Unsafe(f"result is not a finite number: {value}")
        return repr(value)
    except (SyntaxError, ValueError, ArithmeticError, Unsafe) as error:
        return str(error)


def in_python_batch(line):
    return json.dumps({"value": in_python(json.loads(line))})


def amount(r):
    return f"{r.uniform(0, 999):.2f}" if r.random() < 0.6 else str(r.randrange(1000))


def calculation(r):
    """What a model writes: a few amounts, now and then brackets."""
    text = amount(r)
    for _ in range(r.choice([1, 1, 1, 2, 2, 3, 4])):
        text += f" {r.choice('+-*/')} {amount(r)}"
        if r.random() < 0.2:
            text = f"({text})"
    return text


def slices(function, inputs):
    """Nanoseconds of processor time for each slice of the inputs."""
    times = []
    for at in range(0, len(inputs), SLICE):
        part = inputs[at : at + SLICE]
        began = time.thread_time_ns()
        for item in part:
            function(item)
        times.append(time.thread_time_ns() - began)
    return times


def best(rounds):
    """The fastest time of each slice, over all rounds."""
    return [min(times) for times in zip(*rounds)]


def measure(program, texts):
    """Nanoseconds for one text: Python's walk and batch, our walk and batch. All is processor time,
    in turns and in pieces of a few milliseconds, and of each piece the fastest round counts: so a
    busy machine, or a collection of garbage, slows neither side down more than the other."""
    lines = [json.dumps(text) + "\n" for text in texts]
    walks, batches, ours = [], [], []
    with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as file:
        file.writelines(lines)
        file.flush()
        for _ in range(ROUNDS):
            walks.append(slices(in_python, texts))
            batches.append(slices(in_python_batch, lines))
            answer = subprocess.run([program, file.name, "20"], stdout=subprocess.PIPE, check=True)
            ours.append(json.loads(answer.stdout))
    walk, batch = (sum(best(rounds)) / len(texts) for rounds in (walks, batches))
    return [walk, batch, *(min(o[k] for o in ours) for k in ("evaluate_ns", "batch_ns"))]


def inputs():
    """What is measured: 20,000 texts of each kind, the same in every run."""
    r = random.Random(1)
    questions = [r.choice(QUESTIONS) for _ in range(20_000)]
    calculations = [calculation(r) for _ in questions]
    mixed = [r.choice(REFUSED) if r.random() < 0.15 else t for t in calculations]
    refused = [r.choice(REFUSED) for _ in calculations]
    return {
        "questions": questions,
        "calculations": calculations,
        "15% refused": mixed,
        "all refused": refused,
    }


def main():
    missed = False
    print("nanoseconds      python: walk  batch   here: walk  batch   ratio: walk batch  batch/s")
    for name, texts in inputs().items():
        python_walk, python_batch, walk, batch = measure(sys.argv[1], texts)
        print(
            f"{name:16} {python_walk:12.0f} {python_batch:6.0f} {walk:12.1f} {batch:6.1f} "
            f"{python_walk / walk:12.0f} {python_batch / batch:5.0f} {1e9 / batch:10,.0f}"
        )
        written = name in ("questions", "calculations")
        missed = missed or (written and python_walk / walk < FLOOR) or batch > 1000
    return 1 if missed and "--check" in sys.argv else 0


if __name__ == "__main__":
    sys.exit(main())
