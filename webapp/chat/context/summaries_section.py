"""The summaries of a conversation in a prompt: all of it at some level of detail, the newest parts in full. Pure."""

from collections.abc import Sequence

from webapp.chat.context.sections import Part, section_block
from webapp.chat.context.segments import Line, Segment, escape, summary_mark, tokens_of
from webapp.chat.context.values import Chunk, ContextInput
from webapp.text.tokens import estimate_tokens, first_words

_NOTE = "Summaries of earlier parts of this conversation, oldest first. They replace those messages."
_CONDENSED_NOTE = " Of the oldest parts only a few words each are shown; ask the user if more is needed."
CONDENSED_SHARE = 1 / 3
"""The most of the section that goes to parts of which only a few words are shown."""
FEWEST = 8
"""Tokens below which a part says nothing; if there are more parts than fit at that size, only every n-th is shown."""


def fit_summaries(source: ContextInput, budget: int) -> Part:
    """Fit the newest unbroken run of summaries in full, and before it all earlier ones in less detail: by overviews
    where they exist, each cut to its share of the room. Oldest first."""
    part = Part("summaries", budget)
    finest = [chunk for chunk in source.chunks if not chunk.level]
    newest_first = sorted(finest, key=lambda chunk: (chunk.start, chunk.end, chunk.id), reverse=True)
    costs = [tokens_of(_line(chunk)) + 1 for chunk in newest_first]
    tokens_left = budget - tokens_of(section_block("summaries", _NOTE, []))
    condensed = 0
    if sum(costs) > tokens_left:
        tokens_left -= estimate_tokens(_CONDENSED_NOTE)
        condensed = int(tokens_left * CONDENSED_SHARE)
    full = 0
    while full < len(costs) and sum(costs[: full + 1]) <= tokens_left - condensed:
        full += 1
    older = _coarser(newest_first[full:][::-1], [chunk for chunk in source.chunks if chunk.level])
    few = _few_words(older, condensed)
    selection = [*newest_first[:full], *older[::-1]]
    for rank, chunk in enumerate(selection, 1):
        tokens = estimate_tokens(few[chunk.id]) if chunk.id in few else tokens_of(_line(chunk)) + 1
        why_not = "" if rank <= full or chunk.id in few else "over the section's budget"
        part.account(chunk, rank, tokens, why_not)
    lines = [_line(chunk, few[chunk.id]) for chunk in older if chunk.id in few]
    lines += [_line(chunk) for chunk in newest_first[:full][::-1]]
    return part.close("summaries", _NOTE + (_CONDENSED_NOTE if few else ""), lines)


def _coarser(oldest_first: Sequence[Chunk], overviews: Sequence[Chunk]) -> list[Chunk]:
    """Return what represents some summaries: the coarsest overviews that end within them, and the summaries none
    covers.
    """
    units: list[Chunk] = []
    last = oldest_first[-1].end if oldest_first else 0
    reach = 0
    fitting = sorted((item for item in overviews if item.end <= last), key=lambda item: -item.level)
    for chunk in oldest_first:
        if chunk.start <= reach:
            continue
        unit = next((item for item in fitting if item.start == chunk.start), chunk)
        units.append(unit)
        reach = unit.end
    return units


def _few_words(oldest_first: Sequence[Chunk], budget: int) -> dict[int, str]:
    """Return the beginning of each summary that its equal share of the budget holds, by chunk id."""
    if not oldest_first:
        return {}
    extra = estimate_tokens("- ") + 2  # the dash, the end of the line, and a margin because estimates are not additive
    limit = max(0, budget // (FEWEST + extra))
    if not limit:
        return {}
    step = -(-len(oldest_first) // limit)
    selection = oldest_first[::step]
    share = budget // len(selection) - extra
    return {chunk.id: first_words(chunk.content.strip(), share) for chunk in selection}


def _line(chunk: Chunk, words: str | None = None) -> Line:
    text = chunk.content.strip() if words is None else words
    return [Segment("- "), Segment(escape(text), summary_mark(chunk.id))]
