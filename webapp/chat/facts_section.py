"""The section of a prompt that lists what is known about the person of a legacy, in the documented form. Pure."""

from __future__ import annotations

from webapp.chat.context_types import ContextInput, Known
from webapp.chat.sections import Part, escape
from webapp.chat.segments import Line, Segment, joined, memory_mark, sent
from webapp.text.tokens import Count


def fit_facts(source: ContextInput, budget: int, count: Count) -> Part:
    """Fit the facts, shown in order of extraction; where room is short the newest stay, and whole ones are left out."""
    part = Part("facts", budget)
    title = escape(source.facts_heading)
    left = budget - count(f"{title}\n") - 1
    shown: list[Line] = []
    for rank, fact in enumerate(sorted(source.facts, key=lambda fact: -fact.id), 1):
        line = [
            Segment(escape(fact.before)),
            Segment(escape(fact.said), memory_mark(fact.id, fact.revision)),
            Segment(escape(fact.after)),
        ]
        tokens = count(sent(line)) + 1
        fits = tokens <= left
        item = Known(fact.id, fact.content, fact.revision, "shared fact" if fact.is_others else "fact", 0.5)
        part.account(item, rank, tokens, "" if fits else "over the section's budget")
        if fits:
            shown.insert(0, line)
            left -= tokens
    if shown:
        part.set_text([*joined("\n", [[Segment(title)], *shown]), Segment("\n")], count)
    return part
