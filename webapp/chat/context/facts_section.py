"""The prompt section that lists what is known about the person of a legacy, in the documented form. Pure."""

from collections.abc import Sequence
from itertools import groupby

from webapp.chat.context.sections import Part
from webapp.chat.context.segments import Line, Segment, escape, join_segments, memory_mark, tokens_of
from webapp.chat.context.values import ContextInput, Fact
from webapp.memories.schemas import KnownItem
from webapp.text.tokens import estimate_tokens

_MORE = "- ({} more facts are known. Those that the message is about stand in the reference below; ask about others.)"


def fit_facts(source: ContextInput, budget: int) -> Part:
    """Fit the facts, one per line in order of extraction.

    If that takes too much room they are grouped, one line per category; if that does too, the most telling stay and the
    prompt says how many more are known.
    """
    part = Part("facts", budget)
    title = escape(source.facts_heading)
    tokens_left = budget - estimate_tokens(f"{title}\n") - 1
    ordered = sorted(source.facts, key=lambda fact: fact.id)
    lines, selection = [_line(fact) for fact in ordered], list(ordered)
    if sum(tokens_of(line) + 1 for line in lines) > tokens_left:
        selection = _that_fit(ordered, tokens_left)
        lines = _group_lines(selection)
        if len(selection) < len(ordered):
            lines.append([Segment(_MORE.format(len(ordered) - len(selection)))])
    ids = {fact.id for fact in selection}
    for rank, fact in enumerate(sorted(source.facts, key=_weight), 1):
        tokens = estimate_tokens(fact.statement) + 1
        item = KnownItem(fact.id, fact.content, fact.revision, "shared fact" if fact.is_others else "fact", 0.5)
        part.account(item, rank, tokens, "" if fact.id in ids else "over the section's budget")
    if lines and selection:
        part.set_text([*join_segments("\n", [[Segment(title)], *lines]), Segment("\n")])
    return part


def _weight(fact: Fact) -> tuple[float, int]:
    """Return the most telling first; among equals the newest."""
    return -fact.weight, -fact.id


def _that_fit(facts: Sequence[Fact], budget: int) -> list[Fact]:
    """Return the most informative facts whose grouped lines fit the budget, in order of extraction."""
    low, high = 0, len(facts)
    ranked = sorted(facts, key=_weight)
    while low < high:
        middle = (low + high + 1) // 2
        selection = _group_lines(sorted(ranked[:middle], key=lambda fact: fact.id))
        note_tokens = estimate_tokens(_MORE.format(len(facts))) + 1 if middle < len(facts) else 0
        fits = sum(tokens_of(line) + 1 for line in selection) + note_tokens <= budget
        low, high = (middle, high) if fits else (low, middle - 1)
    return sorted(ranked[:low], key=lambda fact: fact.id)


def _line(fact: Fact) -> Line:
    return [
        Segment(escape(fact.before)),
        Segment(escape(fact.statement), memory_mark(fact.id, fact.revision)),
        Segment(escape(fact.after)),
    ]


def _group_lines(facts: Sequence[Fact]) -> list[Line]:
    """One line for all facts that begin and end alike: same category, same visibility, same member who said them."""
    ordered = sorted(facts, key=lambda fact: (fact.before, fact.after, fact.id))
    lines: list[Line] = []
    for (before, after), group in groupby(ordered, key=lambda fact: (fact.before, fact.after)):
        statements = [
            [Segment(escape(fact.statement.rstrip(" .")), memory_mark(fact.id, fact.revision))] for fact in group
        ]
        lines.append([Segment(escape(before)), *join_segments("; ", statements), Segment(escape(after))])
    return lines
