"""Retrieved passages of a turn, as excerpts within a budget: small pieces by rank, grouped by conversation."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from webapp.chat.context.segments import (
    Line,
    Segment,
    attribute,
    escape,
    join_segments,
    memory_mark,
    passage_mark,
    tokens_of,
)
from webapp.chat.context.values import RetrievedPassage
from webapp.text.tokens import estimate_tokens

FULL_EXCERPTS = 1
"""How many of the best results are shown whole from the start; of the others, first only the core."""
MIN_TOKENS = 6
"""With fewer tokens than this left, nothing more is added."""
PRESENT = "in the prompt already"
_SAID_END, _ITEM_END = Segment("</said>"), Segment("</item>")
NO_ROOM = "over the section's budget"


@dataclass(slots=True)
class Excerpt:
    """One excerpt: a memory, a summary, part of a document, or pieces of one conversation."""

    pieces: list[RetrievedPassage] = field(default_factory=list)

    def line(self, number: int) -> Line:
        """Return the item of a prompt, without its source: a conversation's title is deleted with it."""
        first = self.pieces[0]
        words: Sequence[Segment]
        if first.group:
            words = join_segments("\n", (_piece_line(piece) for piece in _merge(self.pieces)))
            return [Segment(f'<said on="{attribute(first.source)}">', "<said>"), *words, _SAID_END]
        start = f'<item n="{number}" kind="{first.kind}"'
        source = f' source="{attribute(first.source)}"' if first.source else ""
        words = _piece_line(first) if first.kind == "message" else _full_line(first)
        stored = f"{start}{source}>" if first.kind == "memory" else f"{start}>"
        return [Segment(f"{start}{source}>", stored), *words, _ITEM_END]


@dataclass(slots=True)
class Candidate:
    """A passage as far as it would be shown, its tokens, and why it is not shown; empty if it is."""

    passage: RetrievedPassage
    tokens: int
    why_not: str


def pack(
    passages: Sequence[RetrievedPassage], budget: int, present: Iterable[tuple[str, int]]
) -> tuple[list[Line], list[Candidate]]:
    """Take what was retrieved by rank while it fits, FULL_EXCERPTS whole, others as cores, then as whole pieces; return
    the items of the prompt, best first, and all candidates by rank."""
    keys, tokens_left = set(present), budget
    excerpts: list[Excerpt] = []
    candidates: list[Candidate] = []
    cores: list[tuple[Excerpt, Candidate, RetrievedPassage]] = []
    by_group: dict[tuple[str, int], Excerpt] = {}
    texts: set[str] = set()
    for rank, item in enumerate(passages):
        text = " ".join(item.content.split()).casefold()
        passage = item if rank < FULL_EXCERPTS or tokens_left < MIN_TOKENS else item.reduced_to_core
        excerpt = by_group.get((item.kind, item.group)) if item.group else None
        price = _price(excerpt, passage) if tokens_left >= MIN_TOKENS else tokens_left + 1
        is_present = (item.kind, item.id) in keys or text in texts
        candidate = Candidate(passage, price, PRESENT if is_present else NO_ROOM if price > tokens_left else "")
        candidates.append(candidate)
        if candidate.why_not:
            continue
        if item.kind != "message":
            keys.add((item.kind, item.id))
        texts.add(text)
        tokens_left -= price
        if excerpt is None:
            excerpt = Excerpt()
            excerpts.append(excerpt)
            if item.group:
                by_group[item.kind, item.group] = excerpt
        excerpt.pieces.append(passage)
        if passage is not item:
            cores.append((excerpt, candidate, item))
    for excerpt, candidate, whole in cores:
        if tokens_left < MIN_TOKENS:
            break
        core = candidate.passage
        price = tokens_of(_piece_line(whole)) - tokens_of(_piece_line(core))
        if price <= tokens_left:
            tokens_left -= price
            excerpt.pieces = [whole if piece is core else piece for piece in excerpt.pieces]
            candidate.passage = whole
    return [excerpt.line(number) for number, excerpt in enumerate(excerpts, 1)], candidates


def _price(excerpt: Excerpt | None, item: RetrievedPassage) -> int:
    """Return the tokens that one more piece costs."""
    if excerpt is None:
        return tokens_of(Excerpt([item]).line(99)) + 1
    return tokens_of(_piece_line(item)) + estimate_tokens("\n")


def _merge(parts: Sequence[RetrievedPassage]) -> Iterator[RetrievedPassage]:
    """Yield the pieces of one conversation in its order, overlapping ones merged."""
    last: RetrievedPassage | None = None
    for part in sorted(parts, key=lambda part: (part.id, part.start)):
        if last is not None and last.id == part.id and part.start <= last.end:
            if part.end > last.end:
                last = replace(last, content=last.content + part.content[last.end - part.start :], end=part.end)
            continue
        if last is not None:
            yield last
        last = part
    if last is not None:
        yield last


def _piece_line(part: RetrievedPassage) -> Line:
    """Return a piece of a message, after its speaker, with an ellipsis where the message continues."""
    before = "… " if part.start > 0 else ""
    after = " …" if part.end < part.length else ""
    is_cut = bool(before or after)
    mark = passage_mark(part.kind, part.id, (part.start, part.end) if is_cut else None)
    speaker = f"{part.speaker}: " if part.speaker else ""
    return [Segment(f"{speaker}{before}"), Segment(escape(part.content.strip()), mark), Segment(after)]


def _full_line(part: RetrievedPassage) -> Line:
    mark = memory_mark(part.id, part.revision or 0) if part.kind == "memory" else passage_mark(part.kind, part.id)
    return [Segment(escape(part.content.strip()), mark)]
