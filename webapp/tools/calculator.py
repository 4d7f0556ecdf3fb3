"""Exact arithmetic on one line of text, with limits on everything that could grow. Python's parser reads it; nothing is
run as code. Pure."""

import ast
import math
import operator
import re
from collections.abc import Callable
from decimal import Decimal, DecimalException, localcontext
from fractions import Fraction

MAX_EXPRESSION_LENGTH = 400
MAX_BITS = 6_000
"""The most bits of a number's numerator and denominator: about 1,800 digits."""
DIGITS = 30
_PRECISION = 60

Number = Fraction
_ARITHMETIC = re.compile(r"(?:(?!\d(?![eE][+-]?\d)[^\W\d_])[\w .,()+\-*/%^!√×·÷−])+")
"""The signs that an expression may have; no letter stands directly behind a number."""
_AS_PYTHON = (
    (r"[×·]", " * "),
    (r"÷", " / "),
    (r"−", "-"),
    (r"\d", lambda digit: str(int(digit[0]))),
    (r"(?<![\w.])0+(?=\d)", ""),
    (r"%(?= ?(?:[-+*/%^!),]|$))", " .percent"),
    (r"!", " .factorial"),
    (r"\^", "**"),
    (r"√", "~"),
)
"""People's spelling in Python's: an attribute binds as tightly as a sign behind a number, ~ as a root before it."""
_OPERATIONS: dict[type[ast.operator], Callable[[Fraction, Fraction], Fraction]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: lambda first, other: Fraction(first // other),
    ast.Mod: operator.mod,
}
_CONSTANTS = {
    "pi": Fraction(Decimal("3.14159265358979323846264338327950288419716939937510582097494")),
    "e": Fraction(Decimal("2.71828182845904523536028747135266249775724709369995957496697")),
}
_CONSTANTS |= {"π": _CONSTANTS["pi"], "tau": 2 * _CONSTANTS["pi"], "τ": 2 * _CONSTANTS["pi"]}


class Unanswerable(ValueError):
    """The expression has no answer here; the message is a sentence."""


def calculate(expression: str) -> dict[str, str]:
    """Return an expression's value: `result` in decimals, `exact` if a fraction. Raises Unanswerable."""
    if len(expression) > MAX_EXPRESSION_LENGTH:
        raise Unanswerable(f"An expression has at most {MAX_EXPRESSION_LENGTH} characters.")
    reader = _Reader(_as_python(expression))
    try:
        value = reader.value(ast.parse(reader.text, mode="eval").body)
    except ZeroDivisionError:
        raise Unanswerable("Nothing can be divided by zero.") from None
    except (SyntaxError, RecursionError, MemoryError):
        raise Unanswerable(f"“{expression[:40]}” is not arithmetic.") from None
    if value.denominator == 1:
        return {"result": str(value.numerator)}
    result = {"result": _decimals(value)}
    if not reader.is_rounded and value.denominator < 1_000_000 and Fraction(result["result"]) != value:
        result["exact"] = f"{value.numerator}/{value.denominator}"
    return result


def _as_python(expression: str) -> str:
    text = " ".join(expression.split()).rstrip(" =")
    # 1,234,567.5 is one number; in "max(1,234)" the comma separates two values nonetheless.
    if "(" not in text:
        text = re.sub(r"(?<=\d),(?=\d{3}(?!\d))", "", text)
    if not _ARITHMETIC.fullmatch(text):
        raise Unanswerable(f"“{expression[:40]}” is not arithmetic.")
    for pattern, replacement in _AS_PYTHON:
        text = re.sub(pattern, replacement, text)
    return text


def _decimals(value: Fraction) -> str:
    with localcontext() as context:
        context.prec = DIGITS
        rounded = +(Decimal(value.numerator) / Decimal(value.denominator))
    text = format(rounded, "f") if -20 < rounded.adjusted() < 40 else str(rounded)
    return text.rstrip("0").rstrip(".") if "." in text and "E" not in text else text


class _Reader:
    """Evaluates an expression; every intermediate number is kept within bounds."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.is_rounded = False

    def value(self, node: ast.expr) -> Number:
        text = ast.get_source_segment(self.text, node) or ""
        match node:
            case ast.Constant(value=int() | float()) if text[:1] in "0123456789.":
                return _number(text)
            case ast.Name() if text.lower() in _CONSTANTS:
                self.is_rounded = True
                return _CONSTANTS[text.lower()]
            case ast.UnaryOp(op=ast.USub()):
                return -self.value(node.operand)
            case ast.UnaryOp(op=ast.UAdd()):
                return self.value(node.operand)
            case ast.UnaryOp(op=ast.Invert()):
                return self._call("sqrt", [self.value(node.operand)])
            case ast.Attribute(attr="percent"):
                return self.value(node.value) / 100
            case ast.Attribute(attr="factorial"):
                return _factorial(self.value(node.value))
            case ast.BinOp(op=ast.Pow()):
                return _check_size(self._power(self.value(node.left), self.value(node.right)))
            case ast.BinOp() if work := _OPERATIONS.get(type(node.op)):
                return _check_size(work(self.value(node.left), self.value(node.right)))
            case ast.Call(func=ast.Name(id=name), keywords=[]):
                return self._call(name.lower(), list(map(self.value, node.args)))
        raise Unanswerable(f"“{text[:20]}” is not known here.")

    def _call(self, name: str, values: list[Number]) -> Number:
        if name in _EXACT:
            least, most, work = _EXACT[name]
        elif name in _ROUNDED:
            least, most, work = 1, 1, lambda operands: _ROUNDED[name](operands[0])
        else:
            raise Unanswerable(f"There is no function “{name[:20]}” here.")
        if not least <= len(values) <= most:
            raise Unanswerable(f"“{name}” takes {least if least == most else f'{least} or more'} values.")
        if name == "sqrt" and (root := _exact_root(values[0])) is not None:
            return root
        self.is_rounded |= name in _ROUNDED
        return _check_size(work(values))

    def _power(self, base: Number, exponent: Number) -> Number:
        if exponent.denominator == 1:
            size = max(base.numerator.bit_length(), base.denominator.bit_length())
            if base not in (0, 1, -1) and abs(exponent.numerator) * max(size - 1, 1) > MAX_BITS:
                raise Unanswerable("That number is too large to write down.")
            return Fraction(base**exponent.numerator)
        if base < 0:
            raise Unanswerable("A root of a negative number is not a real number.")
        self.is_rounded = True
        return _in_decimals(lambda: _decimal(base) ** _decimal(exponent))


def _number(text: str) -> Number:
    try:
        value = Decimal(text.replace("_", ""))
    except DecimalException:
        raise Unanswerable(f"“{text[:20]}” is not known here.") from None
    if abs(value.adjusted()) > MAX_BITS:
        raise Unanswerable("That number is too large to write down.")
    return _check_size(Fraction(value))


def _check_size(value: Number) -> Number:
    if max(value.numerator.bit_length(), value.denominator.bit_length()) > MAX_BITS:
        raise Unanswerable("That number is too large to write down.")
    return value


def _decimal(value: Number) -> Decimal:
    return Decimal(value.numerator) / Decimal(value.denominator)


def _in_decimals(work: Callable[[], Decimal]) -> Number:
    with localcontext() as context:
        context.prec, context.Emax, context.Emin = _PRECISION, 1_500, -1_500
        try:
            return _check_size(Fraction(work()))
        except (DecimalException, ValueError, OverflowError):
            raise Unanswerable("That has no answer in real numbers of a sensible size.") from None


def _factorial(value: Number) -> Number:
    if value.denominator != 1 or not 0 <= value <= 500:
        raise Unanswerable("A factorial takes whole numbers from 0 to 500.")
    return _check_size(Fraction(math.factorial(value.numerator)))


def _exact_root(value: Number) -> Number | None:
    if value < 0:
        raise Unanswerable("A root of a negative number is not a real number.")
    over, under = math.isqrt(value.numerator), math.isqrt(value.denominator)
    return Fraction(over, under) if over * over == value.numerator and under * under == value.denominator else None


def _round(values: list[Number]) -> Number:
    places = values[1] if len(values) > 1 else Fraction(0)
    if places.denominator != 1 or abs(places) > 100:
        raise Unanswerable("“round” takes a whole number of places.")
    scale = Fraction(10) ** places.numerator
    scaled = abs(values[0]) * scale
    nearest = Fraction(math.floor(scaled + Fraction(1, 2))) / scale  # half away from zero, as people round
    return nearest if values[0] >= 0 else -nearest


def _float(work: Callable[[float], float]) -> Callable[[Number], Number]:
    def run(value: Number) -> Number:
        try:
            return Fraction(Decimal(format(work(float(value)), ".14g")))
        except (DecimalException, ValueError, OverflowError):
            raise Unanswerable("That has no answer in real numbers of a sensible size.") from None

    return run


_ANY = 50
_EXACT: dict[str, tuple[int, int, Callable[[list[Number]], Number]]] = {
    "abs": (1, 1, lambda values: abs(values[0])),
    "floor": (1, 1, lambda values: Fraction(math.floor(values[0]))),
    "ceil": (1, 1, lambda values: Fraction(math.ceil(values[0]))),
    "round": (1, 2, _round),
    "min": (1, _ANY, min),
    "max": (1, _ANY, max),
    "sum": (1, _ANY, lambda values: sum(values, Fraction(0))),
    "mean": (1, _ANY, lambda values: sum(values, Fraction(0)) / len(values)),
}
_ROUNDED: dict[str, Callable[[Number], Number]] = {
    "sqrt": lambda value: _in_decimals(lambda: _decimal(value).sqrt()),
    "exp": lambda value: _in_decimals(lambda: _decimal(value).exp()),
    "ln": lambda value: _in_decimals(lambda: _decimal(value).ln()),
    "log": lambda value: _in_decimals(lambda: _decimal(value).log10()),
    "log10": lambda value: _in_decimals(lambda: _decimal(value).log10()),
    "sin": _float(math.sin),
    "cos": _float(math.cos),
    "tan": _float(math.tan),
    "asin": _float(math.asin),
    "acos": _float(math.acos),
    "atan": _float(math.atan),
}
