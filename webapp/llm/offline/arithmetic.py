"""Sums in a sentence, worked out without evaluating code; pure."""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable
from fractions import Fraction

_SIGNS = r"[\d\s.,()+\-*/^%×÷xX·−]"
_RUN = re.compile(rf"{_SIGNS}+")
_EXPRESSION = re.compile(rf"[-+(]?\s{{0,9}}[\d(]{_SIGNS}{{0,100}}[\d)%]")
_LONGEST = 80
_WORDS = (
    (r"\bplus\b", "+"),
    (r"\bminus\b", "-"),
    (r"\btimes\b|\bmultiplied by\b", "*"),
    (r"\bdivided by\b|\bover\b", "/"),
    (r"\bto the power of\b", "^"),
    (r"%\s*of\b|\bper\s?cent of\b", "/100*"),
)
_OPERATORS: dict[type[ast.AST], Callable[[Fraction, Fraction], Fraction]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Mod: operator.mod,
}


def solve(text: str) -> tuple[str, str] | None:
    """The first sum in `text` and its result, both as text; None if there is none or it cannot be worked out."""
    for pattern, sign in _WORDS:
        text = re.sub(pattern, sign, text, flags=re.IGNORECASE)
    for run in _RUN.findall(text):
        found = _EXPRESSION.search(run) if len(run.strip()) <= _LONGEST else None
        shown = found[0].strip() if found else ""
        source = re.sub(r"(?<=\d),(?=\d{3}\b)", "", shown)
        source = re.sub(r"(?<=[\d\s)])[x×·](?=[\d\s(])", "*", source, flags=re.IGNORECASE)
        source = source.replace("÷", "/").replace("−", "-").replace("^", "**").strip()
        if not re.search(r"[\d)]\s*(?:\*\*|[-+*/%])\s*[-(\d]", source):
            continue
        try:
            return shown.replace("/100*", "% of"), _shown(_value(ast.parse(source, mode="eval").body))
        except (SyntaxError, ValueError, ZeroDivisionError, OverflowError, RecursionError, MemoryError):
            continue
    return None


def _value(node: ast.AST) -> Fraction:
    if isinstance(node, ast.Constant) and isinstance(node.value, (int, float)):
        return Fraction(str(node.value))
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.UAdd)):
        value = _value(node.operand)
        return -value if isinstance(node.op, ast.USub) else value
    if isinstance(node, ast.BinOp):
        left, right = _value(node.left), _value(node.right)
        if isinstance(node.op, ast.Pow):
            if right.denominator != 1 or abs(right) > 64 or abs(left) > 10**6:
                raise ValueError("too large")
            return left ** int(right)
        if operation := _OPERATORS.get(type(node.op)):
            return operation(left, right)
    raise ValueError("not a sum")


def _shown(value: Fraction) -> str:
    if value.denominator == 1:
        return f"{value.numerator:,}" if abs(value.numerator) >= 10_000 else str(value.numerator)
    return f"{float(value):,.10g}" if abs(value) >= 10_000 else f"{float(value):.10g}"
