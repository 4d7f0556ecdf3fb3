"""Matches of words to points: facts to the quotes they came from, memories to the points they concern; pure."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from webapp.text.words import terms_of


def assign(statements: Sequence[str], quotes: Sequence[str]) -> list[list[str]]:
    """Return each quote's statements: a statement is the quote's that shares most words, else the first's."""
    matches: list[list[str]] = [[] for _ in quotes]
    quote_terms = [set(terms_of(quote)) for quote in quotes]
    for statement in statements if quotes else ():
        terms = set(terms_of(statement))
        best = max(range(len(quotes)), key=lambda place: (len(terms & quote_terms[place]), -place))
        matches[best].append(statement)
    return matches


def assign_data(data: Mapping[str, Any], quotes: Sequence[str]) -> list[dict[str, Any]]:
    """Return the named values for each quote; a value belongs to the quote that shares most of its words."""
    result: list[dict[str, Any]] = [{} for _ in quotes]
    for name, value in data.items():
        places = assign([f"{value} {name.replace('_', ' ')}"], quotes)
        for place, statements in enumerate(places):
            if statements:
                result[place][name] = value
    return result


def keyword_count(statement: str, keywords: Iterable[str]) -> int:
    """Return how many keywords a statement contains, in any form; the words of one must be there together, in order."""
    text = f" {' '.join(terms_of(statement))} "
    phrases = [" ".join(terms_of(keyword)) for keyword in keywords]
    return sum(f" {keyword} " in text for keyword in phrases if keyword)


def shares_words(first: str, other: str) -> bool:
    """Return whether two texts have a significant word in common."""
    return not set(terms_of(first)).isdisjoint(terms_of(other))
