"""Random Python expressions: as text, by the grammar's own rules with a little disobedience, and as
trees for ast.unparse."""
import ast

NAMES = ["x", "y", "a", "b", "f", "match", "case", "_", "\u00e9t\u00e9", "sqrt", "max", "print",
    "\ufb01", "\u212b"]
BINARY = ["+", "-", "*", "/", "//", "%", "@", "**", "<<", ">>", "&", "|", "^"]
COMPARE = ["<", ">", "<=", ">=", "==", "!=", "in", "not in", "is", "is not"]


class Grammar:
    def __init__(self, random):
        self.random = random
        self.left = 0

    def expression(self):
        self.left = self.random.choice([2, 4, 8, 16])
        return self.expr()

    def small(self):
        self.left = 3
        return self.expr()

    def pick(self, *makers):
        return self.random.choice(makers)()

    def chance(self, p):
        return self.random.random() < p

    def name(self):
        return self.random.choice(NAMES)

    def some(self, maker, least=0, most=3, trailing=0.15):
        items = [maker() for _ in range(self.random.randrange(least, most + 1))]
        text = self.random.choice([", ", ","]).join(items)
        return text + ("," if items and self.chance(trailing) else "")

    def expr(self):
        self.left -= 1
        if self.left < 0:
            return self.leaf()
        return self.pick(
            self.leaf, self.binary, self.binary, self.unary, self.compare, self.boolean,
                self.ternary, self.lambda_,
            self.call, self.call, self.subscript, self.attribute, self.display, self.display,
                self.comprehension,
            self.group, self.await_, self.string, self.operand,
        )

    def operand(self):
        """What binds tightly; now and then something that does not."""
        if self.chance(0.08) or self.left < 0:
            return self.expr() if self.left > 0 else self.leaf()
        self.left -= 1
        return self.pick(self.leaf, self.leaf, self.group, self.call, self.attribute,
            self.subscript, self.display, self.string)

    def leaf(self):
        return self.random.choice(
            [self.name(), self.name(), "1", "2.5", "0x1F", "1j", "True", "None", "...", "'s'",
            "b'b'", "10_000", "1e400"]
        )

    def binary(self):
        return f"{self.operand()} {self.random.choice(BINARY)} {self.operand()}"

    def unary(self):
        return self.random.choice(["-", "+", "~", "not ", "not not ", "- -"]) + self.operand()

    def compare(self):
        text = self.operand()
        for _ in range(self.random.choice([1, 1, 2])):
            text += f" {self.random.choice(COMPARE)} {self.operand()}"
        return text

    def boolean(self):
        return f" {self.random.choice(['and', 'or'])} ".join(self.operand()
            for _ in range(self.random.choice([2, 3])))

    def ternary(self):
        return f"{self.operand()} if {self.operand()} else {self.expr()}"

    def await_(self):
        return f"await {self.operand()}"

    def group(self):
        inner = self.pick(self.expr, self.expr, self.walrus, self.yield_, self.generator,
            self.starred)
        return f"({inner})" if not self.chance(0.15) else f"({inner},)"

    def walrus(self):
        return f"{self.name()} := {self.expr()}"

    def starred(self):
        return f"*{self.operand()}"

    def yield_(self):
        return self.pick(
            lambda: "yield", lambda: f"yield {self.expr()}", lambda: f"yield from {self.expr()}",
            lambda: f"yield {self.some(self.element, 1)}",
        )

    def element(self):
        kind = self.random.random()
        if kind < 0.12:
            return self.starred()
        return self.walrus() if kind < 0.2 else self.expr()

    def generator(self):
        return f"{self.element()} {self.clauses()}"

    def clauses(self):
        text = ""
        for _ in range(self.random.choice([1, 1, 2])):
            text += self.random.choice(["", "", "", "async "])
            text += f"for {self.targets()} in {self.operand()} "
            for _ in range(self.random.choice([0, 0, 1, 2])):
                text += f"if {self.pick(self.operand, self.operand, self.expr)} "
        return text.rstrip() if self.chance(0.5) else text

    def targets(self):
        if self.chance(0.4):
            return self.name()
        return self.some(self.target, 1, 3)

    def target(self, depth=0):
        kind = self.random.random()
        if kind < 0.35 or depth > 2:
            return self.name()
        if kind < 0.45:
            return f"*{self.target(depth + 1)}"
        if kind < 0.55:
            return f"{self.operand()}.{self.name()}"
        if kind < 0.65:
            return f"{self.operand()}[{self.slices()}]"
        if kind < 0.75:
            return f"({self.target(depth + 1)})"
        if kind < 0.85:
            return f"({self.some(lambda: self.target(depth + 1), 0, 3, 0.5)})"
        if kind < 0.95:
            return f"[{self.some(lambda: self.target(depth + 1), 0, 3)}]"
        return self.operand()

    def call(self):
        if self.chance(0.12):
            return f"{self.operand()}({self.generator()})"
        return f"{self.operand()}({self.some(self.argument)})"

    def argument(self):
        kind = self.random.random()
        if kind < 0.5:
            return self.expr()
        if kind < 0.7:
            return f"{self.name()}={self.expr()}"
        if kind < 0.8:
            return f"*{self.expr()}"
        if kind < 0.9:
            return f"**{self.expr()}"
        return self.walrus() if kind < 0.96 else self.generator()

    def subscript(self):
        return f"{self.operand()}[{self.slices()}]"

    def slices(self):
        return self.some(self.slice, 1, 2) if self.chance(0.95) else ""

    def slice(self):
        kind = self.random.random()
        if kind < 0.4:
            return self.element()
        bound = lambda: self.expr() if self.chance(0.5) else ""
        return f"{bound()}:{bound()}" + (f":{bound()}" if self.chance(0.3) else "")

    def attribute(self):
        base = self.operand()
        return f"{base}.{self.name()}"

    def display(self):
        kind = self.random.randrange(4)
        if kind == 0:
            return f"[{self.some(self.element)}]"
        if kind == 1:
            return f"({self.some(self.element)})"
        if kind == 2:
            return "{" + self.some(self.element) + "}"
        return "{" + self.some(self.pair) + "}"

    def pair(self):
        if self.chance(0.15):
            return f"**{self.operand()}"
        return f"{self.expr()}: {self.expr()}"

    def comprehension(self):
        kind = self.random.randrange(4)
        if kind == 0:
            return f"[{self.generator()}]"
        if kind == 1:
            return f"({self.generator()})"
        if kind == 2:
            return "{" + self.generator() + "}"
        return "{" + f"{self.pair()} {self.clauses()}" + "}"

    def lambda_(self):
        return f"lambda {self.some(self.parameter, 0, 4)}: {self.expr()}"

    def parameter(self):
        kind = self.random.random()
        if kind < 0.45:
            return self.name()
        if kind < 0.65:
            return f"{self.name()}={self.expr()}"
        if kind < 0.75:
            return "/"
        if kind < 0.82:
            return "*"
        if kind < 0.91:
            return f"*{self.name()}"
        return f"**{self.name()}"

    # strings

    def string(self):
        prefix = self.random.choice(
            ["", "", "", "f", "f", "f", "r", "b", "rb", "bR", "fr", "Rf", "u", "F", "B", "ur",
            "bf"])
        quote = self.random.choice(["'", '"', "'''", '"""'])
        formatted = "f" in prefix.lower()
        pieces = [
            self.replacement(quote) if formatted and self.chance(0.5) else self.piece()
            for _ in range(self.random.choice([0, 1, 1, 2, 3]))
        ]
        return prefix + quote + "".join(pieces) + quote

    def piece(self):
        return self.random.choice(
            ["a", " ", "1", "é", "\\n", "\\x41", "\\x4", "\\u0041", "\\u41", "\\U00000041",
            "\\U00110000", "\\N", "\\N{", "\\N{}",
             "\\101", "\\9", "\\'", '\\"', "\\\\", "\\\n", "\n", "{{", "}}", "{", "}", "\\{", "#",
                 "'", '"', "\\é", "\U0001f600", "\\q"]
        )

    def replacement(self, quote, depth=0):
        self.left = min(self.left, 3)
        other = {"'": '"', '"': "'", "'''": '"', '"""': "'"}[quote]
        inner = self.pick(
            self.name, self.name, self.expr, self.expr, self.yield_, self.walrus, self.starred,
            lambda: f"x[{other}k{other}]", lambda: f"f{other}{{y}}{other}", lambda: "",
            lambda: " x ", lambda: "x!=y",
            lambda: self.random.choice(
            ["a=b", "a==b", "a<b", "a>=b", "a>b", "a:=b", "(a:=b)", "lambda x: 1", "{1: 2}", "(",
            ")", "a)b(", "'''"]),
        )
        text = "{" + inner
        if self.chance(0.12):
            text += self.random.choice(["=", " = ", "=="])
        if self.chance(0.25):
            text += "!" + self.random.choice(["r", "s", "a", "x", "", "rr", " r", "r ", "é"])
        if self.chance(0.3):
            text += ":" + self.random.choice(
                [">10", "", "{y}", ".{y}f", "{{", "}}", "{y:{z}}", "{y!r}", "\\x41", "\\x", "é",
                "{", "!r"])
            if depth < 2 and self.chance(0.2):
                text += self.replacement(quote, depth + 1)
        return text + ("}" if self.chance(0.95) else "")

    # trees

    def tree(self, depth):
        r = self.random
        if depth <= 0 or self.chance(0.15):
            return r.choice([
                ast.Constant(r.choice(
                [0, 1, 2.5, 10**20, 1e300, "s", b"b", None, True, ..., 2j, "{'", "\n"])),
                ast.Name(r.choice(NAMES), ast.Load()),
            ])
        sub = lambda: self.tree(depth - 1)
        target = lambda: r.choice([
            ast.Name("x", ast.Store()), ast.Attribute(sub(), "a", ast.Store()),
            ast.Subscript(sub(), sub(), ast.Store()),
            ast.Tuple([ast.Name("x", ast.Store()),
            ast.Starred(ast.Name("y", ast.Store()), ast.Store())], ast.Store()),
        ])
        clause = lambda: ast.comprehension(target(), sub(), [sub() for _ in range(r.randrange(2))],
            r.randrange(2))
        operators = [ast.Add, ast.Sub, ast.Mult, ast.Div, ast.Mod, ast.FloorDiv, ast.Pow,
            ast.MatMult, ast.LShift, ast.BitOr]
        makers = [
            lambda: ast.BinOp(sub(), r.choice(operators)(), sub()),
            lambda: ast.BinOp(sub(), r.choice(operators[:4])(), sub()),
            lambda: ast.UnaryOp(r.choice([ast.UAdd, ast.USub, ast.Not, ast.Invert])(), sub()),
            lambda: ast.BoolOp(r.choice([ast.And, ast.Or])(), [sub(), sub()]),
            lambda: ast.Compare(sub(),
            [r.choice([ast.Lt, ast.In, ast.IsNot, ast.NotIn, ast.Eq])() for _ in "ab"],
            [sub(), sub()]),
            lambda: ast.IfExp(sub(), sub(), sub()),
            lambda: ast.Call(sub(), [sub(), ast.Starred(sub(), ast.Load())],
            [ast.keyword(r.choice(["k", None]), sub())]),
            lambda: ast.Attribute(sub(), "a", ast.Load()),
            lambda: ast.Subscript(sub(),
            r.choice([sub(), ast.Slice(sub(), None, sub()),
            ast.Tuple([sub(), ast.Slice()], ast.Load())]), ast.Load()),
            lambda: ast.List([sub() for _ in range(r.randrange(3))], ast.Load()),
            lambda: ast.Tuple([sub() for _ in range(r.randrange(3))], ast.Load()),
            lambda: ast.Set([sub(), sub()]),
            lambda: ast.Dict([sub(), None], [sub(), sub()]),
            lambda: r.choice([ast.ListComp, ast.SetComp, ast.GeneratorExp])(sub(), [clause()]),
            lambda: ast.DictComp(sub(), sub(), [clause()]),
            lambda: ast.Await(sub()),
            lambda: ast.Yield(r.choice([None, sub()])),
            lambda: ast.YieldFrom(sub()),
            lambda: ast.NamedExpr(ast.Name("x", ast.Store()), sub()),
            lambda: ast.Lambda(ast.arguments([ast.arg("p")], [ast.arg("q")], ast.arg("r"),
            [ast.arg("s")], [sub()], None, [sub()]), sub()),
            lambda: ast.JoinedStr(
            [ast.Constant("t"), ast.FormattedValue(sub(), r.choice([-1, 114]), None)]),
        ]
        return r.choice(makers)()
