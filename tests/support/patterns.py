"""Find every regular expression of the product, and inputs that make a bad one slow.

Patterns are found in three ways: compiled ones by walking what each module holds, and those that are written as a
literal in a call of `re`, at the top or inside a function, from the source. What is put into such a literal when the
function runs is resolved in the module, or stands as a plain word.
"""

import ast
import importlib
import pkgutil
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

_CALLS = {"compile", "sub", "subn", "search", "match", "fullmatch", "split", "findall", "finditer"}
_ANCHORED = {"match", "fullmatch"}
_WORD = "wort"
_DEEPEST = 6


@dataclass(frozen=True)
class Found:
    """A pattern, where it stands, and whether it is only ever tried at one place of a text (`match`, `fullmatch`)."""

    where: str
    pattern: re.Pattern[Any]
    anchored: bool


def patterns(package: str) -> list[Found]:
    """Return each pattern of a package once, by its text and flags."""
    path = importlib.import_module(package).__path__
    names = [package, *(info.name for info in pkgutil.walk_packages(path, f"{package}."))]
    modules = [importlib.import_module(name) for name in names if not name.endswith("__main__")]
    held = {module: list(_module_patterns(module)) for module in modules}
    labels = {label.partition("[")[0] for those in held.values() for label, _ in those}
    # Parsing all of a package takes two seconds, and most of it mentions no pattern.
    mentions = re.compile(rf"\b(?:re|{'|'.join(labels)})\b")
    nodes: dict[ModuleType, list[ast.AST]] = {}
    for module in modules:
        source = Path(str(module.__file__)).read_text(encoding="utf-8")
        if held[module] or mentions.search(source):
            nodes[module] = list(ast.walk(ast.parse(source)))
    methods = {module: _methods(those) for module, those in nodes.items()}
    found: dict[tuple[str | bytes, int], Found] = {}
    for module, those in nodes.items():
        for label, pattern in held[module]:
            called = label.partition("[")[0]
            where = [module] if called.startswith("_") else methods
            used = set().union(*(methods[each].get(called, ()) for each in where)) or {"search"}
            _add(found, Found(f"{module.__name__}.{label}", pattern, used <= _ANCHORED))
        for line, call, pattern in _literal_patterns(those, vars(module)):
            _add(found, Found(f"{module.__name__}:{line}", pattern, call in _ANCHORED))
    return list(found.values())


def _add(found: dict[tuple[str | bytes, int], Found], new: Found) -> None:
    key = (new.pattern.pattern, new.pattern.flags)
    old = found.get(key)
    if old is None or (old.anchored and not new.anchored):
        found[key] = new


def _methods(nodes: list[ast.AST]) -> dict[str, set[str]]:
    """Return which methods a module calls on each name; `other` where it is passed on."""
    found: dict[str, set[str]] = {}
    direct = set()
    for node in nodes:
        if isinstance(node, ast.Attribute):
            owner = node.value
            while isinstance(owner, ast.Subscript):
                owner = owner.value
            if label := _label(owner):
                direct.add(id(owner))
                found.setdefault(label, set()).add(node.attr)
    for node in nodes:
        used = isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Load)
        if used and id(node) not in direct and (label := _label(node)):
            found.setdefault(label, set()).add("other")
    return found


def _label(node: ast.AST) -> str | None:
    if isinstance(node, ast.Name):
        return node.id
    return node.attr if isinstance(node, ast.Attribute) else None


def _module_patterns(module: Any) -> Iterator[tuple[str, re.Pattern[Any]]]:
    for name, value in vars(module).items():
        yield from _inside(name, value, module.__name__, 0, set())


def _inside(name: str, value: Any, module: str, depth: int, seen: set[int]) -> Iterator[tuple[str, re.Pattern[Any]]]:
    if isinstance(value, re.Pattern):
        yield name, value
        return
    if depth == _DEEPEST or id(value) in seen:
        return
    seen.add(id(value))
    if isinstance(value, dict):
        parts = [*value.values(), *value]
    elif isinstance(value, list | tuple | set | frozenset):
        parts = list(value)
    elif isinstance(value, type) and value.__module__ == module:
        parts = list(vars(value).values())
    elif type(value).__module__.startswith(("webapp", "jobs")):
        parts = list(getattr(value, "__dict__", {}).values())
    elif isinstance(value, FunctionType) and value.__module__ == module:
        parts = [cell.cell_contents for cell in value.__closure__ or () if _is_filled(cell)]
    else:
        return
    for part in parts:
        yield from _inside(f"{name}[]", part, module, depth + 1, seen)


def _is_filled(cell: Any) -> bool:
    try:
        cell.cell_contents  # noqa: B018
    except ValueError:
        return False
    return True


def _literal_patterns(nodes: list[ast.AST], names: dict[str, Any]) -> Iterator[tuple[int, str, re.Pattern[Any]]]:
    if names.get("re") is not re:
        return
    functions = [node for node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)]
    inside = {id(node) for function in functions for node in ast.walk(function)}
    for node in nodes:
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _CALLS):
            continue
        if node.func.attr == "compile" and id(node) not in inside:
            continue  # a module holds it
        if not (isinstance(node.func.value, ast.Name) and node.func.value.id == "re" and node.args):
            continue
        text = _text(node.args[0], names)
        if text is None or isinstance(text, re.Pattern):
            continue
        flags = 0
        for keyword in node.keywords:
            if keyword.arg == "flags":
                flags = _value(keyword.value, names) or 0
        place = {"compile": 1, "search": 2, "match": 2, "fullmatch": 2, "findall": 2, "finditer": 2}.get(node.func.attr)
        if place and len(node.args) > place:
            flags = _value(node.args[place], names) or 0
        yield node.lineno, node.func.attr, re.compile(text, flags)


def _value(node: ast.AST, names: dict[str, Any]) -> Any:
    try:
        return eval(compile(ast.Expression(node), "<pattern>", "eval"), {**names})  # type: ignore[arg-type]  # noqa: S307
    except Exception:
        return None


def _text(node: ast.AST, names: dict[str, Any]) -> Any:
    value = _value(node, names)
    if isinstance(value, str | bytes | re.Pattern):
        return value
    if isinstance(node, ast.JoinedStr):
        parts = [part.value if isinstance(part, ast.Constant) else _part(part, names) for part in node.values]
        return "".join(parts)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Mod):
        left, right = _text(node.left, names), _text(node.right, names)
        if isinstance(left, bytes):
            return left.replace(b"%d", b"1")
        return (left or "") + (right or "")
    return None


def _part(node: ast.AST, names: dict[str, Any]) -> str:
    value = _value(node.value, names) if isinstance(node, ast.FormattedValue) else None
    return value if isinstance(value, str) else _WORD
