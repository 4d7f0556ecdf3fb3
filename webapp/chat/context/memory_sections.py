"""The sections of a prompt about what is remembered: facts about people, and summaries of conversations; pure."""

from collections.abc import Sequence
from itertools import groupby

from webapp.chat.context.excerpts import NO_ROOM
from webapp.chat.context.sections import Section, section_block
from webapp.chat.context.segments import Line, Segment, escape, join_segments, memory_mark, summary_mark, tokens_of
from webapp.chat.context.values import Chunk, ContextInput
from webapp.legacies.fact_list import KnownFact
from webapp.memories.schemas import KnownItem
from webapp.text.tokens import estimate_tokens, first_words

_MORE = "- ({} more facts are known. Those that the message is about stand in the reference below; ask about others.)"


def fit_facts(source: ContextInput, budget: int) -> Section:
    """Fit the facts, one per line in order of extraction, else grouped by category, else the most telling ones."""
    section = Section("facts", budget)
    title = escape(source.facts_heading)
    tokens_left = budget - estimate_tokens(f"{title}\n") - 1
    ordered = sorted(source.facts, key=lambda fact: fact.id)
    lines, selection = [_fact_line(fact) for fact in ordered], list(ordered)
    if sum(tokens_of(line) + 1 for line in lines) > tokens_left:
        selection = _fitting_facts(ordered, tokens_left)
        lines = _group_lines(selection)
        if len(selection) < len(ordered):
            lines.append([Segment(_MORE.format(len(ordered) - len(selection)))])
    ids = {fact.id for fact in selection}
    for rank, fact in enumerate(sorted(source.facts, key=_sort_key), 1):
        tokens = estimate_tokens(fact.statement) + 1
        item = KnownItem(fact.id, fact.content, fact.revision, "shared fact" if fact.is_others else "fact", 0.5)
        section.account(item, rank, tokens, "" if fact.id in ids else NO_ROOM)
    if lines and selection:
        section.set_text([*join_segments("\n", [[Segment(title)], *lines]), Segment("\n")])
    return section


def _sort_key(fact: KnownFact) -> tuple[float, int]:
    """Return the most telling first; among equals the newest."""
    return -fact.weight, -fact.id


def _fitting_facts(facts: Sequence[KnownFact], budget: int) -> list[KnownFact]:
    """Return the most informative facts whose grouped lines fit the budget, in order of extraction."""
    low, high = 0, len(facts)
    ranked = sorted(facts, key=_sort_key)
    while low < high:
        middle = (low + high + 1) // 2
        selection = _group_lines(sorted(ranked[:middle], key=lambda fact: fact.id))
        note_tokens = estimate_tokens(_MORE.format(len(facts))) + 1 if middle < len(facts) else 0
        fits = sum(tokens_of(line) + 1 for line in selection) + note_tokens <= budget
        low, high = (middle, high) if fits else (low, middle - 1)
    return sorted(ranked[:low], key=lambda fact: fact.id)


def _fact_line(fact: KnownFact) -> Line:
    return [
        Segment(escape(fact.before)),
        Segment(escape(fact.statement), memory_mark(fact.id, fact.revision)),
        Segment(escape(fact.after)),
    ]


def _group_lines(facts: Sequence[KnownFact]) -> list[Line]:
    """Return one line for facts of one category, visibility and member."""
    ordered = sorted(facts, key=lambda fact: (fact.before, fact.after, fact.id))
    lines: list[Line] = []
    for (before, after), group in groupby(ordered, key=lambda fact: (fact.before, fact.after)):
        statements = [
            [Segment(escape(fact.statement.rstrip(" .")), memory_mark(fact.id, fact.revision))] for fact in group
        ]
        lines.append([Segment(escape(before)), *join_segments("; ", statements), Segment(escape(after))])
    return lines


_NOTE = "Summaries of earlier parts of this conversation, oldest first. They replace those messages."
_CONDENSED_NOTE = " Of the oldest parts only a few words each are shown; ask the user if more is needed."
CONDENSED_SHARE = 1 / 3
"""The most of the section that goes to parts of which only a few words are shown."""
MIN_TOKENS = 8
"""Tokens below which a part says nothing; if there are more parts than fit at that size, only every n-th is shown."""


def fit_summaries(source: ContextInput, budget: int) -> Section:
    """Fit the newest unbroken run of summaries in full, and before it the earlier ones in less detail. Oldest first."""
    section = Section("summaries", budget)
    finest = [chunk for chunk in source.chunks if not chunk.level]
    newest_first = sorted(finest, key=lambda chunk: (chunk.start, chunk.end, chunk.id), reverse=True)
    costs = [tokens_of(_summary_line(chunk)) + 1 for chunk in newest_first]
    tokens_left = budget - tokens_of(section_block("summaries", _NOTE, []))
    condensed = 0
    if sum(costs) > tokens_left:
        tokens_left -= estimate_tokens(_CONDENSED_NOTE)
        condensed = int(tokens_left * CONDENSED_SHARE)
    full = 0
    while full < len(costs) and sum(costs[: full + 1]) <= tokens_left - condensed:
        full += 1
    older = _replace_by_overviews(newest_first[full:][::-1], [chunk for chunk in source.chunks if chunk.level])
    few = _few_words(older, condensed)
    selection = [*newest_first[:full], *older[::-1]]
    for rank, chunk in enumerate(selection, 1):
        tokens = estimate_tokens(few[chunk.id]) if chunk.id in few else tokens_of(_summary_line(chunk)) + 1
        section.account(chunk, rank, tokens, "" if rank <= full or chunk.id in few else NO_ROOM)
    lines = [_summary_line(chunk, few[chunk.id]) for chunk in older if chunk.id in few]
    lines += [_summary_line(chunk) for chunk in newest_first[:full][::-1]]
    return section.close("summaries", _NOTE + (_CONDENSED_NOTE if few else ""), lines)


def _replace_by_overviews(oldest_first: Sequence[Chunk], overviews: Sequence[Chunk]) -> list[Chunk]:
    """Return what represents some summaries: the coarsest overviews within them, and the summaries none covers."""
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
    limit = max(0, budget // (MIN_TOKENS + extra))
    if not limit:
        return {}
    step = -(-len(oldest_first) // limit)
    selection = oldest_first[::step]
    share = budget // len(selection) - extra
    return {chunk.id: first_words(chunk.content.strip(), share) for chunk in selection}


def _summary_line(chunk: Chunk, words: str | None = None) -> Line:
    text = chunk.content.strip() if words is None else words
    return [Segment("- "), Segment(escape(text), summary_mark(chunk.id))]
