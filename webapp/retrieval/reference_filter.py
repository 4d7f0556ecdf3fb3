"""Which finds are no reference: a question that was only asked, and an answer that nothing else supports.

Nobody vouches for what the assistant once answered when asked about somebody: it may have guessed. Offered again, a
guess becomes a fact. So such an answer is offered only together with its support, or if the question is about the
assistant's own words. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Sequence, Set
from enum import IntEnum

from webapp.retrieval.passages import FoundPassage, Key
from webapp.text.words import asks, stems, words

REPEATED = 0.5
"""Share of a past question's words, also in the present question, from which it adds nothing."""
_SENTENCE = re.compile(r"[^.!?…。！？؟\n]+[.!?…。！？؟]*")
_NOTE = re.compile(r"\[[^\[\]]*\]")
_LATER_WORD = re.compile(r"(?<=\s)\w+")
_OWN_WORDS = (
    "i i'm i've i'd my me mine myself we our ours us "
    "ich mir mich mein meine meinen meiner meinem wir uns unser unsere "
    "je j'ai mon ma mes moi nous notre nos yo mi mis mí nosotros nuestro nuestra "
    "eu meu minha meus minhas nós nosso nossa io mio mia miei mie noi nostro nostra "
    "ik mij mijn wij ons onze я мне меня мой моя мои мы нас наш наша ben benim bana beni biz bizim "
    "أنا لي मैं मेरा मेरी मुझे"
)
_OWN = frozenset(_OWN_WORDS.split())
_UNSPACED_OWN = re.compile("[我私僕俺나내저제]")
_BACK_WORDS = (
    "you your yours du dir dich dein deine ihr euch tu vous ton ta tes votre vos usted tú ti te você vocês seu sua lei "
    "voi jij je jouw ты вы тебе вам твой ваш sen siz أنت आप तुम "
    "remind earlier previous previously again discussed last"
)
_BACK = frozenset(_BACK_WORDS.split())
_UNSPACED_BACK = re.compile("[你您あ君당너]")


class QuestionDegree(IntEnum):
    """To what extent a message is a question."""

    NO = 0
    ENDS = 1  # it tells something, then asks
    ONLY = 2  # it only asks
    ABOUT_SOMEBODY = 3  # it only asks, and about the user or something with a name


def question_degree(text: str) -> QuestionDegree:
    """To what extent a message is a question."""
    if not asks(text):
        return QuestionDegree.NO
    sentences = [part.strip() for part in _SENTENCE.findall(_NOTE.sub(" ", text))]
    sentences = [part for part in sentences if any(char.isalnum() for char in part)]
    if not all(part[-1] in "?？؟" for part in sentences):
        return QuestionDegree.ENDS
    spoken = {word.casefold() for word in re.findall(r"[\w'’]+", text.replace("’", "'"))}
    named = any(word[0].isupper() for part in sentences for word in _LATER_WORD.findall(part))
    return (
        QuestionDegree.ABOUT_SOMEBODY if named or spoken & _OWN or _UNSPACED_OWN.search(text) else QuestionDegree.ONLY
    )


def fit_to_offer(found: Sequence[FoundPassage], question: str, asked: Set[str]) -> list[FoundPassage]:
    """The finds for a question, with the terms `asked`, that a reply may be given, in their order."""
    alone = _borne_out_by_nothing(found, question, asked)
    return [item for item in found if not _repeats(item, asked) and item.key not in alone]


def _borne_out_by_nothing(found: Sequence[FoundPassage], question: str, asked: Set[str]) -> dict[Key, frozenset[str]]:
    """The doubtful finds whose terms, apart from those asked for, are nowhere in the other finds; with those terms."""
    alone = {item.key: _terms(item) - asked for item in found if _is_doubtful(item)}
    if not alone or asks_back(question):
        return {}
    for item in found:
        if not alone:
            break  # reading the rest is most of the work
        if not (_is_doubtful(item) or _only_asks(item)):
            told = _terms(item)
            alone = {key: own for key, own in alone.items() if own.isdisjoint(told)}
    return alone


def asks_of_self(question: str) -> bool:
    """Return whether a question is about the user, and not about what the assistant said."""
    spoken = {word.casefold() for word in re.findall(r"[\w'’]+", question.replace("’", "'"))}
    return bool(spoken & _OWN or _UNSPACED_OWN.search(question)) and not asks_back(question)


def asks_back(question: str) -> bool:
    """Return whether a question is about what the assistant itself said."""
    spoken = {word.casefold() for word in re.findall(r"\w+", question)}
    return bool(spoken & _BACK) or bool(_UNSPACED_BACK.search(question))


def _repeats(item: FoundPassage, asked: Set[str]) -> bool:
    if not _only_asks(item):
        return False
    own = _terms(item)
    return len(own.intersection(asked)) >= REPEATED * len(own)


def _only_asks(item: FoundPassage) -> bool:
    return item.kind == "message" and item.hit is not None and item.hit.asking >= QuestionDegree.ONLY


def _is_doubtful(item: FoundPassage) -> bool:
    return item.kind == "message" and item.hit is not None and item.hit.answers >= QuestionDegree.ABOUT_SOMEBODY


def _terms(item: FoundPassage) -> frozenset[str]:
    return frozenset(stems(words(item.content)))
