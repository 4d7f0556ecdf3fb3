"""The Markdown dialect of replies: CommonMark and GitHub's additions, formulas, footnotes and a few HTML tags."""

import re
from collections.abc import Iterator
from typing import NamedTuple, cast

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.rules_block import StateBlock
from markdown_it.rules_core import StateCore
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token

from webapp.markdown.emphasis import emphasis_plugin
from webapp.markdown.html_tags import html_tags_plugin
from webapp.markdown.math import line_text, math_plugin

MAX_NESTING = 20
FIRST_HEADING = 2  # h1 belongs to the page

_LINK = re.compile(r"(?:https?://[^/\s]|mailto:[^/\s])", re.IGNORECASE)


def make_parser(**options: object) -> MarkdownIt:
    """Return a parser for the dialect; `options` are added to markdown-it's own."""
    parser = MarkdownIt("commonmark", {"html": False, "maxNesting": MAX_NESTING, "tasklists": True, **options})
    parser.enable(["table", "strikethrough"])
    parser.inline.ruler.before("strikethrough", "tildes", _tildes)
    emphasis_plugin(parser)
    html_tags_plugin(parser)
    math_plugin(parser)
    footnote_plugin(parser)
    parser.validateLink = is_allowed_link  # type: ignore[method-assign]
    parser.core.ruler.push("page_headings", _page_headings)
    parser.core.ruler.push("images_as_links", _images_as_links)
    parser.core.ruler.push("bare_links", _bare_links)
    return parser


def is_allowed_link(url: str) -> bool:
    """Return whether links to a URL are allowed: only absolute http, https and mailto."""
    return _LINK.match(url) is not None


def _tildes(state: StateInline, silent: bool) -> bool:
    """Take three tildes or more for text, as GitHub does; a single one may mean "about" or "to": `~5`, `5~10`."""
    if state.src[state.pos] != "~" or silent:
        return False
    length = state.scanDelims(state.pos, True).length
    if length < 3:
        return False
    state.push("text", "", 0).content = "~" * length
    state.pos += length
    return True


def _page_headings(state: StateCore) -> None:
    """Give headings their place in the page: below its own, and without a level left out, wherever a reply begins.

    `outline` in the environment holds the levels, as written, of the last heading and those it stands under.
    """
    outline: list[int] = state.env.setdefault("outline", [])
    for token in state.tokens:
        if token.type == "heading_open":
            level = int(token.tag[1])
            while outline and outline[-1] >= level:
                outline.pop()
            outline.append(level)
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{min(6, len(outline) + FIRST_HEADING - 1)}"


def _images_as_links(state: StateCore) -> None:
    """Turn images into links with their description: an image from elsewhere would tell its host who reads what."""
    for inline in _inlines(state):
        if any(child.type == "image" for child in inline.children or ()):
            inline.children = list(_without_images(inline.children or [], state))


def _without_images(children: list[Token], state: StateCore) -> Iterator[Token]:
    depth = 0
    for child in children:
        depth += _link_step(child)
        if child.type != "image":
            yield child
            continue
        source = str(child.attrGet("src") or "")
        alt = cast(RendererHTML, state.md.renderer).renderInlineAsText(child.children, state.md.options, state.env)
        if depth or not is_allowed_link(source):
            yield _text(alt, child.level)
        else:
            yield from _link(source, alt.strip() or source, child.level, "image-link")


def _bare_links(state: StateCore) -> None:
    for inline in _inlines(state):
        inline.children = list(_with_bare_links(inline.children or [], state))


def _with_bare_links(children: list[Token], state: StateCore) -> Iterator[Token]:
    depth = 0
    for child in children:
        depth += _link_step(child)
        if depth or child.type != "text":
            yield child
            continue
        end = 0
        for match in find_urls(child.content):
            target = state.md.normalizeLink(match.target)
            if not is_allowed_link(target):
                continue
            if match.start > end:
                yield _text(child.content[end : match.start], child.level)
            yield from _link(target, child.content[match.start : match.end], child.level)
            end = match.end
        if not end:
            yield child
        elif end < len(child.content):
            yield _text(child.content[end:], child.level)


def _inlines(state: StateCore) -> Iterator[Token]:
    return (token for token in state.tokens if token.type == "inline")


def _link_step(token: Token) -> int:
    return {"link_open": 1, "link_close": -1}.get(token.type, 0)


def _text(content: str, level: int) -> Token:
    return Token("text", "", 0, content=content, level=level)


def _link(target: str, text: str, level: int, css_class: str = "") -> Iterator[Token]:
    attrs: dict[str, str | int | float] = {"href": target, **({"class": css_class} if css_class else {})}
    yield Token("link_open", "a", 1, attrs=attrs, level=level)
    yield _text(text, level + 1)
    yield Token("link_close", "a", -1, level=level)


_REFERENCE = re.compile(r"\[\^([\w.-]{1,40})\]")
_NOTE = re.compile(r"\[\^([\w.-]{1,40})\]:[ \t]*")


def footnote_plugin(parser: MarkdownIt) -> None:
    parser.block.ruler.before("reference", "footnote", _note, {"alt": ["paragraph", "reference"]})
    parser.inline.ruler.before("link", "footnote_reference", _reference)


def _note(state: StateBlock, start_line: int, end_line: int, silent: bool) -> bool:
    if state.is_code_block(start_line):
        return False
    match = _NOTE.match(line_text(state, start_line))
    if match is None:
        return False
    if silent:
        return True
    lines = [line_text(state, start_line)[match.end() :]]
    line = start_line + 1
    interruptions = state.md.block.ruler.getRules("paragraph")
    while line < end_line and not state.isEmpty(line):
        if state.sCount[line] - state.blkIndent <= 3 and any(
            rule(state, line, end_line, True) for rule in interruptions
        ):
            break
        lines.append(line_text(state, line))
        line += 1
    state.line = line
    token = state.push("footnote_open", "div", 1)
    token.map = [start_line, line]
    token.meta = {"label": match.group(1)}
    inline = state.push("inline", "", 0)
    inline.content = "\n".join(lines).strip()
    inline.map = [start_line, line]
    inline.children = []
    state.push("footnote_close", "div", -1)
    return True


def _reference(state: StateInline, silent: bool) -> bool:
    match = _REFERENCE.match(state.src, state.pos, state.posMax)
    if match is None:
        return False
    if not silent:
        state.push("footnote_reference", "", 0).content = match.group(1)
    state.pos = match.end()
    return True


_WEB = r"(?:(?<![\w@/.])https?://|(?<![^\s*_~(])www\.)[^\s<>\[\]\"`\\^{|}\u3000-\u303f\uff00-\uffef]+"
_MAIL = r"(?<![\w.+:/@-])(?:mailto:)?[a-z0-9._+-]+@[a-z0-9_-]+(?:\.[a-z0-9_-]+)+"
_URL = re.compile(f"(?P<web>{_WEB})|{_MAIL}", re.IGNORECASE | re.ASCII)
_HOST = re.compile(r"(?:https?://)?([^/?#:]*)", re.IGNORECASE)
_ENTITY = re.compile(r"&[a-z0-9]+;$", re.IGNORECASE)
_MAX_ENTITY_LENGTH = 33
"""`&CounterClockwiseContourIntegral;`: looking back further would make the end of a URL cost quadratic time."""
_TRAILING = ".,:;!?'*_~"


class UrlMatch(NamedTuple):
    """The place of a URL in a text (end exclusive), and the target of a link to it."""

    start: int
    end: int
    target: str


def find_urls(text: str) -> Iterator[UrlMatch]:
    """Yield every URL in a text, in order."""
    if "://" not in text and "@" not in text and "www." not in text.lower():
        return
    for match in _URL.finditer(text):
        url = match.group()
        if match.group("web") is None:
            if url[-1] not in "-_":
                target = url if url[:7].lower() == "mailto:" else f"mailto:{url}"
                yield UrlMatch(match.start(), match.end(), target)
            continue
        url = _trim(url)
        is_named = url[:4].lower() == "www."
        if _is_host(url, is_named):
            target = f"http://{url}" if is_named else url
            yield UrlMatch(match.start(), match.start() + len(url), target)


def _is_host(url: str, is_named: bool) -> bool:
    """Return whether a URL's host has no underscore in its last two parts, and another part after `www.`."""
    match = _HOST.match(url)
    parts = match.group(1).split(".") if match else []
    return not any("_" in part for part in parts[-2:]) and (not is_named or (len(parts) > 1 and parts[-1] != ""))


def _trim(url: str) -> str:
    """Return the URL without the punctuation of the sentence around it."""
    surplus = url.count(")") - url.count("(")
    end = len(url)
    while end:
        entity = _ENTITY.search(url, max(0, end - _MAX_ENTITY_LENGTH), end) if url[end - 1] == ";" else None
        if entity:
            end = entity.start()
            continue
        if url[end - 1] == ")" and surplus > 0:
            surplus -= 1
        elif url[end - 1] not in _TRAILING:
            break
        end -= 1
    return url[:end]
