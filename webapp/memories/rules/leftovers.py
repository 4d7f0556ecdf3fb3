"""What a statement quotes but does not say: "my best half marathon is 1:42 and I run on Tuesdays" is two things; pure.

Small models quote two statements and reword one. The other is kept in the user's own words, as a separate statement.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from webapp.memories.rules.kinds import MemoryType
from webapp.memories.rules.operations import Action, MemoryOperation
from webapp.memories.rules.phrases import SUBJECT_I
from webapp.memories.rules.soundness import is_said, own_words, telling
from webapp.text.wishes import is_wish
from webapp.text.words import stems, words

LEAST_WORDS = 4
_OWN_VERB = (
    r"(?:wohne|lebe|arbeite|habe|spiele|lerne|studiere|komme|trinke|fahre|heiße|vivo|trabajo|tengo|soy|estudio|juego|toco|hablo|"
    r"lavoro|ho|abito|suono|parlo|moro|trabalho|tenho|sou|estudo|falo|woon|heb|ben)(?!\w)"
)
"""Verbs whose form shows who is speaking, without a pronoun."""
_BY_FORM = re.compile(rf"^\W*{_OWN_VERB}", re.IGNORECASE)
_AND = re.compile(
    r"(?<=[.!?…])(?<!\b\d\.)(?<!\b\d\d\.)\s+|,?\s+(?:and|und|et|y|e|en)\s+(?=(?:i['’]\w+|my|we['’]\w+|j['’]\w+)\b|(?:i|we|ich|wir|je|nous|yo|io|eu|ik)\s+\w)|"
    rf",?\s+(?:und|y|e|en)\s+(?={_OWN_VERB}\s+\w)",
    re.IGNORECASE,
)
_PLAIN = re.compile(r"^\W*i\s+(?:live|work)\s+(?:in|at|as|for)\s", re.IGNORECASE)
"""Said in words that every statement has, and yet it says something."""
CONFIDENCE = 0.7


def with_leftovers(operations: Sequence[MemoryOperation]) -> list[MemoryOperation]:
    """The operations, each quoting only what it says, followed by what else its quote said, unless another says it."""
    found: list[MemoryOperation] = []
    for operation in operations:
        clauses = [clause.strip() for clause in _AND.split(operation.quote) if clause.strip()]
        others = [other for other in operations if other is not operation]
        said = [clause for clause in clauses if _says(operation, clause)]
        if operation.action is Action.RETRACT or len(clauses) < 2 or len(said) != 1:
            found.append(operation)
            continue
        found.append(operation.model_copy(update={"quote": said[0]}))
        for clause in clauses:
            if clause not in said and _is_statement(clause) and not any(_tells(other, clause) for other in others):
                found.append(_own(operation, clause))
    return found


def _own(operation: MemoryOperation, clause: str) -> MemoryOperation:
    return operation.model_copy(
        update={
            "action": Action.ADD,
            "memory_type": MemoryType.INSTRUCTION if is_wish(clause) else operation.memory_type,
            "memory_number": None,
            "quote": clause,
            "content": own_words(clause),
            "fact_key": None,
            "fact_value": None,
            "confidence": min(CONFIDENCE, operation.confidence),
        }
    )


def _is_statement(clause: str) -> bool:
    by_form = _BY_FORM.match(clause) is not None
    least = 1 if _PLAIN.match(clause) else 2
    own = by_form or SUBJECT_I.match(clause) is not None or is_wish(clause)
    return (
        own
        and len(clause.split()) >= LEAST_WORDS - by_form
        and len(telling(clause)) >= least
        and not clause.endswith("?")
    )


def _says(operation: MemoryOperation, clause: str) -> bool:
    terms = set(stems(words(clause)))
    return any(is_said(term, terms) for term in telling(operation.content))


def _tells(other: MemoryOperation, clause: str) -> bool:
    """Whether another statement quotes or says what a clause does."""
    terms, folded, quote = set(stems(words(clause))), clause.casefold(), other.quote.casefold()
    return folded in quote or quote in folded or sum(is_said(term, terms) for term in telling(other.content)) >= 2
