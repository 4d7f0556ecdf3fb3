"""Rendered replies: the dialect, the frames, and that nothing harmful or hostile gets through."""

import html.parser
import json
from collections.abc import Iterator
from functools import wraps
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st
from markupsafe import Markup

from tests.support.attacks import ATTACKS
from webapp.markdown import StreamRenderer, html_tags, render, render_stored
from webapp.markdown.rendering import MAX_CACHED_LENGTH, strip_markdown

CASES = json.loads(Path(__file__).with_name("rendering.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("source", "html"),
    [*CASES["test_dialect"], *CASES["emphasis_and_tags_as_models_write_them"], *CASES["formulas_keep_their_tex"]],
)
def test_dialect(source, html):
    assert render(source) == html
    assert isinstance(render(source), Markup)


@pytest.mark.parametrize(("text", "read"), CASES["test_a_text_reads_without_its_markup"])
def test_a_text_reads_without_its_markup(text, read):
    assert strip_markdown(text) == read


@pytest.mark.parametrize(("text", "search"), [("<sub>" * 900, "_last_closing_tags"), ("<details>\n" * 900, "_blocks")])
def test_where_tags_end_is_looked_up_once(monkeypatch, text, search):
    """However many there are: each would otherwise be searched for to the end of the text."""
    asked: list[str] = []
    find = getattr(html_tags, search)

    @wraps(find)
    def count_call(given: str) -> object:
        asked.append(given)
        return find(given)

    monkeypatch.setattr(html_tags, search, count_call)
    assert "&lt;" in render(text)
    assert len(asked) <= 2


def test_a_formula_in_a_table_keeps_its_bars():
    html = render("| a | b |\n|---|---|\n| $|u|$ | $5 | $6 |")
    assert '<td><span class="math">|u|</span></td>\n<td>$5</td>' in html
    assert "\\" not in render("```\n| a |\n|---|\n| $x$ |\n```\nc | $|u|$")


def test_code_block_has_its_bar():
    assert render("```python\nx = 1\n```") == (
        '<div class="code" data-lang="python"><div class="code-bar"><span class="code-lang">python</span>'
        '<button type="button" class="code-tool" data-code="lines" aria-pressed="false">Lines</button>'
        '<button type="button" class="code-tool" data-code="wrap" aria-pressed="false">Wrap</button>'
        '<button type="button" class="code-tool" data-code="download">Download</button>'
        '<button type="button" class="code-copy" data-copy>Copy</button></div><pre tabindex="0"><code>'
        '<span class="n">x</span> <span class="o">=</span> <span class="mi">1</span>\n</code></pre></div>\n'
    )


@pytest.mark.parametrize(
    ("info", "language"),
    [
        ("", "text"),
        ("C++", "c++"),
        ("{.rust}", "rust"),
        ("js title=x", "js"),
        ("no-such-language", "no-such-language"),
        ('"><script>', "text"),
        ("a" * 50, "text"),
    ],
)
def test_language_of_a_fence(info, language):
    assert f'data-lang="{language}"' in render(f"```{info}\n<x>\n```")


def test_code_keeps_its_white_space():
    assert "<code>\n\n  a\n\n</code>" in render("```\n\n\n  a\n\n```")
    assert "<code>a\n</code>" in render("    a\n")


def test_table_scrolls_and_aligns_without_style():
    html = render("|a|b|\n|:-|-:|\n|1|2|")
    assert html.startswith('<div class="table-box"><div class="table-scroll" tabindex="0"><table>')
    assert '<td class="left">1</td>\n<td class="right">2</td>' in html
    assert "style" not in html


def test_a_table_keeps_words_whole():
    long = "malty, good with milk"
    html = render(f"|a|b|\n|-|-:|\n|{long}|{long}|")
    assert f'<td class="long">{long}</td>' in html
    assert f'<td class="right long">{long}</td>' in html
    assert "<th>a</th>" in html


def test_footnotes():
    assert render("a[^1] b[^x]\n\n[^1]: The *note*\n[^x]: More\n  of it") == (
        '<p>a<sup class="footnote-reference" data-note="1" role="link" tabindex="0">1</sup> '
        'b<sup class="footnote-reference" data-note="x" role="link" tabindex="0">x</sup></p>\n'
        '<div class="footnote" data-note="1" tabindex="-1"><span class="footnote-label">1</span> '
        "The <em>note</em></div>\n"
        '<div class="footnote" data-note="x" tabindex="-1"><span class="footnote-label">x</span> More\nof it</div>\n'
    )


def test_task_list():
    html = render("- [x] a\n- [ ] b")
    assert '<li class="task-list-item"><span class="task" role="img" aria-label="Done">☑</span> a</li>' in html
    assert 'aria-label="To do">☐</span> b' in html
    assert "<input" not in html


ALLOWED = {
    *(
        "a",
        "blockquote",
        "br",
        "button",
        "code",
        "div",
        "em",
        "h2",
        "h3",
        "h4",
        "h5",
        "h6",
        "hr",
        "li",
        "ol",
        "p",
        "pre",
    ),
    *("s", "span", "strong", "sup", "table", "tbody", "td", "th", "thead", "tr", "ul"),
}
ATTRIBUTES = {
    *("aria-label", "class", "data-copy", "data-lang", "href", "rel", "role", "start", "tabindex", "target", "title"),
    *("type", "data-code", "data-note", "aria-pressed"),
}


class Inspector(html.parser.HTMLParser):
    """Fails on any element, attribute or address that a reply may not have."""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in ALLOWED
        for name, value in attrs:
            assert name in ATTRIBUTES
            assert name != "href" or (value or "").startswith(("http://", "https://", "mailto:"))
        if tag == "a":
            assert ("rel", "noopener noreferrer nofollow ugc") in attrs
        if tag == "button":
            assert dict(attrs)["class"] in ("code-copy", "code-tool")
            assert dict(attrs)["type"] == "button"

    def handle_comment(self, data: str) -> None:
        raise AssertionError("a comment")

    handle_decl = unknown_decl = handle_pi = handle_comment


def inspect(markup: str) -> None:
    """Reads the markup as a browser would and judges every tag."""
    inspector = Inspector(convert_charrefs=True)
    inspector.feed(markup)
    inspector.close()


FRAMES = ["{}", "> {}", "- {}", "text {} text", "**{}**", "[{}](https://a.b)", "|a|\n|-|\n|{}|"]


@pytest.mark.parametrize("attack", ATTACKS)
def test_attacks_are_harmless(attack):
    for frame in FRAMES:
        inspect(render(frame.format(attack)))


@pytest.mark.parametrize("attack", ATTACKS)
def test_attacks_are_harmless_at_every_moment_of_a_stream(attack):
    renderer = StreamRenderer()
    for character in attack:
        update = renderer.feed(character)
        inspect("".join(update.finished_html) + str(update.tail_html))
    inspect("".join(renderer.finish().finished_html))


@settings(max_examples=120)
@given(
    st.text(st.sampled_from("<>/\"'&;:#=()[]!`*_~|\\-+ \n\tajscripthttps.:oneld0169"), max_size=60)
    | st.text(max_size=60)
)
def test_no_text_gets_anything_through(text):
    inspect(render(text))


def hostile(part: int) -> dict[str, str]:
    """Texts that have made Markdown parsers slow, deep or huge, of pieces that stand there once or that many times; of
    the full size, or a `part`-th of it."""

    def join(pieces: list[Any]) -> str:
        return "".join(piece if isinstance(piece, str) else piece[0] * (piece[1] // part) for piece in pieces)

    return {name: join(pieces) for name, pieces in CASES["hostile"].items()} | {
        "backticks": "".join("`" * length + "a" for length in range(400 // part)),
        "wide table": join(["|", ["a|", 10_000], "\n|", ["-|", 10_000], "\n", ["|1|\n", 1_000 // part]]),
        "stairs": "\n".join("  " * depth + "- a" for depth in range(400 // part)),
    }


FULL, SMALL = hostile(1), hostile(20)


def check_hostile(text: str) -> None:
    """It ends, does not blow up, and gets nothing through, at once and as a stream."""
    html = render(text)
    assert len(html) < 60 * len(text) + 1_000_000  # a block of code brings its bar along
    inspect(html)
    renderer = StreamRenderer()
    for start in range(0, len(text), 20_000):
        renderer.feed(text[start : start + 20_000])
    inspect("".join(renderer.finish().finished_html))


@pytest.mark.parametrize("name", SMALL)
def test_hostile_texts_are_harmless(name):
    check_hostile(SMALL[name])


@pytest.mark.slow
@pytest.mark.timeout(60)
@pytest.mark.parametrize("name", FULL)
def test_hostile_texts_of_full_size_end(name):
    check_hostile(FULL[name])


def test_an_excessive_text_is_shown_as_it_is():
    html = render("*a* <b>\n" * 50_000)
    assert html.startswith('<pre class="plain" tabindex="0">*a* &lt;b&gt;\n')


@pytest.fixture(autouse=True)
def rendered_texts(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Return the texts that are rendered, from an empty cache on."""
    texts: list[str] = []
    render_stored.cache.clear()
    monkeypatch.setattr("webapp.markdown.rendering.render", lambda text: texts.append(text) or render(text))
    yield texts
    render_stored.cache.clear()


def test_a_text_is_rendered_once(rendered_texts):
    assert [render_stored(text) for text in ("**a**", "**a**", "b")] == [*[render("**a**")] * 2, render("b")]
    assert rendered_texts == ["**a**", "b"]


def test_the_excessive_is_never_kept(rendered_texts):
    long = "word " * (MAX_CACHED_LENGTH // 5 + 1)
    assert render_stored(long) == render_stored(long) == render(long)
    assert rendered_texts == [long, long] and not render_stored.cache.currsize
