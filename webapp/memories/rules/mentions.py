"""The people and things that memories name, as far as their form tells; pure, and of no language's words.

A name is capitalised within a sentence, a value of certain facts, or what begins several statements about people or
things, and no other.
"""

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from os.path import commonprefix
from typing import NamedTuple

from webapp.memories.rules.capitals import capital_runs, count_small, parts_of
from webapp.memories.rules.statements import KEYS
from webapp.text.words import fold_marks, is_paired

_NAMING_KEYS = frozenset({KEYS["home"], KEYS["origin"], KEYS["employer"]})
"""The keys of facts whose value names something around the person."""
_OWN = frozenset({KEYS["name"], KEYS["called"]})
_MAX_NAME_WORDS = 4
"""Words of a name: more capitals in a row are a heading."""
_MAX_LETTERS = 40
_MAX_VALUES = 40
"""Names that are looked for in every statement, capitals or not."""
_PREFIX = 2
"""Characters that beginnings have in common at least, in scripts without spaces."""
_INFLECTED = 6
"""Letters of a day or month that may have an ending."""
_BETWEEN_VALUES = re.compile("[,;/()|،；，、]")


class Note(NamedTuple):
    """A memory as far as names go; `is_of_things` if it is kept as one about a person or thing."""

    memory_id: int
    text: str
    is_of_things: bool = False
    fact_key: str | None = None
    value: str | None = None


@dataclass(frozen=True, slots=True)
class Name:
    """A name as it is mostly written, and the memories that mention it, in the order given; `key` is it folded."""

    key: str
    label: str
    memory_ids: tuple[int, ...]


_Key = tuple[str, ...]
_Places = dict[int, str]
"""The notes that mention a name, by number, each with the form it has there."""


def names_of(notes: Sequence[Note], calendar: Collection[str] = ()) -> list[Name]:
    """Return the names, most mentioned and earliest first; days and months (`calendar`) only where they name people."""
    mentions: dict[_Key, _Places] = defaultdict(dict)
    _add_capitalised(mentions, notes)
    _add_known(mentions, notes)
    _join(mentions)
    own_names = {fold_marks(word) for note in notes if note.fact_key in _OWN for word in (note.value or "").split()}
    names = []
    for key, places in mentions.items():
        is_day = _is_of_calendar(key, calendar) and not any(_is_subject(key[0], notes[number]) for number in places)
        if not is_day and not own_names.issuperset(key) and len(" ".join(key)) <= _MAX_LETTERS:
            numbers = sorted(places)
            ids = tuple(notes[number].memory_id for number in numbers)
            names.append((-len(ids), numbers[0], Name(" ".join(key), _most_used_form(places.values()), ids)))
    return [name for *_, name in sorted(names, key=lambda item: (*item[:2], item[2].key))]


def _add_capitalised(mentions: dict[_Key, _Places], notes: Sequence[Note]) -> None:
    texts = [note.text for note in notes]
    runs = capital_runs(texts)
    parts = {(starts_sentence, text): parts_of(text, starts_sentence) for starts_sentence, text in runs}
    inner_counts, firsts = Counter[str](), list[tuple[str, Note]]()
    for place, numbers in runs.items():
        for starts_sentence, words in parts[place]:
            for word in words[starts_sentence:]:
                inner_counts[word.lower()] += len(numbers)
            if starts_sentence and len(words) == 1:
                firsts.extend((words[0].lower(), notes[number]) for number in numbers)
    small = count_small(texts)
    subjects = _subjects(firsts) - small.keys()
    for place, numbers in runs.items():
        for starts_sentence, words in parts[place]:
            is_name = [inner_counts[word.lower()] > small[word.lower()] for word in words]
            is_subject = starts_sentence and len(words) == 1 and words[0].lower() in subjects
            # A first word belongs to a name only if it is one itself; a later one does beside others: "Chess Club".
            name = words[starts_sentence and not is_name[0] and not is_subject :]
            if (any(is_name) or is_subject) and 0 < len(name) <= _MAX_NAME_WORDS:
                key, form = tuple(map(fold_marks, name)), " ".join(name)
                for number in numbers:
                    mentions[key].setdefault(number, form)


def _subjects(firsts: Iterable[tuple[str, Note]]) -> set[str]:
    """Return the first words that begin several notes about people or things, and no other."""
    things, other_subjects = Counter[str](), set[str]()
    for word, note in firsts:
        if note.is_of_things:
            things[word] += 1
        else:
            other_subjects.add(word)
    return {word for word, count in things.items() if count > 1 and word not in other_subjects}


def _add_known(mentions: dict[_Key, _Places], notes: Sequence[Note]) -> None:
    """Add the names that may be written small, or have no capitals, wherever they stand."""
    values: dict[str, _Places] = {}
    for name, number in _values(notes):
        values.setdefault(name.casefold(), {})[number] = name
    for name in _beginnings(notes):
        values.setdefault(name.casefold(), {})
    texts = [note.text.casefold() for note in notes] if values else []
    for value, forms in list(values.items())[:_MAX_VALUES]:
        name = next(iter(forms.values()), value)
        key = tuple(map(fold_marks, name.split()))
        as_written = re.compile(re.escape(name), re.IGNORECASE)
        places = {
            number: form.group() if (form := as_written.search(notes[number].text)) else name
            for number, text in enumerate(texts)
            if value in text and _has_word(text, value)
        }
        mentions[key] = forms | places | mentions[key]


def _values(notes: Sequence[Note]) -> Iterator[tuple[str, int]]:
    """Yield the values of facts that name something around the person, or belong to a thing; each with its note."""
    for number, note in enumerate(notes):
        if note.value and note.fact_key and (note.is_of_things or note.fact_key in _NAMING_KEYS):
            for part in _BETWEEN_VALUES.split(note.value):
                name = _trim(" ".join(part.split()))
                if len(name) > 1 and len(name.split()) <= _MAX_NAME_WORDS and not any(map(str.isdecimal, name)):
                    yield name, number


def _beginnings(notes: Sequence[Note]) -> Iterator[str]:
    """Yield what begins several notes about people or things, and no other, in scripts without capitals."""
    spaced, run_on = list[tuple[str, Note]](), list[tuple[str, Note]]()
    for note in notes:
        first = note.text[:1]
        word = _trim(note.text.partition(" ")[0]) if first.lower() == first.upper() else ""
        if word and word[0].isalpha() and word[0].lower() == word[0].upper():
            (run_on if is_paired(word[0]) else spaced).append((word, note))
    yield from sorted(_subjects(spaced))
    # Words run on, or into their endings: what begins alike is the same.
    groups: dict[str, list[str]] = defaultdict(list)
    for word, note in run_on:
        if note.is_of_things:
            groups[word[:_PREFIX]].append(word)
    for prefix in sorted(_subjects((word[:_PREFIX], note) for word, note in run_on)):
        if len(prefix) == _PREFIX:
            yield commonprefix(groups[prefix])


def _trim(word: str) -> str:
    start, end = 0, len(word)
    while start < end and unicodedata.category(word[start])[0] not in "LN":
        start += 1
    while start < end and unicodedata.category(word[end - 1])[0] not in "LMN":
        end -= 1
    return word[start:end]


def _has_word(text: str, word: str) -> bool:
    """Return whether a word that stands in a text stands there by itself, in scripts that tell."""
    if is_paired(word[0]):
        return True
    index = text.find(word)
    while index >= 0:
        neighbours = text[max(0, index - 1) : index] + text[index + len(word) : index + len(word) + 1]
        if all(unicodedata.category(char)[0] not in "LMN" for char in neighbours):
            return True
        index = text.find(word, index + 1)
    return False


def _join(mentions: dict[_Key, _Places]) -> None:
    """Count a longer name as its one word that stands alone, which is then no name of its own: "Anna Lima" is Anna."""
    longer: dict[str, list[_Key]] = defaultdict(list)
    for key in mentions:
        for word in key if len(key) > 1 else ():
            longer[word].append(key)
    merged_keys = set()
    for key in mentions:
        if len(key) == 1 and len(longer[key[0]]) == 1:
            full_name = longer[key[0]][0]
            if len(full_name) == 2:
                merged_keys.add(full_name)
            for number, form in mentions[full_name].items():
                mentions[key].setdefault(number, form.split()[full_name.index(key[0])])
    for key in merged_keys:
        del mentions[key]


def _is_of_calendar(key: _Key, calendar: Collection[str]) -> bool:
    word = key[0]
    return len(key) == 1 and (word in calendar or (len(word) > _INFLECTED and word[:-1] in calendar))


def _is_subject(word: str, note: Note) -> bool:
    return note.is_of_things and fold_marks(note.text[: 2 * len(word)]).startswith(word)


def _most_used_form(forms: Iterable[str]) -> str:
    """Return the form that is used most; among equals the one with more capitals, then by order."""
    return max(Counter(forms).items(), key=lambda item: (item[1], sum(map(str.isupper, item[0])), item[0]))[0]
