"""The provenance of a message's words, by where they stand: typed by its author, or somebody else's that were put in.

Others' are Markdown fences and quotes, blocks in quotes or dashes, labelled transcripts, mail with its head, data
(`data_blocks.py`), and what the composer or a program says was pasted; never by what they say.
"""

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Literal

from webapp.text.data_blocks import data_blocks
from webapp.text.quotes import Span, merge_spans
from webapp.text.words import INVISIBLE, UNSPACED

Origin = Literal["typed", "pasted", "quoted", "spoken"]
Spans = Sequence[tuple[int, int, str]]
"""Start, end and origin."""
FORGOTTEN = "forgotten"
"""The origin of words that their author has had forgotten: nothing rests on them again."""
OTHERS: frozenset[str] = frozenset({"pasted", "quoted", FORGOTTEN})

_OPENERS = {"“": "”", "„": "“", "«": "»", "»": "«", '"': '"', "‘": "’", "「": "」", "『": "』"}
_FENCE = re.compile(r" {0,8}(?:[-*>] {0,3})?(`{3,}|~{3,})")
_TRIPLE = re.compile(r'"""|\'\'\'')
_RULE = re.compile(r"\s*([-=_*#+<>{}])\1{2,}[^\w\n]*")
_TITLED_RULE = re.compile(r"\s*+[-=_]{3,}+[^\n]{1,80}?[-=_]{3,}+\s*+")
_STAMP = re.compile(
    r"[ \t]*(?:\[[^\]\n]{0,24}\d[^\]\n]{0,24}\]|(?:\d{1,4}[./-]\d{1,2}[./-]\d{1,4},?[ \t]+)?\d{1,2}[:.]\d\d[^\s:]{0,6}"
    r"(?:[ \t][^\W\d_]\.?[^\W\d_]\.?[ \t]-)?)[ \t]+(?:[-–—][ \t]+)?(?=\S[^\n]{0,30}[:：])"
)
"""A time before a speaker's label, with or without its day."""
_BRACKET = re.compile(r"\s*(?:[\[<*]|\([^()\n]*\)\s?[:：])")
_WHEN = r"(?<!\d)\d{4}(?!\d)[^\n]{0,30}(?<!\d)\d{1,2}[:.]\d\d(?!\d)"
"""A day with its year, and a time."""
_ANSWERED = re.compile(rf"[^\n]{{0,60}}{_WHEN}[^\n]{{0,80}}[:：]\s*")
"""The line above a mail that is answered: when it was sent, whoever wrote it, and a colon."""
_LABEL = re.compile(r"\s*(?:[\[(<*]{0,3})([^\W\d_][^\n:：\]]{0,30})[\])>*]{0,3}\s?[:：]\s*\S")
_ADDRESS = re.compile(r"[^\s@<]@[^\s@>]{1,255}\.\w")
_SENT = re.compile(_WHEN)
_CLOCK = r"\d{1,2}[:.]\d\d(?::\d\d)?(?:[ \u202f]?[^\W\d_]\.?[^\W\d_]\.?)?"
_HEADER = re.compile(
    rf"[ \t]*(?:\[(?:[^\]\n]{{0,24}}[ ,])?{_CLOCK}\][ \t]+(?P<after>[^\W\d_][^\n:：]{{0,40}})"
    rf"|(?P<before>[^\W\d_][^\n\[]{{0,40}}?),?[ \t]+\[(?:[^\]\n]{{0,24}}[ ,])?{_CLOCK}\]"
    rf"|(?P<spaced>[^\W\d_][^\n]{{0,40}}?)[ \t]{{2,}}{_CLOCK}"
    rf"|(?P<dashed>[^\W\d_][^\n]{{0,40}}?)[ \t][—–][ \t][^\n]{{0,20}}?{_CLOCK}"
    r"|(?:\*\*)?(?P<bare>[^\W\d_][^\n:：*#]{0,30})(?:[:：]?\*\*|[:：])"
    r"|#{1,6}[ \t]+(?P<heading>[^\W\d_][^\n]{0,30}))[ \t]*\n?"
)
"""A line with nothing but who speaks, and perhaps when: what follows is what they say."""
_NICK = re.compile(r"[ \t]*(?:\[?\d{1,2}:\d\d(?::\d\d)?\]?[ \t]+)?<([^<>\s/][^<>\n]{0,30})>[ \t]+\S")
_MAX_RULE_LENGTH = 200
"""Characters; a longer line is text."""
_INLINE = re.compile(
    r"(?<!\w)(?:«[^«»\n]+»|»[^«»\n]+«|\"[^\"\n]+\")(?!\w)"
    r"|“[^“”\n]+”|(?<!\w)”(?=\S)[^“”\n]+(?<=\S)”(?!\w)|„[^„“”\n]+[“”]|‹[^‹›\n]+›|「[^「」\n]+」|『[^『』\n]+』|`[^`\n]+`"
    r"|(?<!\w)'(?=[^\s'])(?:[^'\n]|(?<=\w)'(?=\w))+(?<=[^\s'])'(?!\w)"
    r"|‘(?:[^‘’\n]|(?<=\w)’(?=\w))+’(?!\w)|‚[^‚‘\n]+‘"
)
_MARKED_QUOTE = re.compile(r"\s*(?:[-*+]\s+|\d{1,3}[.)]\s+)?>")
_INVISIBLE = re.compile(f"[{INVISIBLE}\u200d]")
_ASCII = str.maketrans("＞＂״″〝〞｀～", '>"""""`~')
_SAID_WORDS = 6
"""From how many words on a quotation within a line is what somebody said; a shorter one is a name or a title."""
_QUOTED = re.compile(r"(?:^|\n)[ \t]{0,8}([“„«»\"‘「『])")


# All statements of a call quote the same few messages.
@lru_cache(maxsize=64)
def spans_of_others(text: str, marked: tuple[tuple[int, int, str], ...] = ()) -> tuple[Span, ...]:
    """Return the spans of a text its author did not type, merged, with the `marked` (start, end, origin)."""
    spans = [Span(start, end) for start, end, origin in marked if origin in OTHERS]
    return merge_spans([*spans, *_blocks(text)])


def forgotten_in(spans: Spans | None) -> list[Span]:
    """Return the spans of a message that its author has had forgotten."""
    return [Span(start, end) for start, end, origin in spans or () if origin == FORGOTTEN]


def overlaps_any(span: Span, others: Iterable[Span]) -> bool:
    """Return whether a span shares characters with one of others."""
    return any(other.start < span.end and span.start < other.end for other in others)


def blank_out(text: str, spans: Iterable[Span]) -> str:
    """Return a text with blanks in place of some spans, so that what is left keeps its place."""
    for span in spans:
        blank = "".join(char if char == "\n" else " " for char in text[span.start : span.end])
        text = text[: span.start] + blank + text[span.end :]
    return text


def carry_spans(before: str, after: str, spans: Spans) -> list[tuple[int, int, str]]:
    """Return the spans of a text that was changed in one place: what was not typed stays so, changed inside or not."""
    common = min(len(before), len(after))
    start = next((n for n in range(common) if before[n] != after[n]), common)
    end = next((n for n in range(common - start) if before[-1 - n] != after[-1 - n]), common - start)
    old_end, now = len(before) - end, len(after) - end
    result = []
    for left, right, origin in spans:
        if right <= start:
            result.append((left, right, origin))
        elif left >= old_end:
            result.append((left + now - old_end, right + now - old_end, origin))
        elif left < start:
            result.append((left, right + now - old_end if right > old_end else start, origin))
        elif right > old_end:
            result.append((now, right + now - old_end, origin))
    return result


def _blocks(text: str) -> Iterator[Span]:
    if not text.isascii():
        text = _INVISIBLE.sub(" ", text.translate(_ASCII))  # one for one, so that places stay
    lines = [Span(line.start(), line.end()) for line in re.finditer(r"[^\n]*\n?", text) if line.group()]
    yield from _fences(text, lines)
    yield from _between_triples(text)
    yield from data_blocks(text, lines)
    yield from _between_rules(text, lines)
    yield from _quotations(text, lines)
    yield from _mail(text, lines)
    yield from _transcript(text, lines)


def _fences(text: str, lines: Sequence[Span]) -> Iterator[Span]:
    """Yield fences of Markdown; one that is not closed reaches to the end."""
    start, fence = -1, ""
    for line in lines:
        mark = _FENCE.match(text[line.start : line.end])
        if start < 0 and mark:
            start, fence = line.start, mark[1]
        elif start >= 0 and mark and mark[1].startswith(fence) and text[line.start : line.end].strip(" >`~\n") == "":
            yield Span(start, line.end)
            start = -1
    if start >= 0:
        yield Span(start, len(text))


def _between_triples(text: str) -> Iterator[Span]:
    marks = [match.span() for match in _TRIPLE.finditer(text)]
    for opening, closing in zip(marks[::2], [*marks[1::2], (len(text), len(text))], strict=False):
        yield Span(opening[0], closing[1])


def _between_rules(text: str, lines: Sequence[Span]) -> Iterator[Span]:
    """Return what stands between two lines of dashes or the like; after a single one with a title, all the rest."""
    short = [line for line in lines if line.end - line.start <= _MAX_RULE_LENGTH]
    rules = [line for line in short if _RULE.fullmatch(text[line.start : line.end].rstrip("\n"))]
    for opening, closing in zip(rules[::2], rules[1::2], strict=False):
        yield Span(opening.start, closing.end)
    title_line = next(
        (line for line in short if _TITLED_RULE.fullmatch(text[line.start : line.end].rstrip("\n"))), None
    )
    if title_line is not None and title_line not in rules:
        yield Span(title_line.start, len(text))


def _quotations(text: str, lines: Sequence[Span]) -> Iterator[Span]:
    """Yield lines that begin with ">", paragraphs that quotation marks enclose, and long quotations within a line."""
    for match in _INLINE.finditer(text):
        if len(match[0].split()) + len(UNSPACED.findall(match[0])) // 2 >= _SAID_WORDS:
            yield Span(*match.span())
    for line in lines:
        if _MARKED_QUOTE.match(text, line.start, line.end):
            yield line
    ends: dict[str, list[int]] = {closer: [] for closer in _OPENERS.values()}
    for line in lines:
        last = len(text[line.start : line.end].rstrip())
        if last and (char := text[line.start + last - 1]) in ends:
            ends[char].append(line.start + last)
    for match in _QUOTED.finditer(text):
        closing = ends[_OPENERS[match[1]]]
        place = bisect_left(closing, match.end() + 1)
        if place < len(closing):
            yield Span(match.start(1), closing[place])


def _mail(text: str, lines: Sequence[Span]) -> Iterator[Span]:
    """Yield from the head of a mail (labels, one with an address or the time it was sent), or the line above an
    answered one, to the end.
    """
    for number, line in enumerate(lines):
        head = text[line.start : line.end]
        if _ANSWERED.fullmatch(head) and line.end < len(text):
            yield Span(line.start, len(text))
            return
        has_address = _ADDRESS.search(head) is not None
        if not _LABEL.match(head) or not (has_address or _SENT.search(head)):
            continue
        first, last = number, number
        while first > 0 and _LABEL.match(text[lines[first - 1].start : lines[first - 1].end]):
            first -= 1
        while last + 1 < len(lines) and _LABEL.match(text[lines[last + 1].start : lines[last + 1].end]):
            last += 1
        blank = [n for n in range(number, len(lines)) if not text[lines[n].start : lines[n].end].strip()]
        if not has_address and not (last - first > 1 and blank[:1] == [last + 1]):
            continue
        end = lines[blank[-1]].end if first == last and blank and blank[-1] > number + 1 else len(text)
        yield Span(lines[first].start, end)
        return


def _transcript(text: str, lines: Sequence[Span]) -> Iterator[Span]:
    """Yield turns of a conversation with speakers' labels: in brackets, after a time, or two that alternate."""
    labelled = []
    for number, line in enumerate(lines):
        text_line = text[line.start : line.end]
        stamp = _STAMP.match(text_line)
        if match := _LABEL.match(text_line[stamp.end() if stamp else 0 :]):
            labelled.append((number, match[1].strip().casefold(), bool(stamp) or _BRACKET.match(text_line) is not None))
    yield from _turns(text, lines, labelled)
    nicks = [(number, name) for number, line in enumerate(lines) if (name := _NICK.match(text, line.start, line.end))]
    yield from _turns(text, lines, [(number, name[1].casefold(), len(nicks) > 1) for number, name in nicks])
    yield from _turns(text, lines, _headers(text, lines), are_alone=True)


def _headers(text: str, lines: Sequence[Span]) -> list[tuple[int, str, bool]]:
    """Return the lines with nothing but a speaker, above what they say, and the names; certain if some have a time."""
    found = {n: header for n, line in enumerate(lines) if (header := _HEADER.fullmatch(text, line.start, line.end))}
    above = {n: header for n, header in found.items() if n + 1 < len(lines) and n + 1 not in found}
    stamped = {n for n, header in above.items() if header["after"] or header["before"] or header["spaced"]}
    names = {n: next(filter(None, header.groupdict().values())) for n, header in above.items()}
    return [(n, name.strip().casefold(), n in stamped and len(stamped) > 1) for n, name in names.items()]


def _turns(
    text: str, lines: Sequence[Span], labelled: Sequence[tuple[int, str, bool]], *, are_alone: bool = False
) -> Iterator[Span]:
    """Yield the turns that begin on lines with names, if those are certainly names or one of them occurs again.

    Each ends before the next, or at a blank line, of which there are others if the names `are_alone`.
    """
    names = {name for _, name, _ in labelled}
    repeats = len(labelled) > len(names) >= 2
    for place, (number, _, is_certain) in enumerate(labelled):
        if not (is_certain or repeats):
            continue
        after = labelled[place + 1][0] if place + 1 < len(labelled) else len(lines)
        blank = [n for n in range(number, after) if not text[lines[n].start : lines[n].end].strip()]
        if are_alone:
            blank = [n for n in blank if n > number + 1] if after == len(lines) else []
        yield Span(lines[number].start, lines[(blank[0] if blank else after) - 1].end)
