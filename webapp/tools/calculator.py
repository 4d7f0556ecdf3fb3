"""Exact arithmetic on one line of text, with limits on everything that could grow; nothing is run as code. Pure."""

import math
import re
from collections.abc import Callable
from decimal import Decimal, DecimalException, localcontext
from fractions import Fraction

MAX_EXPRESSION_LENGTH = 400
MAX_DEPTH = 40
MAX_BITS = 6_000
"""The most bits of a number's numerator and denominator: about 1,800 digits."""
DIGITS = 30
_PRECISION = 60

Number = Fraction
_TOKEN = re.compile(
    r"\s*(?:(?P<number>(?:\d[\d_]*(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d{1,4})?)"
    r"|(?P<name>[A-Za-zπτ]\w*|√)|(?P<sign>\*\*|//|[-+*/%^!(),×÷·−]))"
)
_SYNONYMS = {"×": "*", "·": "*", "÷": "/", "−": "-", "**": "^"}
_POWER, _SIGN, _PRODUCT, _SUM = 4, 3, 2, 1
_BINARY = {"+": _SUM, "-": _SUM, "*": _PRODUCT, "/": _PRODUCT, "//": _PRODUCT, "%": _PRODUCT, "^": _POWER}
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
    reader = _Reader(expression)
    value = reader.evaluate()
    if value.denominator == 1:
        return {"result": str(value.numerator)}
    result = {"result": _decimals(value)}
    if not reader.is_rounded and value.denominator < 1_000_000 and Fraction(result["result"]) != value:
        result["exact"] = f"{value.numerator}/{value.denominator}"
    return result


def _decimals(value: Fraction) -> str:
    with localcontext() as context:
        context.prec = DIGITS
        rounded = +(Decimal(value.numerator) / Decimal(value.denominator))
    text = format(rounded, "f") if -20 < rounded.adjusted() < 40 else str(rounded)
    return text.rstrip("0").rstrip(".") if "." in text and "E" not in text else text


class _Reader:
    """Reads an expression by precedence; every intermediate number is kept within bounds."""

    def __init__(self, text: str) -> None:
        self._tokens = _tokens(text)
        self._index = 0
        self._depth = 0
        self.is_rounded = False

    def evaluate(self) -> Number:
        value = self._part(0)
        if self._index < len(self._tokens):
            raise Unanswerable(f"“{self._tokens[self._index][1]}” does not fit there.")
        return value

    def _part(self, least: int) -> Number:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise Unanswerable("There are too many brackets inside each other.")
        value = self._operand()
        while True:
            sign = self._sign()
            if sign == "!":
                self._index += 1
                value = _factorial(value)
            elif sign == "%" and not self._begins_operand(self._index + 1):
                self._index += 1
                value = value / 100
            elif sign in _BINARY and _BINARY[sign] >= max(least, 1):
                self._index += 1
                # Powers group from the right, everything else from the left.
                rest = self._part(_BINARY[sign] + (0 if sign == "^" else 1))
                value = _check_size(self._apply(sign, value, rest))
            else:
                self._depth -= 1
                return value

    def _operand(self) -> Number:
        if self._index >= len(self._tokens):
            raise Unanswerable("The expression ends too early.")
        kind, text = self._tokens[self._index]
        self._index += 1
        if kind == "number":
            return _check_size(Fraction(Decimal(text.replace("_", ""))))
        if kind == "name":
            return self._read_name(text)
        if text in "+-":
            value = self._part(_SIGN)
            return -value if text == "-" else value
        if text == "(":
            value = self._part(0)
            self._close_bracket()
            return value
        raise Unanswerable(f"“{text}” does not fit there.")

    def _read_name(self, name: str) -> Number:
        key = name.lower() if name.isascii() else name
        if key == "√":
            return self._call("sqrt", [self._part(_POWER)])
        if key in _CONSTANTS:
            self.is_rounded = True
            return _CONSTANTS[key]
        if self._sign() != "(":
            raise Unanswerable(f"“{name[:20]}” is not known here.")
        self._index += 1
        values = [] if self._sign() == ")" else [self._part(0)]
        while self._sign() == ",":
            self._index += 1
            values.append(self._part(0))
        self._close_bracket()
        return self._call(key, values)

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

    def _apply(self, sign: str, first: Number, other: Number) -> Number:
        if sign == "+":
            return first + other
        if sign == "-":
            return first - other
        if sign == "*":
            return first * other
        if sign == "^":
            return self._power(first, other)
        if other == 0:
            raise Unanswerable("Nothing can be divided by zero.")
        return first / other if sign == "/" else Fraction(first // other) if sign == "//" else first % other

    def _power(self, base: Number, exponent: Number) -> Number:
        if exponent.denominator == 1:
            size = max(base.numerator.bit_length(), base.denominator.bit_length())
            if base not in (0, 1, -1) and abs(exponent.numerator) * max(size - 1, 1) > MAX_BITS:
                raise Unanswerable("That number is too large to write down.")
            if base == 0 and exponent < 0:
                raise Unanswerable("Nothing can be divided by zero.")
            return Fraction(base**exponent.numerator)
        if base < 0:
            raise Unanswerable("A root of a negative number is not a real number.")
        self.is_rounded = True
        return _in_decimals(lambda: _decimal(base) ** _decimal(exponent))

    def _sign(self) -> str:
        if self._index < len(self._tokens) and self._tokens[self._index][0] == "sign":
            return self._tokens[self._index][1]
        return ""

    def _begins_operand(self, index: int) -> bool:
        return index < len(self._tokens) and (self._tokens[index][0] != "sign" or self._tokens[index][1] == "(")

    def _close_bracket(self) -> None:
        if self._sign() != ")":
            raise Unanswerable("A bracket is not closed.")
        self._index += 1


def _tokens(text: str) -> list[tuple[str, str]]:
    # 1,234,567.5 is one number; in "max(1,234)" the comma separates two values nonetheless.
    if "(" not in text:
        text = re.sub(r"(?<=\d),(?=\d{3}(?!\d))", "", text)
    tokens, index, text = [], 0, text.rstrip(" =\n\t")
    while index < len(text):
        match = _TOKEN.match(text, index)
        if match is None:
            raise Unanswerable(f"“{text[index:].strip()[:20]}” is not arithmetic.")
        kind = match.lastgroup or ""
        tokens.append((kind, _SYNONYMS.get(match[kind], match[kind])))
        index = match.end()
    if not tokens:
        raise Unanswerable("There is nothing to calculate.")
    return tokens


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
