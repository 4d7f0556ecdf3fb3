"""The examples of CommonMark's specification, and GitHub's additions as GitHub's own program renders them."""

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import NamedTuple

import cmarkgfm
import pytest
from cmarkgfm.cmark import Options

from tests.support.html_meaning import meaning
from webapp.markdown import StreamRenderer, dialect, render, rendering

CASES = json.loads(Path(__file__).with_name("corpora.json").read_text(encoding="utf-8"))

SPECIFICATION = Path(__file__).resolve().parents[2] / "node_modules" / "commonmark-spec" / "spec.txt"
EXAMPLES = 652

RAW_HTML = {"HTML blocks", "Raw HTML"}
"""Sections about HTML, which is shown as it was written."""

DIFFERENT = {
    12: r"\[ … \] is a formula",
    **dict.fromkeys((21, 31, 201, 308, 309, 344, 475, 476, 477, 491, 494, 524, 536, 642, 643), "HTML is shown as text"),
    **dict.fromkeys((380, 392), "only spaces decide whether two asterisks open or close"),
    **dict.fromkeys((602, 606, 608, 611, 612), "a bare address is a link, as on GitHub"),
}


class Example(NamedTuple):
    """An example of the specification: its number, section, Markdown and HTML."""

    number: int
    section: str
    source: str
    html: str


def _read_examples() -> list[Example]:
    pattern = re.compile(
        r"^`{32} example\n(?P<source>.*?)^\.\n(?P<html>.*?)^`{32}$|^#{1,6} (?P<section>[^\n]*)$", re.M | re.S
    )
    found: list[Example] = []
    section = ""
    for match in pattern.finditer(SPECIFICATION.read_text(encoding="utf-8").replace("→", "\t")):
        if match["section"] is not None:
            section = match["section"]
        else:
            found.append(Example(len(found) + 1, section, match["source"], match["html"]))
    return found


@pytest.fixture(scope="module")
def examples() -> list[Example]:
    """The whole specification, from the npm package that carries it."""
    return _read_examples()


@pytest.fixture
def any_address(monkeypatch: pytest.MonkeyPatch) -> None:
    """Links may lead anywhere: the examples lead to `/url`, and which addresses are allowed is not what they show."""
    monkeypatch.setattr(dialect, "is_allowed_link", lambda url: True)
    parser = dialect.make_parser()
    parser.renderer = rendering._Renderer(parser)
    monkeypatch.setattr(rendering, "_PARSER", parser)
    monkeypatch.setattr(rendering, "_CLEANER", _NoCleaner())


class _NoCleaner:
    def clean(self, html: str) -> str:
        return html


def test_the_whole_specification_is_read(examples):
    assert len(examples) == EXAMPLES
    assert {example.section for example in examples} >= RAW_HTML


@pytest.mark.usefixtures("any_address")
def test_every_example_means_what_it_means_in_the_specification(examples):
    assert {
        example.number
        for example in examples
        if example.section not in RAW_HTML
        and meaning(render(example.source), ours=True) != meaning(example.html, ours=False)
    } == set(DIFFERENT)


def test_with_the_addresses_that_are_allowed_too(examples):
    """The same through the sanitiser, wherever an example leads to nothing but the web and e-mail."""
    compared = 0
    for example in examples:
        reference = meaning(example.html, ours=False)
        addresses = [part[1] for part in reference if part[0] == "a"] + re.findall(r"\]:\s*(\S*)", example.source)
        if example.section in RAW_HTML or example.number in DIFFERENT:
            continue
        if all(dialect.is_allowed_link(address) for address in addresses):
            compared += 1
            assert meaning(render(example.source), ours=True) == reference, example
    assert compared > 400


class _Elements(HTMLParser):
    """The elements of a piece of HTML and where its links lead."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.addresses: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.addresses += [value or "" for name, value in attrs if name in ("href", "src")]


def test_html_in_an_example_is_text_and_no_link_leads_into_this_site(examples):
    for example in examples:
        html = render(example.source)
        elements = _Elements()
        elements.feed(html)
        assert elements.tags <= rendering._TAGS | {"button"}, example
        assert all(dialect.is_allowed_link(address) for address in elements.addresses), example
        if example.section == "Raw HTML":
            assert html.count("&lt;") >= example.source.replace(r"\<", "<").count("<") > 0, example


def test_streamed_by_the_character_every_example_ends_as_it_is_at_once(examples):
    for example in examples:
        renderer = StreamRenderer()
        html = "".join("".join(renderer.feed(character).finished_html) for character in example.source)
        html += "".join(renderer.finish().finished_html)
        assert meaning(html, ours=True) == meaning(render(example.source), ours=True), example


TABLES = CASES["tables"]
STRUCK = [
    "~~Hi~~ Hello, world!",
    "This ~~has a\n\nnew paragraph~~.",
    "This will ~~~not~~~ strike.",
    "~~**bold**~~ and **~~x~~**",
    *("a~~b~~c", "~~ a ~~", "~~a~", "x ~ y ~ z", "`~~a~~`", "\\~~a~~", "~~a *b~~ c*", "~~~~a~~~~"),
]
TASKS = CASES["tasks"]
ADDRESSES = CASES["addresses"]


@pytest.mark.parametrize("source", TABLES + STRUCK + TASKS + ADDRESSES)
def test_github_additions_mean_what_they_mean_there(source):
    reference = cmarkgfm.github_flavored_markdown_to_html(source, Options.CMARK_OPT_UNSAFE)
    assert meaning(render(source), ours=True) == meaning(reference, ours=False)


@pytest.mark.parametrize(
    ("source", "html"),
    [
        # One tilde is "about" and "to" in many languages: struck out, a pair of them would lose its sense.
        ("~5 to ~10 and 5~10, 20~30", "~5 to ~10 and 5~10, 20~30"),
        # Other kinds of addresses are not followed from a reply.
        ("ftp://e.org/x", "ftp://e.org/x"),
        # What no address may contain ends it: quotations and tables are full of it.
        ("https://e.org/a|b", '<a href="https://e.org/a">https://e.org/a</a>|b'),
        ("https://e.org/[x]", '<a href="https://e.org/">https://e.org/</a>[x]'),
        ("1https://e.org", "1https://e.org"),
    ],
)
def test_where_we_differ_from_github_on_purpose(source, html):
    reference = cmarkgfm.github_flavored_markdown_to_html(source, Options.CMARK_OPT_UNSAFE)
    assert meaning(render(source), ours=True) == meaning(f"<p>{html}</p>", ours=True) != meaning(reference, ours=False)
