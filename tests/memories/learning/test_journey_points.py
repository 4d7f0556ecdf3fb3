from dataclasses import replace

import pytest

from tests.memories.worlds import say
from webapp.memories.learning.journey_points import PointAssessment, ground_assessments

MESSAGES = say("I want a quiet place near the sea", "What matters is silence", roles={2: "assistant"})


def assess(number=1, *quotes, confidence=0.8, **fields):
    return PointAssessment(
        point_number=number, is_addressed=True, confidence_score=confidence, relevant_quotes=list(quotes), **fields
    )


def test_only_the_users_quotes_count():
    (found,), rejected = ground_assessments([assess(1, "A QUIET place", "What matters is silence")], MESSAGES, 2)
    assert rejected == 0
    assert found.assessment.relevant_quotes == ["a quiet place"]
    assert [(e.message_id, e.quote) for e in found.evidence] == [(101, "a quiet place")]


def test_what_has_no_ground_is_rejected():
    assessments = [
        assess(1),
        assess(1, "What matters is silence"),
        assess(3, "near the sea"),
        assess(2, "near the sea", extracted_points=["my password is hunter2"]),
        assess(2, "near the sea", structured_data={"pin": "the pin is 4711"}),
    ]
    assert ground_assessments(assessments, MESSAGES, 2) == ([], 5)


@pytest.mark.parametrize("origin", ["pasted", "forgotten"])
def test_neither_others_words_nor_forgotten_ones_are_ground(origin):
    (message,) = say('My garden is small. She wrote: "I want a quiet place near the sea"')
    assert ground_assessments([assess(1, "a quiet place near the sea")], [message], 2) == ([], 1)
    message = replace(message, spans=((0, 19, origin),))
    assert ground_assessments([assess(1, "My garden is small")], [message], 2) == ([], 1)
    retold = [assess(1, "near the sea", extracted_points=["Loves silence"])]
    assert ground_assessments(retold, MESSAGES, 2, "Loves silence".__eq__) == ([], 1)


def test_the_surer_of_two_counts():
    assessments = [assess(2, "near the sea", confidence=c) for c in (0.5, 0.9, 0.7)]
    (found,), rejected = ground_assessments([*assessments, assess(1, "near the sea")][:3], MESSAGES, 2)
    assert (found.assessment.confidence_score, rejected) == (0.9, 2)
