"""Reads the tool calls in a block of text: as JSON, as tags, as a name with JSON, or as Python; pure."""

import ast
import html
import json
import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from json_repair import repair_json

from .partial_calls import ARGUMENT_FIELDS, ToolCall, own_id

NAME_FIELDS = ("name", "tool", "tool_name", "function", "recipient_name")
_DECODER = json.JSONDecoder()
_XTML = re.compile(r"<\|(?:open|(close))\|>([^<>]{0,300})<\|sep\|>")
"""Kimi's tags."""
_SPACE = r"(?:\w{1,40}:|[|｜]\w{1,20}[|｜]\s?)?"
"""The namespace of a tag."""
_SUFFIX = r"(?::\w{1,16})?"
"""Hunyuan's, the same for all tags of an answer."""
_CALL = rf"{_SPACE}(?P<kind>(?:tool|function)_call|call|tool|function|invoke){_SUFFIX}"
_PART = rf"{_SPACE}(?:parameter|argument){_SUFFIX}"
_NAME = r"""(?:=|\s{1,9}(?:name|tool|key)\s{0,9}=)\s{0,9}["']?(?P<name>[^"'<>\s]{1,200})["']?[^<>]{0,200}>"""
_TAG = re.compile(rf"<{_CALL}{_NAME}")
_TAG_END = re.compile(rf"</{_CALL}>|\Z")
_PARAMETER = re.compile(rf"<{_PART}{_NAME}")
_PARAMETER_END = re.compile(rf"</{_PART}>|(?=\n\s{{0,99}}<{_PART}(?:=|\s))|\Z")  # not all are closed
_NAME_ELEMENT = re.compile(r"<(?:tool_)?name>\s{0,9}([^<>\s]{1,200})\s{0,9}</(?:tool_)?name>")
_KEY = re.compile(rf"<(?:longcat_)?(?P<name>arg_key){_SUFFIX}>")
_KEY_END = re.compile(rf"</(?:longcat_)?arg_key{_SUFFIX}>")
_VALUE = re.compile(rf"<(?:longcat_)?(?P<name>arg_value){_SUFFIX}>")
_VALUE_END = re.compile(rf"</(?:longcat_)?arg_value{_SUFFIX}>")
_KEYED = re.compile(
    rf"(?<![\w.-])([\w.-]{{1,200}})\s{{0,9}}(?:<tool_sep{_SUFFIX}>\s{{0,9}})?(?=<(?:longcat_)?arg_key{_SUFFIX}>)"
)
_BETWEEN = r"(?::\d+)?(?:\s|<[^<>{}]{0,60}>|\[[A-Z_]+\](?:\w{1,60}(?=\[))?|`{3}|json)*"
_BROKEN = 10_000
_QUOTED = re.compile(r"""(<\|"\|>|<escape>)(.*?)\1""", re.DOTALL)
"""A text between marks of its own instead of quotation marks."""


class WrittenCalls:
    """A reader of calls of the tools with these names; `types` are the JSON types of their parameters."""

    def __init__(self, names: Collection[str], types: Mapping[str, Mapping[str, str]]) -> None:
        self._names = frozenset(names)
        self._types = types
        self._count = 0
        any_name = "|".join(map(re.escape, sorted(self._names, key=len, reverse=True))) or "(?!)"
        self._before_json = re.compile(rf"(?<![\w-])({any_name}){_BETWEEN}(?={{)")
        self._python = re.compile(rf"(?<![\w-])({any_name})(?:\.call)?\(")

    def read(self, block: str, *, is_whole: bool = True) -> Iterator[ToolCall]:
        """Yield the calls in a block; none if it has no readable one. Of one that was cut off only whole ones count."""
        block = _QUOTED.sub(lambda match: json.dumps(match[2], ensure_ascii=False), block)
        block = _XTML.sub(lambda match: f"<{'/' if match[1] else ''}{match[2]}>", block)
        closed = block if is_whole else block[: [0, *(end.end() for end in _TAG_END.finditer(block))][-2]]
        exact = [*self._read_tags(closed)] or [*self._json(block)] or [*self._named_elements(closed)]
        yield from exact
        if is_whole and not exact:
            for reader in (self._named_json, self._repair_calls, self._as_python, self._name_alone):
                calls = list(reader(block))
                yield from calls
                if calls:
                    return

    def _read_tags(self, block: str) -> Iterator[ToolCall]:
        for name, body in _elements(block, _TAG, _TAG_END):
            yield from self._read_body(name, body)
        for name, pairs in _parts(_KEYED, block):
            keys = [key.strip() for _, key in _elements(pairs, _KEY, _KEY_END)]
            values = [value for _, value in _elements(pairs, _VALUE, _VALUE_END)]
            arguments = {key: self._parse_value(name, key, value) for key, value in zip(keys, values, strict=False)}
            yield from self._call(name, arguments)

    def _named_elements(self, block: str) -> Iterator[ToolCall]:
        for name, body in _parts(_NAME_ELEMENT, block):
            yield from self._read_body(name, body)

    def _read_body(self, name: str, body: str) -> Iterator[ToolCall]:
        """Yield a call with the arguments in a text: as elements or in JSON."""
        parameters = list(_elements(body, _PARAMETER, _PARAMETER_END)) or self._children(name, body)
        if parameters:
            yield from self._call(name, {key: self._parse_value(name, key, value) for key, value in parameters})
        else:
            start = body.find("{")
            yield from self._call(name, _object(body[start:]) if start >= 0 else {})

    def _children(self, name: str, body: str) -> list[tuple[str, str]]:
        """Return the elements of a call that are named like its parameters."""
        keys = self._types.get(known_name(name, self._names), {})
        parts = ((key, body.partition(f"<{key}>")[2].partition(f"</{key}>")) for key in keys)
        return [(key, value) for key, (value, end, _) in parts if end]

    def _json(self, block: str) -> Iterator[ToolCall]:
        index = 0
        while (index := block.find("{", index)) >= 0:
            try:
                value, end = _DECODER.raw_decode(block, index)
            except (ValueError, RecursionError):
                index += 1
                continue
            index = end
            yield from self._from_object(value)

    def _named_json(self, block: str) -> Iterator[ToolCall]:
        for match in self._before_json.finditer(block):
            yield from self._call(match[1], _object(block[match.end() :]))

    def _repair_calls(self, block: str) -> Iterator[ToolCall]:
        start = block.find("{")
        if start >= 0 and len(block) <= _BROKEN:
            end = block.rfind("</")
            yield from self._from_object(_repair(block[start : end if end > start else None]))

    def _as_python(self, block: str) -> Iterator[ToolCall]:
        for call in self._python.finditer(block):
            for end in (match.end() for match in re.finditer(r"\)", block[call.start() :])):
                try:
                    tree = ast.parse(block[call.start() : call.start() + end], mode="eval").body
                    if not isinstance(tree, ast.Call) or tree.args:
                        break
                    arguments = {str(word.arg): _literal(word.value) for word in tree.keywords}
                except (ValueError, SyntaxError, RecursionError, MemoryError):
                    continue
                yield from self._call(call[1], arguments)
                break

    def _name_alone(self, block: str) -> Iterator[ToolCall]:
        if (name := inner_text(block)) in self._names:
            yield from self._call(name, {})

    def _from_object(self, value: Any) -> Iterator[ToolCall]:
        if not isinstance(value, dict):
            return
        if isinstance(several := value.get("tool_calls") or value.get("tool_uses"), list):
            for inner in several:
                yield from self._from_object(inner)
            return
        inner = value.get("function")
        if isinstance(inner, dict):
            value = inner
        name = next((value[field] for field in NAME_FIELDS if isinstance(value.get(field), str)), "")
        if not name and len(value) == 1:
            ((name, arguments),) = value.items()
        else:
            arguments = next((value[field] for field in ARGUMENT_FIELDS if field in value), {})
        yield from self._call(name, arguments)

    def _call(self, name: str, arguments: Any) -> Iterator[ToolCall]:
        name = known_name(name, self._names)
        if name in self._names:
            self._count += 1
            text = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
            yield ToolCall(own_id("text", self._count), name, text)

    def _parse_value(self, name: str, key: str, value: str) -> Any:
        value = html.unescape(value.removeprefix("\n").removesuffix("\n"))
        if self._types.get(known_name(name, self._names), {}).get(key, "string") == "string":
            return value
        try:
            return json.loads(value)
        except (ValueError, RecursionError):
            return value


def _elements(text: str, opening: re.Pattern[str], closing: re.Pattern[str]) -> Iterator[tuple[str, str]]:
    """Yield what each opening mark names, and the text up to the next closing one of its kind; nothing without one."""
    index = 0
    while match := opening.search(text, index):
        kinds = None, match.groupdict().get("kind")
        ends = closing.finditer(text, match.end())
        end = next((end for end in ends if end.groupdict().get("kind") in kinds), None)
        if end is None:
            return
        yield match["name"], text[match.end() : end.start()]
        index = end.end()


def _parts(mark: re.Pattern[str], text: str) -> Iterator[tuple[str, str]]:
    """Yield what each mark names, and the text up to the next one."""
    marks = [*mark.finditer(text)]
    for match, end in zip(marks, [*(match.start() for match in marks[1:]), len(text)], strict=False):
        yield match[1], text[match.end() : end]


def known_name(name: str, names: Collection[str]) -> str:
    """Return the tool that a name means: the last that is a word of it, arguments apart; else the bare name."""
    bare = name.split("<|")[0].strip()
    if bare in names:
        return bare
    by_word = {candidate.lower(): candidate for candidate in names}
    words = re.findall(r"[\w-]+", re.split(r"(?<=\w)\(", name)[0].lower())
    return next((by_word[word] for word in reversed(words) if word in by_word), bare or name)


def inner_text(block: str) -> str:
    """Return what a block has between its marks."""
    return re.sub(r"<[^<>]{0,60}>|\[[A-Z_]{1,60}\]", "", block).strip()


def _literal(node: ast.expr) -> Any:
    """Return a value in Python, or one of JSON's constants in it. Raises ValueError."""
    constants = {"true": True, "false": False, "null": None}
    if isinstance(node, ast.Name) and node.id in constants:
        return constants[node.id]
    return ast.literal_eval(node)


def _object(text: str) -> Any:
    """Return the JSON object at the beginning of a text, repaired if need be."""
    try:
        return _DECODER.raw_decode(text)[0]
    except (ValueError, RecursionError):
        return _repair(text)


def _repair(text: str) -> Any:
    try:
        return repair_json(text[:_BROKEN], return_objects=True)
    except (ValueError, RecursionError):
        return None
