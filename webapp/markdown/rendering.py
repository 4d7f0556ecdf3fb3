"""Markdown to sanitised HTML: parse, highlight, sanitise, frame the code blocks; cached for what is shown again."""

import re
from collections.abc import Sequence
from hashlib import blake2b
from html import escape
from threading import Lock
from typing import Any

import nh3
from cachetools import LRUCache, cached
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markdown_it.utils import OptionsDict
from markupsafe import Markup
from pygments.token import STANDARD_TYPES

from webapp.markdown.dialect import make_parser
from webapp.markdown.highlighting import GrowingCode, highlight, language_of
from webapp.markdown.html_tags import INLINE_TAGS
from webapp.markdown.incomplete import showable_part

MAX_MARKDOWN = 250_000  # characters; longer texts are shown as they are
# Unmatched brackets are the only thing whose cost is quadratic.
MAX_BRACKETS = 10_000

LONG_CELL = 16  # characters beyond which a table cell is given a width to wrap in

_ALIGNMENTS = {"left", "center", "right"}
_TAGS = {
    *("a", "blockquote", "br", "code", "del", "div", "em", "h2", "h3", "h4", "h5", "h6", "hr", "li", "ol", "p", "pre"),
    *("s", "span", "strong", "sup", "table", "tbody", "td", "th", "thead", "tr", "ul"),
    *("details", "summary", *INLINE_TAGS),
}
_CLEANER = nh3.Cleaner(
    tags=_TAGS,
    attributes={
        "a": {"href", "title"},
        "ol": {"start"},
        "div": {"data-lang", "data-note", "tabindex"},
        "span": {"aria-label"},
        "sup": {"data-note", "tabindex"},
    },
    tag_attribute_values={"span": {"role": {"img"}}, "sup": {"role": {"link"}}},
    set_tag_attribute_values={"a": {"target": "_blank"}},
    allowed_classes={
        "a": {"image-link"},
        "div": {"code", "table-box", "table-scroll", "footnote", "math", "math-display"},
        "li": {"task-list-item"},
        "ul": {"contains-task-list"},
        "ol": {"contains-task-list"},
        "span": {"task", "math", "math-display", "footnote-label", *filter(None, STANDARD_TYPES.values())},
        "sup": {"footnote-reference"},
        "th": _ALIGNMENTS | {"long"},
        "td": _ALIGNMENTS | {"long"},
    },
    link_rel="noopener noreferrer nofollow ugc",
    url_schemes={"http", "https", "mailto"},
    url_relative="deny",
    strip_comments=True,
)
# Text cannot forge this: in sanitised HTML every "<" in text and every quote in an attribute is escaped.
_CODE_OPEN = re.compile(r'<div class="code" data-lang="([^"<>&]*)"><pre>')
_CODE_BAR = (
    r'<div class="code" data-lang="\1"><div class="code-bar"><span class="code-lang">\1</span>'
    r'<button type="button" class="code-tool" data-code="lines" aria-pressed="false">Lines</button>'
    r'<button type="button" class="code-tool" data-code="wrap" aria-pressed="false">Wrap</button>'
    r'<button type="button" class="code-tool" data-code="download">Download</button>'
    r'<button type="button" class="code-copy" data-copy>Copy</button></div><pre tabindex="0">'
)


def render(text: str, outline: list[int] | None = None) -> Markup:
    """Return sanitised HTML of a Markdown text; an excessive text is shown unrendered.

    `outline`: the headings above a text that goes on; it is changed to those above what follows.
    """
    return _render(text, {"outline": [] if outline is None else outline})


def render_growing(text: str, code: GrowingCode, outline: Sequence[int]) -> Markup:
    """Return HTML as `render` for a stream's unfinished end, as far as it can be shown; `code` has its blocks."""
    return _render(showable_part(text), {"growing_code": code, "code_blocks": 0, "outline": [*outline]})


def strip_markdown(text: str) -> str:
    """Return a Markdown text, or a part of one, as it reads, each block on lines of its own; unchanged if excessive."""
    if _is_excessive(text):
        return text
    lines, number = [], ""
    for token in _PARSER.parse(text):
        if token.type == "list_item_open":
            number = f"{token.info}. " if token.info else ""
        elif token.type == "inline":
            lines.append(number + "".join(map(_words, token.children or [])))
            number = ""
        elif not token.nesting:
            lines.append(token.content.rstrip())
    return "\n".join(filter(None, lines))


def _words(token: Token) -> str:
    if token.type in ("softbreak", "hardbreak") or token.content == "<br>":
        return "\n"
    return "" if token.type in ("html_inline", "footnote_reference") else token.content


def _is_excessive(text: str) -> bool:
    return len(text) > MAX_MARKDOWN or text.count("[") > MAX_BRACKETS


def _render(text: str, env: dict[str, Any]) -> Markup:
    if _is_excessive(text):
        return Markup(f'<pre class="plain" tabindex="0">{escape(text)}</pre>\n')
    # Lone surrogates cannot be encoded: a model that cuts an emoji in two must not make the reply fail.
    html = _PARSER.render(text.encode("utf-8", "replace").decode("utf-8"), env)
    return Markup(_CODE_OPEN.sub(_CODE_BAR, _CLEANER.clean(html)))


class _Renderer(RendererHTML):
    """markdown-it's renderer with our code frames, task marks and scrollable tables; no inline style."""

    def fence(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: Any) -> str:
        return _code(tokens[idx].content, language_of(tokens[idx].info), env)

    def code_block(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: Any) -> str:
        return _code(tokens[idx].content, "text", env)

    def table_open(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: Any) -> str:
        return '<div class="table-box"><div class="table-scroll" tabindex="0">' + self.renderToken(
            tokens, idx, options, env
        )

    def table_close(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: Any) -> str:
        return self.renderToken(tokens, idx, options, env) + "</div></div>\n"

    def th_open(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: Any) -> str:
        return _cell(tokens, idx)

    def td_open(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: Any) -> str:
        return _cell(tokens, idx)

    def math_block(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: Any) -> str:
        return f'<div class="math math-display">{escape(tokens[idx].content)}</div>\n'

    def math_inline(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: Any) -> str:
        display = " math-display" if tokens[idx].meta["display"] else ""
        return f'<span class="math{display}">{escape(tokens[idx].content)}</span>'

    def footnote_open(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: Any) -> str:
        label = escape(tokens[idx].meta["label"])
        return f'<div class="footnote" data-note="{label}" tabindex="-1"><span class="footnote-label">{label}</span> '

    def footnote_reference(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: Any) -> str:
        label = escape(tokens[idx].content)
        return f'<sup class="footnote-reference" data-note="{label}" role="link" tabindex="0">{label}</sup>'

    def footnote_close(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: Any) -> str:
        return "</div>\n"

    def list_item_open(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: Any) -> str:
        html = self.renderToken(tokens, idx, options, env)
        has_paragraph = (
            idx + 1 < len(tokens) and tokens[idx + 1].type == "paragraph_open" and not tokens[idx + 1].hidden
        )
        return html if has_paragraph else html + _task_mark(tokens[idx])

    def paragraph_open(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: Any) -> str:
        html = self.renderToken(tokens, idx, options, env)
        is_visible_first = idx > 0 and tokens[idx - 1].type == "list_item_open" and not tokens[idx].hidden
        return html + _task_mark(tokens[idx - 1]) if is_visible_first else html


def _task_mark(item: Token) -> str:
    """Return the checkbox of a task, on the line of its text; nothing for other items."""
    if "checked" not in item.meta:
        return ""
    sign, label = ("☑", "Done") if item.meta["checked"] else ("☐", "To do")
    return f'<span class="task" role="img" aria-label="{label}">{sign}</span> '


def _code(code: str, language: str, env: dict[str, Any]) -> str:
    growing: GrowingCode | None = env.get("growing_code")
    if growing is None:
        html = highlight(code, language)
    else:
        html = growing.highlight(env["code_blocks"], code, language)
        env["code_blocks"] += 1
    return f'<div class="code" data-lang="{escape(language)}"><pre><code>{html}</code></pre></div>\n'


def _cell(tokens: Sequence[Token], idx: int) -> str:
    token = tokens[idx]
    classes = [str(token.attrGet("style") or "").removeprefix("text-align:")]
    if len(tokens[idx + 1].content) > LONG_CELL:
        classes.append("long")
    css = " ".join(filter(None, classes))
    return f'<{token.tag} class="{css}">' if css else f"<{token.tag}>"


_PARSER = make_parser()
_PARSER.renderer = _Renderer(_PARSER)


CAPACITY = 4_000_000
"""The most characters of HTML in the cache."""
MAX_CACHED_LENGTH = 100_000
"""A text with more characters of HTML is rendered each time: it would evict many others."""


def _weight(html: Markup) -> int:
    return len(html) if len(html) <= MAX_CACHED_LENGTH else CAPACITY + 1


def _digest(text: str) -> bytes:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


@cached(LRUCache(CAPACITY, getsizeof=_weight), key=_digest, lock=Lock())  # by digest: no text is kept
def render_stored(text: str) -> Markup:
    """Return sanitised HTML of the Markdown of a stored message."""
    return render(text)
