"""Tombstones: what was forgotten stays forgotten, without keeping what it said.

A tombstone is an HMAC-SHA256 over a kind and a canonical form, with a key of the person's that is derived from a secret
of the installation. No text is kept, equal memories of two users have different tombstones, and a stolen database alone
cannot be tested against a dictionary. The person's key can go with their export and be brought here, so that what was
forgotten stays forgotten where they move to (docs/adr). Forgetting one memory blocks:

- `content`: the same statement in the same words;
- `fact`: the same value under the same key, however the statement is worded. Forgetting "name = Alex" leaves the
  user free to be called something else: another value is another tombstone;
- `quote`: the quotes that it rested on, so that reading the same conversation again cannot bring it back in other
  words. Only quotes long enough to be about one thing are used.

`key` is written only if the user forgets a whole key ("never keep my name"): then no value is learned for it.

The kind in the hash names the canonical form it was made with. Tombstones from before signs counted ("C" and "C++" had
one form) still forbid what they forbade then.
"""

import hashlib
import hmac
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from itertools import accumulate

from webapp.memories.rules.kinds import canonical_fact_key, earlier_fact_key
from webapp.text.canonical import (
    canonical_statement,
    earlier_fold,
    earlier_statement,
    earlier_trimmed,
    fold,
    trim_punctuation,
)
from webapp.text.provenance import FORGOTTEN, Spans, forgotten_in
from webapp.text.quotes import Span, merge_spans
from webapp.text.words import UNSPACED

# Shorter quotes ("Alex", "in Rome") may just as well support something else.
MIN_QUOTE_LENGTH = 10
QUOTE_WORDS = 40
_WORD = re.compile(r"\S+")
_LETTER_OR_WORD = re.compile(rf"{UNSPACED.pattern}|[^\s{UNSPACED.pattern[1:-1]}]+")
SEARCHED_WORDS = 1_500


class TombstoneKind(StrEnum):
    """The thing of which a tombstone is the hash."""

    CONTENT = "content"
    FACT = "fact"
    KEY = "key"
    QUOTE = "quote"


@dataclass(frozen=True, slots=True)
class Version:
    """One way to make canonical forms; `mark` names it in the hash, so that no form is taken for one of another."""

    mark: str
    fold: Callable[[str], str]
    trim: Callable[[str], str]
    statement: Callable[[str], str]
    key: Callable[[str | None], str | None]

    def name_of(self, kind: TombstoneKind) -> str:
        """Return the kind as it is hashed."""
        return f"{kind}{self.mark}"


_EARLIER = Version("", earlier_fold, earlier_trimmed, earlier_statement, earlier_fact_key)
_CURRENT = Version("/2", fold, trim_punctuation, canonical_statement, canonical_fact_key)


def person_key(secret: bytes, user_id: int) -> bytes:
    """Return the key of one person's tombstones; it reveals nothing about the secret or another person's key."""
    return hmac.digest(secret, f"tombstones of {user_id}".encode(), "sha256")


def key_id(key: bytes) -> str:
    """Return what identifies a key without revealing it: 16 hexadecimal digits."""
    return hashlib.sha256(key).hexdigest()[:16]


class TombstoneSet:
    """The tombstones of one user, and how to make and look up more of them.

    `secrets` are the installation's keys (of at least 16 bytes): the first makes new ones. `digests` are those stored;
    `imported_keys` the keys the user had elsewhere. `is_old`: some were made before each person had a key.
    """

    def __init__(
        self,
        secrets: Sequence[bytes],
        user_id: int,
        digests: Collection[str] = (),
        *,
        imported_keys: Sequence[bytes] = (),
        is_old: bool = False,
    ) -> None:
        if not secrets or min(map(len, secrets)) < 16:
            raise ValueError("the tombstone secret needs at least 16 bytes")
        self._keys = [person_key(key, user_id) for key in secrets] + list(imported_keys)
        self._secrets = secrets if is_old else ()
        self._user_id = user_id
        self._stored_digests = frozenset(digests)

    @property
    def key_id(self) -> str:
        """Return the id of the key for new tombstones."""
        return key_id(self._keys[0])

    def tombstones_for(
        self,
        content: str,
        fact_key: str | None = None,
        fact_value: str | None = None,
        quotes: Iterable[str] = (),
        whole_key: bool = False,
    ) -> dict[str, TombstoneKind]:
        """Return what to store when a memory is forgotten, kinds by digest of 64 hexadecimal digits; with `whole_key`,
        also against any later value."""
        forms = _forms_of(_CURRENT, content, fact_key, fact_value)
        forms += [(TombstoneKind.QUOTE, form) for form in map(canonical_statement, quotes) if _is_long(form)]
        if whole_key and (key := canonical_fact_key(fact_key)):
            forms.append((TombstoneKind.KEY, key))
        return {_digest(self._keys[0], _CURRENT.name_of(kind), form): kind for kind, form in forms}

    def forbids(
        self, content: str, fact_key: str | None = None, fact_value: str | None = None, quote: str | None = None
    ) -> bool:
        """Return whether a memory's statement, key and value, or quote was forgotten, or it says another's quote."""
        return not self._stored_digests.isdisjoint(self.digests_of(content, fact_key, fact_value, quote))

    def digests_of(
        self, content: str, fact_key: str | None = None, fact_value: str | None = None, quote: str | None = None
    ) -> frozenset[str]:
        """Return all digests that would forbid this memory, to look them up in the database."""
        digests: set[str] = set()
        for version in (_CURRENT, _EARLIER):
            forms = _forms_of(version, content, fact_key, fact_value)
            if key := version.key(fact_key):
                forms.append((TombstoneKind.KEY, key))
            words = (version.statement(text) for text in (content, quote) if text)
            forms += [(TombstoneKind.QUOTE, form) for form in words if _is_long(form)]
            digests.update(digest for kind, form in forms for digest in self._digests(version.name_of(kind), form))
        return frozenset(digests)

    def quotes_in(self, text: str) -> list[Span]:
        """Return the runs of up to QUOTE_WORDS words in a text that are forgotten quotes."""
        return self._places(text, (TombstoneKind.QUOTE,), SEARCHED_WORDS)

    def add_quotes(self, text: str, spans: Spans | None) -> Spans:
        """Return the spans of a message with those of forgotten quotes, which no prompt or search then shows."""
        return [*(spans or ()), *((start, end, FORGOTTEN) for start, end in self.quotes_in(text))]

    def without_quotes(self, text: str, spans: Spans = ()) -> str:
        """Return a text with […] in place of every forgotten quote, and of what is marked as one."""
        return _replace(text, merge_spans([*self.quotes_in(text), *forgotten_in(spans)]), "[…]")

    def without_forgotten(self, text: str, mark: str) -> str:
        """Return a text with marks in place of forgotten statements and quotes, wherever they stand."""
        return _replace(text, self._places(text, (TombstoneKind.QUOTE, TombstoneKind.CONTENT)), mark)

    def _places(self, text: str, kinds: Collection[TombstoneKind], limit: int | None = None) -> list[Span]:
        if not self._stored_digests:
            return []
        # A bounded search begins at each letter of scripts without spaces; in an entire text that would take too long.
        spans = [match.span() for match in (_LETTER_OR_WORD if limit else _WORD).finditer(text)][:limit]
        ends = [0, *(end for _, end in spans)]
        # Folded word by word, once: each is part of up to QUOTE_WORDS squared runs.
        words = [(" " * (start > last), text[start:end]) for (start, end), last in zip(spans, ends, strict=False)]
        versions = [(v, [gap + v.fold(word) for gap, word in words]) for v in (_CURRENT, _EARLIER)]
        places: list[Span] = []
        index = 0
        while index < len(spans):
            runs = (self._forgotten_run(v, tokens[index : index + QUOTE_WORDS], kinds) for v, tokens in versions)
            if run := max(runs):
                places.append(Span(spans[index][0], spans[index + run - 1][1]))
            index += run or 1
        return places

    def _forgotten_run(self, version: Version, tokens: Sequence[str], kinds: Collection[TombstoneKind]) -> int:
        """Return how many words from the first on are something forgotten, at most; 0 if none are."""
        names = [version.name_of(kind) for kind in kinds]
        runs = [run.strip() for run in accumulate(tokens)]
        shortest = next((count for count, run in enumerate(runs, 1) if _is_long(run)), len(runs) + 1)
        for count in range(len(runs), shortest - 1, -1):
            form = version.trim(runs[count - 1])
            if any(digest in self._stored_digests for name in names for digest in self._digests(name, form)):
                return count
        return 0

    def _digests(self, kind: str, form: str) -> Iterator[str]:
        for key in self._keys:
            yield _digest(key, kind, form)
        for secret in self._secrets:
            yield _digest(secret, f"{self._user_id}\x1f{kind}", form)


def _replace(text: str, places: Sequence[Span], mark: str) -> str:
    for start, end in reversed(places):
        text = text[:start] + mark + text[end:]
    return text


@lru_cache(256)
def _beginning(key: bytes, kind: str) -> hmac.HMAC:
    return hmac.new(key, f"{kind}\x1f".encode(), "sha256")


def _digest(key: bytes, kind: str, form: str) -> str:
    digest = _beginning(key, kind).copy()
    digest.update(form.encode("utf-8", "surrogatepass"))
    return digest.hexdigest()


def _forms_of(
    version: Version, content: str, fact_key: str | None, fact_value: str | None
) -> list[tuple[TombstoneKind, str]]:
    forms = [(TombstoneKind.CONTENT, version.statement(content))]
    if key := version.key(fact_key):
        value = fact_value if fact_value and fact_value.strip() else content
        forms.append((TombstoneKind.FACT, f"{key}\x1f{version.statement(value)}"))
    return forms


def has_statements(quote: str) -> bool:
    """Return whether a quote is long enough to be about one thing."""
    return _is_long(canonical_statement(quote))


def _is_long(form: str) -> bool:
    weight = 0
    for ch in form:  # of a run of forty words, the first two or three say it
        if ch.isalnum():
            weight += 1 if ch.isascii() else 2
            if weight >= MIN_QUOTE_LENGTH:
                return True
    return False
