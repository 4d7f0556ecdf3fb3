"""Finds the texts to be translated: in templates, in Python, in scripts."""

import ast
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path

from jinja2.ext import babel_extract

from webapp.i18n.scripts import texts_of

ROOT = Path(__file__).resolve().parent.parent.parent
Texts = tuple[str, ...]

MARKS = {"_", "gettext", "say"}
TEXT_ARGUMENTS = {"Starter": slice(0, 3), "Persona": slice(1, 3), "Definition": slice(1, 3), "WriteResult": slice(1, 2)}
"""Classes of data whose texts are shown on pages, and the positions of those texts among the arguments."""
PAIRS = {"ngettext", "say_n", "NN_"}
ERRORS = {
    "Conflict",
    "FileRejected",
    "Forbidden",
    "ImportRefused",
    "Invalid",
    "NotFound",
    "RequestRefused",
    "TooLarge",
    "TooMany",
    "Unauthenticated",
    "Unavailable",
    "Unreadable",
    "ValueError",
}
"""Errors whose message is shown to people: their first argument; for `Invalid.field` and `require`, the second."""
UNTRANSLATED_PATHS = (
    "webapp/llm/",
    "webapp/gateway/",
    "webapp/mcp_server/",
    "webapp/oauth/clients.py",
    "webapp/memories/learning/",
    "webapp/config.py",
    "webapp/db/urls.py",
    "webapp/redis/urls.py",
    "webapp/accounts/idempotency.py",
    "webapp/http/views.py",
)
"""Where error messages are for programs and logs only."""


def all_texts() -> list[Texts]:
    """Return every text of the interface once: the text, or its two forms."""
    unique: dict[Texts, None] = {}
    for path in sorted((ROOT / "templates").rglob("*.html")):
        unique.update(dict.fromkeys(texts_in_template(path.read_bytes())))
    for path in sorted((ROOT / "webapp").rglob("*.py")):
        place = path.relative_to(ROOT).as_posix()
        if place.startswith("webapp/cli/") or place.endswith("cli.py"):
            continue
        with_errors = not place.startswith(UNTRANSLATED_PATHS) and not place.endswith("api.py")
        source = path.read_text(encoding="utf-8")
        unique.update(dict.fromkeys(texts_in_module(source, with_errors=with_errors)))
        if place == "webapp/llm/errors.py":  # which knows nothing about us, but is shown under replies
            unique.update(dict.fromkeys(texts_in_details(source)))
    for path in sorted((ROOT / "static" / "js").glob("*.js")):
        unique.update(dict.fromkeys(texts_of(path.read_text(encoding="utf-8"))))
    plural = {texts[0] for texts in unique if len(texts) == 2}
    return [texts for texts in unique if len(texts) == 2 or texts[0] not in plural]


def texts_in_template(source: bytes) -> Iterator[Texts]:
    options = {"trim_blocks": "true", "lstrip_blocks": "true", "trimmed": "true", "encoding": "utf-8"}
    for _line, name, texts, _comments in babel_extract(BytesIO(source), ("_", "html_text", "ngettext"), [], options):
        several = texts if isinstance(texts, tuple) else (texts,)
        forms = tuple(text for text in several if text)
        if forms:
            yield forms[:2] if name == "ngettext" else forms[:1]


def texts_in_module(source: str, *, with_errors: bool = True) -> Iterator[Texts]:
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Call):
            continue
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if name in MARKS and node.args:
            yield from ((_of_field(text) if name == "say" else text,) for text in _constants(node.args[0]))
        elif name in PAIRS and len(node.args) >= 2:
            pair = [text for arg in node.args[:2] for text in _constants(arg)]
            if len(pair) == 2:
                yield (pair[0], pair[1])
        elif name in TEXT_ARGUMENTS:
            yield from ((text,) for arg in node.args[TEXT_ARGUMENTS[name]] for text in _constants(arg))
        elif name == "N_":
            yield from ((text,) for text in _values(node.args[0]))
        elif with_errors and isinstance(node.func, ast.Name) and name in ERRORS and node.args:
            yield from ((_of_field(text, is_plain=not _has_values(node)),) for text in _constants(node.args[0]))
        elif with_errors and name == "require" and len(node.args) == 2:
            yield from ((text,) for text in _constants(node.args[1]))
        elif with_errors and name == "field" and ast.unparse(node.func) == "Invalid.field" and len(node.args) == 2:
            yield from ((_of_field(text, is_plain=not _has_values(node)),) for text in _constants(node.args[1]))


def _has_values(node: ast.Call) -> bool:
    """Return whether values of the sentence are given to an error, besides the fields that every error has."""
    return not {keyword.arg for keyword in node.keywords} <= {"errors", "retry_after"}


def texts_in_details(source: str) -> Iterator[Texts]:
    """Yield the texts that a module assigns to names ending in "detail"."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            if ast.unparse(target).endswith("detail"):
                yield from ((text,) for text in _constants(node.value))


def _of_field(text: str, *, is_plain: bool = False) -> str:
    """Return a message as catalogs have it: after the field's name if it begins with a small letter."""
    if not text[:1].islower():
        return text
    return f"%(field)s {text.replace('%', '%%') if is_plain else text}"


def _constants(node: ast.expr) -> Iterator[str]:
    if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.strip():
        yield node.value
    elif isinstance(node, ast.IfExp):
        yield from _constants(node.body)
        yield from _constants(node.orelse)
    elif isinstance(node, ast.BoolOp):
        for value in node.values:
            yield from _constants(value)


def _values(node: ast.expr) -> Iterator[str]:
    """Yield the texts in the argument of N_; for a mapping, its values."""
    if isinstance(node, ast.Dict):
        for value in node.values:
            yield from _values(value)
    elif isinstance(node, ast.Tuple | ast.List):
        for value in node.elts:
            yield from _values(value)
    elif isinstance(node, ast.Constant) and isinstance(node.value, str) and any(map(str.isalpha, node.value)):
        yield node.value
    elif isinstance(node, ast.IfExp):
        yield from _constants(node)
