"""The summaries of a conversation in a prompt: all of it at some grain, the newest parts in full. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from webapp.chat.blocks import escape
from webapp.chat.context_types import Chunk, ContextInput
from webapp.chat.sections import Part, framed
from webapp.chat.segments import Line, Segment, sent, summary_mark
from webapp.text.shortening import shorten
from webapp.text.tokens import Count

_NOTE = "Summaries of earlier parts of this conversation, oldest first. They replace those messages."
_CONDENSED_NOTE = " Of the oldest parts only a few words each are shown; ask the user if more is needed."
CONDENSED_SHARE = 1 / 3
"""Of the section, at most this much goes to parts of which only a few words are shown."""
FEWEST = 8
"""Tokens below which a part says nothing; where there are more parts than that allows, every so many are shown."""


def fit_summaries(source: ContextInput, budget: int, count: Count) -> Part:
    """Fit the newest unbroken run of summaries in full, and before it a few words of each earlier one, oldest first."""
    part = Part("summaries", budget)
    newest_first = sorted(source.chunks, key=lambda chunk: (chunk.start, chunk.end, chunk.id), reverse=True)
    costs = [count(sent(_whole(chunk))) + 1 for chunk in newest_first]
    left = budget - count(sent(framed("summaries", _NOTE, [])))
    condensed = 0
    if sum(costs) > left:
        left -= count(_CONDENSED_NOTE)
        condensed = int(left * CONDENSED_SHARE)
    full = 0
    while full < len(costs) and sum(costs[: full + 1]) <= left - condensed:
        full += 1
    older = newest_first[full:]
    few = _few_words(older[::-1], condensed, count)
    for rank, (chunk, tokens) in enumerate(zip(newest_first, costs, strict=True), 1):
        why_not = "" if rank <= full or chunk.id in few else "over the section's budget"
        part.account(chunk, rank, count(few[chunk.id]) if chunk.id in few else tokens, why_not)
    lines = [_cut(chunk, few[chunk.id]) for chunk in older[::-1] if chunk.id in few]
    lines += [_whole(chunk) for chunk in newest_first[:full][::-1]]
    return part.close("summaries", _NOTE + (_CONDENSED_NOTE if few else ""), lines, count)


def _few_words(oldest_first: Sequence[Chunk], budget: int, count: Count) -> dict[int, str]:
    """The beginning of each summary, as much as its equal share of the budget holds, by chunk."""
    if not oldest_first:
        return {}
    extra = count("- ") + 2  # the dash, the end of the line, and what counters are not additive by
    most = max(0, budget // (FEWEST + extra))
    if not most:
        return {}
    step = -(-len(oldest_first) // most)
    chosen = oldest_first[::step]
    share = budget // len(chosen) - extra
    return {chunk.id: _beginning(chunk.content.strip(), share, count) for chunk in chosen}


def _beginning(text: str, limit: int, count: Count) -> str:
    """The first words of a text, with an ellipsis where it goes on."""
    if count(text) <= limit:
        return text
    words = text.split()
    low, high = 0, len(words)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if count(" ".join(words[:middle]) + " …") <= limit else (low, middle - 1)
    return " ".join(words[:low]) + " …" if low else shorten(text, limit, count)


def _whole(chunk: Chunk) -> Line:
    return [Segment("- "), Segment(escape(chunk.content.strip()), summary_mark(chunk.id))]


def _cut(chunk: Chunk, words: str) -> Line:
    return [Segment("- "), Segment(escape(words), summary_mark(chunk.id))]
