"""No text of the interface is left unmarked, and the catalogs hold every one, with the same places and markup."""

import ast
import re
from collections import Counter
from functools import cache
from html.parser import HTMLParser
from pathlib import Path

import pytest
from flask import Flask
from jinja2 import nodes
from jinja2.visitor import NodeTransformer

from webapp.i18n import catalogs
from webapp.i18n.catalogs import CODES, as_mo, missing_translations, place
from webapp.i18n.extraction import all_texts
from webapp.i18n.scripts import texts_of
from webapp.templating import Environment

read = cache(catalogs.read)
ROOT = Path(__file__).resolve().parents[2]
TEMPLATES = sorted((ROOT / "templates").rglob("*.html"))

SHOWN = {"title", "aria-label", "placeholder", "alt", "aria-description", "aria-roledescription", "label"}
UNREAD = {"script", "style", "code", "kbd", "pre", "textarea", "svg"}
NAMES = set(
    """Commonplace API CSV JSON Markdown PDF YAML ZIP HTML Redis RQ MCP OAuth Claude Code Cursor VS Codex ChatGPT Gemini
    openapi json mem Ctrl Shift Enter Esc https kB ms px""".split()  # noqa: SIM905
)
"""Names of products, formats and keys, which are the same in every language."""


@pytest.fixture(scope="module")
def environment() -> Environment:
    environment = Environment(Flask(__name__), autoescape=True)
    environment.trim_blocks = environment.lstrip_blocks = True
    for name in ("when", "markdown", "model_name", "number", "dollars"):
        environment.filters.setdefault(name, str)
    return environment


class Texts(HTMLParser):
    """The texts of a template whose marked ones are gone."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.found: list[str] = []
        self.inside: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in UNREAD:
            self.inside.append(tag)
        self.found += [value for name, value in attrs if name in SHOWN and value]

    def handle_endtag(self, tag: str) -> None:
        if self.inside and self.inside[-1] == tag:
            self.inside.pop()

    def handle_data(self, data: str) -> None:
        if not self.inside:
            self.found.append(data)


class WithoutMarked(NodeTransformer):
    """Empties what is marked."""

    def visit_Call(self, node: nodes.Call) -> nodes.Node:
        if isinstance(node.node, nodes.Name) and node.node.name in ("_", "html_text", "ngettext"):
            return nodes.Const("")
        return self.generic_visit(node)


def unmarked_texts(environment: Environment, source: str) -> list[str]:
    """What a template says that is not marked: its texts, once the marked ones are nothing."""
    tree = WithoutMarked().visit(environment.parse(source))
    data = "".join(node.data for node in tree.find_all(nodes.TemplateData))
    parser = Texts()
    parser.feed(data)
    said = [text for text in parser.found if is_said(text)]
    return said + [text for text in constants(tree) if is_said(text) and " " in text]


def is_said(text: str) -> bool:
    """Whether a text has words that are no names."""
    if '="' in text:  # attributes, put together for an element
        return False
    words = re.findall(r"[^\W\d_]{2,}", text)
    return any(word not in NAMES for word in words)


def constants(tree: nodes.Template) -> list[str]:
    """Literal sentences that are put out, or given to a macro."""
    found: list[str] = []
    for output in tree.find_all(nodes.Output):
        for node in output.nodes:
            found += _shown_texts(node)
    return found


def _shown_texts(node: nodes.Node) -> list[str]:
    if isinstance(node, nodes.Const):
        return [node.value] if isinstance(node.value, str) else []
    if isinstance(node, nodes.CondExpr):
        return _shown_texts(node.expr1) + (_shown_texts(node.expr2) if node.expr2 else [])
    if isinstance(node, nodes.Or | nodes.And):
        return _shown_texts(node.left) + _shown_texts(node.right)
    if isinstance(node, nodes.Concat):
        return [text for each in node.nodes for text in _shown_texts(each)]
    if isinstance(node, nodes.Filter) and node.node is not None and node.name != "default":
        return _shown_texts(node.node)
    if isinstance(node, nodes.Getitem) and isinstance(node.node, nodes.Dict):
        return [text for pair in node.node.items for text in _shown_texts(pair.value)]
    if isinstance(node, nodes.Call) and isinstance(node.node, nodes.Name) and node.node.name in ("field", "banner"):
        given = [*node.args[1:2], *(word.value for word in node.kwargs if word.key == "hint")]
        return [text for each in given for text in _shown_texts(each)]
    return []


def test_every_text_of_a_template_is_marked(environment):
    found = {path.relative_to(ROOT).as_posix(): unmarked_texts(environment, path.read_text()) for path in TEMPLATES}
    assert found
    assert {path: texts for path, texts in found.items() if texts} == {}


@pytest.mark.cases("source", "found")
def test_the_scanner_finds_what_it_is_to_find(environment, source, found):
    assert unmarked_texts(environment, source) == found


def test_no_notice_of_a_view_is_unmarked():
    """`flash` and `toast` are given what is marked, never a literal."""
    found = []
    for path in sorted((ROOT / "webapp").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "flash":
                literal = node.args[0]
                if isinstance(literal, ast.Constant | ast.JoinedStr | ast.IfExp | ast.BinOp) and not _is_marked(
                    literal
                ):
                    found.append(f"{path.relative_to(ROOT)}:{node.lineno}")
    assert not found


def _is_marked(node: ast.expr) -> bool:
    if isinstance(node, ast.IfExp):
        return _is_marked(node.body) and _is_marked(node.orelse)
    if isinstance(node, ast.JoinedStr):  # values and full stops
        return not any(isinstance(part, ast.Constant) and is_said(str(part.value)) for part in node.values)
    return not isinstance(node, ast.Constant | ast.BinOp)


def test_errors_with_values_can_be_translated():
    """A service raises its errors with `say`, not with an f-string that nobody can take apart."""
    errors = {"Invalid", "Forbidden", "NotFound", "Conflict", "TooLarge", "TooMany"}
    of_programs = ("gateway", "oauth/service")
    found = []
    for path in sorted((ROOT / "webapp").rglob("*.py")):
        if path.relative_to(ROOT / "webapp").as_posix().startswith(of_programs) or path.name.endswith("api.py"):
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
                name = ast.unparse(node.exc.func).partition(".")[0]
                if name in errors and any(isinstance(each, ast.JoinedStr) for each in node.exc.args):
                    found.append(f"{path.relative_to(ROOT)}:{node.lineno}")
    assert not found


def test_no_notice_of_a_script_is_unmarked():
    said = re.compile(r"""(?:toast\(|textContent = |\.title = |\.alt = )\s*(["`][^"`]*[a-z]{2,} [^"`]*["`])""")
    scripts = sorted((ROOT / "static" / "js").glob("*.js"))
    assert not [f"{path.name}: {found}" for path in scripts for found in said.findall(path.read_text())]
    assert sum(len(texts_of(path.read_text())) for path in scripts) > 20


@pytest.fixture(scope="module")
def texts() -> list[tuple[str, ...]]:
    found = all_texts()
    assert ("There is no such passkey.",) in found, "the second argument of require"
    assert ("The ZIP is broken. Download the export again.",) in found, "why an import was refused"
    return found


@pytest.mark.parametrize("code", CODES)
def test_a_catalog_has_every_text_and_is_compiled(code, texts):
    catalog = read(code)
    known = {message.id if isinstance(message.id, str) else message.id[0] for message in catalog if message.id}
    assert known == {text[0] for text in texts}, "run make translations"
    assert place(code, "mo").read_bytes() == as_mo(catalog), "run make translations"


@pytest.mark.parametrize("code", CODES)
def test_every_text_is_translated(code):
    assert missing_translations(read(code)) == []


PLACES = re.compile(r"%\((\w+)\)s|%%|</?[a-z][^>]*>")
SPECIAL = "\"'<>&"


@pytest.mark.parametrize("code", CODES)
def test_translations_keep_places_and_markup(code):
    """The same placeholders and tags, and nothing that could end an attribute or begin a tag."""
    wrong = []
    for message in read(code):
        if not message.id:
            continue
        sources = (message.id,) if isinstance(message.id, str) else message.id
        forms = (message.string,) if isinstance(message.string, str) else message.string
        for form in forms:
            expected = {found.group(0) for text in sources for found in PLACES.finditer(text)}
            got = Counter(found.group(0) for found in PLACES.finditer(form))
            allowed = got.keys() <= expected
            complete = expected - {"%(num)s"} <= got.keys() or len(sources) > 1
            special = {sign for sign in SPECIAL if sign in form} <= {
                sign for sign in SPECIAL if any(sign in s for s in sources)
            }
            if form and not (allowed and complete and special):
                wrong.append((sources[0], form))
    assert not wrong
