"""What CPython itself says: the verdict that the restricted mode must agree with.

The walk is the whitelist walk in its plainest form; `extended=True` adds the operators and
functions a policy can allow, with the same bounds as runner/arithmetic/arithmetic.h.
"""
import ast
import math
import operator
import warnings

MAX_CODE_POINTS = 200
MAX_DEPTH = 32
MAX_INTEGER_BITS = 4096

warnings.simplefilter("ignore")

BINARY = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul,
    ast.Div: operator.truediv}
UNARY = {ast.UAdd: operator.pos, ast.USub: operator.neg}


class Refused(Exception):
    def __init__(self, kind, message):
        super().__init__(kind, message)
        self.kind, self.message = kind, message


def bounded(value):
    if isinstance(value, int) and value.bit_length() > MAX_INTEGER_BITS:
        raise Refused("arithmetic", f"integer is larger than {MAX_INTEGER_BITS} bits")
    return value


def power(base, exponent):
    if isinstance(base, int) and isinstance(exponent, int) and exponent >= 0 and abs(base) > 1:
        large = Refused("arithmetic", f"power is larger than {MAX_INTEGER_BITS} bits")
        if (base.bit_length() - 1) * exponent >= MAX_INTEGER_BITS:
            raise large
        if (base**exponent).bit_length() > MAX_INTEGER_BITS:
            raise large
    unreal = Refused("arithmetic", "a negative number to a fractional power is not real")
    try:
        result = base**exponent
    except OverflowError as error:
        raise unreal if str(error) == "complex exponentiation" else error
    if isinstance(result, complex):
        raise unreal
    return result


def rounded(*arguments):
    if len(arguments) == 2 and all(isinstance(a, int) for a in arguments) and arguments[1] < -2000:
        return 0
    return round(*arguments)


def total(*arguments):
    if len(arguments) == 1 and isinstance(arguments[0], list):
        partial = 0
        for element in arguments[0]:
            partial = bounded(partial + element)
        assert repr(partial) == repr(sum(arguments[0]))
    return sum(*arguments)


MORE_BINARY = {**BINARY, ast.Mod: operator.mod, ast.FloorDiv: operator.floordiv, ast.Pow: power}
FUNCTIONS = {"sqrt": math.sqrt, "round": rounded, "abs": abs, "min": min, "max": max, "sum": total}


class Walk:
    def __init__(self, extended):
        self.binary = MORE_BINARY if extended else BINARY
        self.functions = FUNCTIONS if extended else {}
        self.infinite = False

    def keep(self, value):
        if isinstance(value, float) and math.isinf(value):
            self.infinite = True
        return bounded(value)

    def visit(self, node, depth=0):
        self.check_depth(depth)
        kind = type(node)
        if kind is ast.Constant and type(node.value) in (int, float):
            return self.keep(node.value)
        if kind is ast.BinOp and type(node.op) in self.binary:
            left = self.visit(node.left, depth + 1)
            return self.keep(self.binary[type(node.op)](left, self.visit(node.right, depth + 1)))
        if kind is ast.UnaryOp and type(node.op) in UNARY:
            return self.keep(UNARY[type(node.op)](self.visit(node.operand, depth + 1)))
        if kind is ast.Call and type(node.func) is ast.Name and not node.keywords:
            if node.func.id in self.functions:
                return self.keep(self.call(node.func.id, node.args, depth))
        raise Refused("whitelist", f"{kind.__name__} is not on the arithmetic whitelist")

    def check_depth(self, depth):
        if depth > MAX_DEPTH:
            raise Refused("depth", f"expression nests deeper than {MAX_DEPTH} levels")

    def call(self, name, arguments, depth):
        function = self.functions[name]
        if name in ("min", "max", "sum") and len(arguments) == 1:
            if isinstance(arguments[0], (ast.List, ast.Tuple)):
                self.check_depth(depth + 1)
                return function([self.visit(e, depth + 2) for e in arguments[0].elts])
        return function(*[self.visit(a, depth + 1) for a in arguments])


def evaluate(text, extended):
    if len(text) > MAX_CODE_POINTS:
        raise Refused(
            "length", f"expression is {len(text)} characters; the limit is {MAX_CODE_POINTS}"
        )
    try:
        tree = ast.parse(text, mode="eval")
    except (SyntaxError, ValueError, MemoryError, RecursionError) as error:
        raise Refused("syntax", f"not a valid expression: {error}") from error
    walk = Walk(extended)
    try:
        value = walk.visit(tree.body)
    except (ArithmeticError, ValueError, TypeError) as error:
        raise Refused("arithmetic", str(error)) from error
    if isinstance(value, float) and not math.isfinite(value):
        raise Refused("not_finite", f"result is not a finite number: {value}")
    verdict = {"value": repr(value)}
    if walk.infinite:
        verdict["note"] = "an intermediate was infinite"
    return verdict


def verdict(reply, extended=False):
    text = reply.strip()
    if not text or text.upper() == "NONE":
        return {"declined": True}
    try:
        return evaluate(text, extended)
    except Refused as refused:
        return {"refused": refused.kind, "message": refused.message}


def is_excused(expected):
    """The one exception: that Unicode has no such name as in \\N{...} takes its table to know."""
    return "unknown Unicode character name" in expected.get("message", "")


def same(expected, actual):
    """Equal but for the hint, and for the words of a syntax error."""
    actual = {key: value for key, value in actual.items() if key != "hint"}
    if expected.get("refused") == "syntax":
        prefix = "not a valid expression: "
        return actual.get("refused") == "syntax" and actual["message"].startswith(prefix)
    return expected == actual
