"""Excerpts of what was found: small pieces by rank, those of one conversation together, nothing twice."""

from dataclasses import replace
from functools import partial

import pytest

from webapp.chat.context.builder import build_context
from webapp.chat.context.excerpts import MIN_TOKENS, NO_ROOM, pack
from webapp.chat.context.values import ContextInput, Message, RetrievedPassage
from webapp.memories.schemas import KnownItem
from webapp.text.tokens import estimate_tokens

QUESTION = [Message(900, "user", "What did I say about the harbour?")]


def passage(number: int, text: str, **more: object) -> RetrievedPassage:
    values = {"group": 1, "speaker": "user", "source": "3 May 2026", "end": len(text), "length": len(text)} | more
    return RetrievedPassage("message", number, text, **values)


def block(*found: RetrievedPassage, **more: object) -> str:
    context = build_context(ContextInput(prompt="P", messages=QUESTION, retrieved=found, **more))
    return context.messages[-1]["content"]


def test_turns_of_one_conversation_stand_together_in_its_order():
    text = block(passage(12, "In spring."), passage(11, "When?", speaker="you"), passage(40, "Elsewhere.", group=2))
    assert '<said on="3 May 2026">you: When?\nuser: In spring.</said>\n<said on="3 May 2026">user: Elsewhere.' in text


def test_pieces_that_overlap_are_one_and_say_where_the_message_goes_on():
    whole = "One sentence here. Another sentence there. And a third one. The end."
    first = passage(5, whole[19:43], start=19, end=43, length=len(whole))
    second = passage(5, whole[27:60], start=27, end=60, length=len(whole))
    assert f"user: … {whole[19:60].strip()} …</said>" in block(first, second)


def test_the_same_words_are_said_once():
    text = block(passage(1, "I moved to Bergen."), passage(2, "I  moved to bergen.", group=2))
    assert text.count("ergen") == 1


def test_what_is_in_the_prompt_is_not_repeated():
    found = [RetrievedPassage("memory", 3, "Always metric."), passage(900, QUESTION[0].content)]
    context = build_context(
        ContextInput(
            prompt="P", messages=QUESTION, standing=[KnownItem(3, "Always metric.", 1, "instruction")], retrieved=found
        )
    )
    assert sum(message["content"].count("Always metric.") for message in context.messages) == 1
    assert "<reference>" not in context.messages[-1]["content"]


def test_more_small_pieces_come_before_a_few_large_ones():
    text = "The harbour is calm at night. " * 25
    found = [passage(n, text, group=n, core=lambda: (0, 29)) for n in range(1, 11)]
    found = [replace(item, content=item.content.replace("calm", f"calm{item.id}")) for item in found]
    lines, candidates = pack(found, 700, ())
    assert len(lines) > 4
    assert sum(len(candidate.passage.content) > 200 for candidate in candidates[:2]) == 1
    assert sum(estimate_tokens("".join(s.text for s in line)) + 1 for line in lines) <= 700


def test_room_that_is_left_goes_to_whole_pieces():
    text = "The harbour is calm at night. " * 10
    found = [passage(n, f"{n} {text}", group=n, core=lambda: (0, 29)) for n in range(1, 5)]
    assert all(len(candidate.passage.content) > 200 for candidate in pack(found, 2_000, ())[1])


def test_the_receipt_names_the_places():
    whole = "x" * 400
    item = passage(7, whole[100:200], start=100, end=200, length=400)
    context = build_context(ContextInput(prompt="P", messages=QUESTION, retrieved=[item, passage(8, "All of it.")]))
    assert [(line.id, line.from_char, line.to_char) for line in context.receipt] == [(7, 100, 200), (8, None, None)]


def test_where_nothing_fits_no_core_is_looked_for():
    found = [passage(n, f"Reply {n}. " * 40, group=n, core=partial(pytest.fail, "looked for")) for n in range(1, 9)]
    lines, candidates = pack([passage(0, "Yes."), *found], MIN_TOKENS - 1, ())
    assert not lines and {candidate.why_not for candidate in candidates} == {NO_ROOM}
