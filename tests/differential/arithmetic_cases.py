"""Cases for the restricted mode: texts that are arithmetic, nearly arithmetic, Python, nearly
Python, or noise. Everything comes from one random.Random, so a seed gives the same cases again."""
import ast
import glob
import os
import random
import re
import sys

from arithmetic_grammar import Grammar

SPACES = [" ", "  ", "\t", "\f", " \t", "\\\n", "\\\r\n", " \\\n "]
ODD = (
    list("\0\x01\t\n\x0b\f\r\x1c\x1f\x7f\x85\xa0")
    + list("\u00e9\u0661\uff11\uff0b\u2212\u00d7\u00f7\u2028")
    + ["\u3000", "\ufeff", "\u200b", "\ud800", "\udfff", "\U0001f600", "\u00b2", "\u0301", "\u2118"]
    + ["\uff53\uff51\uff52\uff54", "\U0001d530um", "\uff49\uff46", "\u037a", "\u0e33", "\u1885"]
)
TOKENS = (
    "False None True and as assert async await break class continue def del elif else except "
    "finally for from global if import in is lambda nonlocal not or pass raise return try while "
    "with yield match case _ print x y f sqrt round abs min max sum "
    "1 2 0 3.5 .5 1. 1e3 0x1f 0b1 0o7 1j 00 1_0 'a' b'a' f'{x}' \"\" r'\\' "
    "+ - * / // % @ ** << >> & | ^ ~ < > <= >= == != <> = := -> += **= ... . , : ; ! "
    "( ) [ ] { }"
).split()
NUMBERS = (
    "0 1 2 3 5 7 10 100 0.1 .5 5. 1e3 1E-3 1_000 1e400 9007199254740993 0.0 1e22 1e23 1e16 1e-5"
).split()


def static_cases():
    """Cases chosen by hand: `|` stands between two, `§` for a line feed."""
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "arithmetic_static.txt")
    with open(path, encoding="utf-8") as file:
        lines = file.read().rstrip("\n").split("\n")
    return [case.replace("§", "\n") for line in lines for case in line.split("|")]


def library_expressions(limit=6000):
    """Expressions out of Python's own library, as people write them."""
    found = []
    paths = sorted(glob.glob(f"/usr/lib/python3.{sys.version_info[1]}/*.py"))
    for path in paths[:: max(1, len(paths) // 60)]:
        with open(path, encoding="utf-8", errors="replace") as file:
            source = file.read()
        lines = source.split("\n")
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.expr) and node.lineno == node.end_lineno:
                line = lines[node.lineno - 1].encode()
                text = line[node.col_offset : node.end_col_offset].decode()
                if 3 < len(text) <= 200:
                    found.append(text)
    found = sorted(set(found))
    return random.Random(7).sample(found, min(limit, len(found)))


class Cases:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.grammar = Grammar(self.random)
        self.corpus = static_cases() + library_expressions()
        self.makers = [
            (self.arithmetic, 22), (self.calculation, 12), (self.number_soup, 10),
            (self.operator_soup, 7), (self.token_soup, 12), (self.python, 14), (self.mutated, 30),
            (self.string, 10), (self.boundary, 4), (self.noise, 3), (self.reply, 2),
            (self.unparsed, 6),
            (self.extended, 12),
        ]
        self.weights = [weight for _, weight in self.makers]

    def __iter__(self):
        yield from self.corpus
        while True:
            yield self.one()

    def one(self):
        maker = self.random.choices(self.makers, self.weights)[0][0]
        text = maker()
        if self.random.random() < 0.08:
            text = self.relayout(text)
        if self.random.random() < 0.05:
            text = self.random.choice(["", " ", "\n", "\u2003", "\x1f"]) + text
            text += self.random.choice([" ", "\n", "\xa0"])
        return text

    # numbers and arithmetic

    def number(self):
        r = self.random
        kind = r.random()
        if kind < 0.3:
            return str(r.randrange(10 ** r.choice([1, 1, 2, 3, 6, 16, 19, 25, 40])))
        if kind < 0.6:
            return f"{r.uniform(0, 10 ** r.randrange(1, 6)):.{r.randrange(0, 5)}f}"
        if kind < 0.7:
            return repr(r.uniform(-1, 1) * 10.0 ** r.randrange(-320, 308)).lstrip("-")
        if kind < 0.76:
            return f"{r.randrange(10**r.randrange(1, 20))}e{r.randrange(-345, 330)}"
        if kind < 0.82:
            return r.choice([hex, oct, bin])(r.getrandbits(r.choice([3, 8, 30, 64, 90])))
        if kind < 0.9:
            return r.choice(NUMBERS)
        if kind < 0.95:
            return f"{r.randrange(10**6):_}.{r.randrange(1000)}"
        return repr(r.getrandbits(64) / 2 ** r.randrange(0, 80))

    def space(self):
        return " " if self.random.random() < 0.5 else ""

    def arithmetic(self, depth=0, operators="+-*/"):
        r = self.random
        kind = r.random()
        if depth > 5 or kind < 0.3:
            return self.number()
        if kind < 0.42:
            return r.choice("+-") + self.space() + self.arithmetic(depth + 1, operators)
        if kind < 0.6:
            return "(" + self.space() + self.arithmetic(depth + 1, operators) + self.space() + ")"
        parts = [self.arithmetic(depth + 2, operators)]
        for _ in range(r.choice([1, 1, 1, 2, 3])):
            operator = r.choice(operators)
            parts += [self.space() + operator + self.space(), self.arithmetic(depth + 2, operators)]
        return "".join(parts)

    def calculation(self):
        """The kind a model writes."""
        r = self.random
        terms = [f"{r.uniform(0, 999):.2f}" if r.random() < 0.6 else str(r.randrange(1000))
            for _ in range(r.randrange(2, 7))]
        text = terms[0]
        for term in terms[1:]:
            text += f" {r.choice('+-*/')} {term}"
            if r.random() < 0.2:
                text = f"({text})"
        return text

    def extended(self):
        r = self.random

        def value(depth=0):
            kind = r.random()
            if depth > 4 or kind < 0.3:
                return r.choice([self.number(), str(r.randrange(20)), f"{r.randrange(-9, 9)}.5",
                    str(r.randrange(-400, 400))])
            if kind < 0.75:
                left, right = value(depth + 1), value(depth + 1)
                text = f"{left} {r.choice(['%', '//', '**', '+', '-', '*', '/'])} {right}"
                return f"({text})" if r.random() < 0.6 else text
            if kind < 0.8:
                return f"-{value(depth + 1)}"
            name = r.choice(["sqrt", "round", "round", "abs", "min", "max", "sum"])
            items = ", ".join(value(depth + 1) for _ in range(r.choice([0, 1, 1, 2, 2, 3])))
            if name in ("min", "max", "sum") and r.random() < 0.7:
                items = f"[{items}]" if r.random() < 0.7 else f"({items},)" if items else "()"
            if name == "round" and r.random() < 0.7:
                digits = r.choice([r.randrange(-30, 30), r.randrange(-330, 330), r.randrange(4)])
                items = f"{self.number()}, {digits}"
            return f"{name}({items})"

        return value()

    def number_soup(self):
        r = self.random
        if r.random() < 0.5:
            text = self.number()
            for _ in range(r.randrange(1, 3)):
                at = r.randrange(len(text) + 1)
                text = text[:at] + r.choice("0123456789__..eExXoObBjJaf+-") + text[
                    at + r.randrange(2) :]
        else:
            text = "".join(r.choice("00123789__..eExXoObBjJ+-f") for _ in range(r.randrange(1, 9)))
        if r.random() < 0.3:
            text += r.choice(["if 1 else 2", "else 2", "or 1", "and 1", "in x", "is x", "not in x",
                "for x in y", "jif 1else 2", "l"])
            if r.random() < 0.3:
                text = "1if 1" + text
        return text

    def operator_soup(self):
        r = self.random
        return "".join(
            r.choice(["1", "2", "0", "3.5", "x", "+", "-", "*", "/", "(", ")", " ", "**", "//", "%",
            ",", "~", "1", "(1)", "=", "<"])
            for _ in range(r.randrange(1, 14))
        )

    def token_soup(self):
        r = self.random
        if r.random() < 0.5:
            return " ".join(r.choice(TOKENS) for _ in range(r.randrange(1, 9)))
        text = self.grammar.expression()
        pieces = re.findall(r"\w+|\s+|[^\w\s]", text)[:60]
        for _ in range(r.randrange(1, 3)):
            if not pieces:
                break
            at = r.randrange(len(pieces))
            action = r.random()
            if action < 0.35:
                del pieces[at]
            elif action < 0.6:
                pieces.insert(at, f" {r.choice(TOKENS)} ")
            elif action < 0.8:
                pieces[at] = f" {r.choice(TOKENS)} "
            else:
                other = r.randrange(len(pieces))
                pieces[at], pieces[other] = pieces[other], pieces[at]
        return "".join(pieces)

    # Python

    def python(self):
        text = self.grammar.expression()
        return text if len(text) <= 220 else self.grammar.small()

    def unparsed(self):
        tree = self.grammar.tree(3)
        try:
            return ast.unparse(ast.fix_missing_locations(ast.Expression(tree)))
        except Exception:  # some trees have no text (a backslash in an f-string)
            return self.python()

    def mutated(self):
        r = self.random
        text = r.choice(self.corpus) if r.random() < 0.6 else self.python()
        for _ in range(r.choice([1, 1, 2, 3])):
            at = r.randrange(len(text) + 1)
            action = r.random()
            if action < 0.3:
                text = text[:at] + text[at + 1 :]
            elif action < 0.6:
                text = text[:at] + r.choice(
                    "0123456789_.eExj+-*/()[]{},:=~@%&|^<>!'\"#\\ \t\n\rabfrulnNx$?;`") + text[at:]
            elif action < 0.7:
                text = text[:at] + r.choice(ODD) + text[at:]
            elif action < 0.8:
                text = text[:at] + r.choice(TOKENS) + text[at:]
            elif action < 0.9:
                end = min(len(text), at + r.randrange(1, 12))
                text = text[:end] + text[at:end] + text[end:]
            else:
                other = r.choice(self.corpus)
                text = text[:at] + other[r.randrange(len(other) + 1) :]
        return text

    def string(self):
        text = self.grammar.string()
        if self.random.random() < 0.25:
            text += self.random.choice(["", " "]) + self.grammar.string()
        if self.random.random() < 0.3:
            at = self.random.randrange(len(text) + 1)
            text = text[:at] + self.random.choice("{}{}!:=\\'\"xuUN0\n#([])<> é") + text[
                at + self.random.randrange(2) :]
        return text

    # edges

    def boundary(self):
        r = self.random
        kind = r.randrange(9)
        if kind == 0:
            return "1" + "+1" * r.randrange(28, 42)
        if kind == 1:
            return r.choice("+-~") * r.randrange(28, 40) + "1"
        if kind == 2:
            n = r.randrange(25, 101)
            return "(" * n + "1" + ")" * (n - r.choice([0, 0, 0, 1]))
        if kind == 3:
            return "9" * r.randrange(195, 206)
        if kind == 4:
            return r.choice(["é", "1", "'", "\U0001f600", "\ud800", " "]) * r.randrange(195, 206)
        if kind == 5:
            return "1" + "".join(r.choice(["+1/0", "+f()", "*1e400", "-x", "+1", "**2"])
                for _ in range(r.randrange(1, 36)))
        if kind == 6:
            n = r.randrange(1, 60)
            opening = "".join(r.choice("([{") for _ in range(n))
            closing = "".join({"(": ")", "[": "]", "{": "}"}[c] for c in reversed(opening))
            return opening + r.choice(["1", "", "1,", "x for x in y"]) + closing
        if kind == 7:
            return "1" + "".join(f"{r.choice('*/')}{r.randrange(1, 10**r.randrange(1, 30))}"
                for _ in range(r.randrange(1, 12)))
        return "0x" + "f" * r.randrange(1, 198)

    def noise(self):
        r = self.random
        if r.random() < 0.5:
            return "".join(chr(r.choice(
                [r.randrange(128), r.randrange(0x3000), r.randrange(0x110000)]))
                for _ in range(r.randrange(1, 12)))
        text = "".join(r.choice(ODD + list("ab1_")) for _ in range(r.randrange(1, 5)))
        return r.choice(["", "1+", "x", "'"]) + text + r.choice(["", "+1", "y", "'"])

    def reply(self):
        r = self.random
        word = r.choice(["NONE", "none", "None", "nonE", "", "NONE.", "N0NE", "\u0274one",
            "NO\u0274E", "NONE\u0301"])
        return r.choice(["", " ", "\n", "\u2009", "\x1c", "\x85", "\u200b"]) + word + r.choice(
            ["", " ", "\n\n", "\u3000"])

    def relayout(self, text):
        """Other spaces, line ends and comments, wherever they may or may not stand."""
        r = self.random
        for _ in range(r.randrange(1, 4)):
            places = [m.start() for m in re.finditer(r" |(?<=\W)|(?=\W)", text)]
            at = r.choice(places) if places else 0
            text = text[:at] + r.choice(
                SPACES + ["\n", "\r", "\n ", "#c\n", " # é\n", "\n\f", "\x0b", "\n\n", "\\",
                "\n#c\n"]) + text[at:]
        return text
