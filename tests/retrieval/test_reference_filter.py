"""What a reply is not given as reference: questions that only ask again, and answers that nothing bears out."""

from __future__ import annotations

import pytest

from webapp.db.base import now
from webapp.retrieval.lookup import Question, retrieve
from webapp.retrieval.passages import FoundPassage, Hit
from webapp.retrieval.reference_filter import QuestionDegree, asks_back, fit_to_offer, question_degree
from webapp.retrieval.relevance import terms_of


@pytest.mark.parametrize(
    ("text", "asking"),
    [
        ("I moved to Lisbon.", QuestionDegree.NO),
        ("I moved to Lisbon. Where can one eat well?", QuestionDegree.ENDS),
        ("How does one boil an egg?", QuestionDegree.ONLY),
        ("And what then? How long?", QuestionDegree.ONLY),
        ("What must Ylva avoid?", QuestionDegree.ABOUT_SOMEBODY),
        ("where do i live?", QuestionDegree.ABOUT_SOMEBODY),
        ("Wo wohne ich?", QuestionDegree.ABOUT_SOMEBODY),
        ("¿Cuándo es mi cumpleaños?", QuestionDegree.ABOUT_SOMEBODY),
        ("我住在哪里？", QuestionDegree.ABOUT_SOMEBODY),
        ("أين أسكن أنا؟", QuestionDegree.ABOUT_SOMEBODY),
        ("как варить яйцо?", QuestionDegree.ONLY),
        ("Что нельзя Юлии?", QuestionDegree.ABOUT_SOMEBODY),
        ("Look at this. [shares a photo: a dog?]", QuestionDegree.NO),
        ("", QuestionDegree.NO),
    ],
)
def test_how_much_of_a_question_a_message_is(text, asking):
    assert question_degree(text) == asking


def item(number: int, content: str, *, kind: str = "message", role: str = "user", answers: int = 0) -> FoundPassage:
    asking = question_degree(content) if kind == "message" else 0
    hit = Hit(kind, number, 1.0, "words", asking=asking, answers=answers)
    return FoundPassage(kind, number, content, now(), role=role, hit=hit)


ASKED = item(1, "What must Ylva avoid?")
GUESSED = item(2, "Ylva must avoid gluten and shellfish.", role="assistant", answers=3)
TOLD = item(3, "Ylva is allergic to walnuts.")
BORNE_OUT = item(4, "Ylva must avoid walnuts.", role="assistant", answers=3)


def offered(question: str, *found: FoundPassage) -> list[int]:
    return [thing.id for thing in fit_to_offer(found, question, terms_of(question))]


def test_a_guess_and_the_question_before_it_are_no_reference():
    assert offered("What must Ylva not eat, what must she avoid?", ASKED, GUESSED, TOLD) == [3]


def test_an_answer_comes_along_with_what_it_rests_on():
    assert offered("What must Ylva avoid?", BORNE_OUT, TOLD) == [4, 3]
    assert offered("What must Ylva avoid?", BORNE_OUT) == []
    assert offered("What must Ylva avoid?", BORNE_OUT, item(5, "Walnuts are off", kind="memory")) == [4, 5]


def test_one_guess_does_not_bear_out_another():
    again = item(6, "Gluten and shellfish are what she must avoid.", role="assistant", answers=3)
    assert offered("What must Ylva avoid?", GUESSED, again) == []


def test_about_its_own_words_the_assistant_is_told_them():
    assert asks_back("What did you say that Ylva must avoid?") and not asks_back("What must Ylva avoid?")
    assert offered("What did you say that Ylva must avoid?", GUESSED) == [2]
    assert offered("Was hast du über Ylva gesagt?", GUESSED) == [2]


def test_what_was_answered_to_no_question_about_somebody_stays():
    recipe = item(7, "Boil it for six minutes, then cold water.", role="assistant", answers=2)
    assert offered("How long does an egg boil?", recipe) == [7]


def test_a_question_that_tells_more_than_is_asked_stays():
    telling = item(8, "Can the school kitchen in Lund cook without walnuts for Ylva?")
    assert offered("What must Ylva avoid?", telling) == [8]


def test_a_reply_is_not_offered_the_guess_of_an_earlier_one(app, user, tell, run_jobs):
    """The fault as it was seen: the wrong answer came, and the walnuts did not."""
    told = tell(
        user, [("user", "Ylva cannot have walnuts, they make her ill."), ("assistant", "I am sorry to hear it.")]
    )
    asked = tell(user, [("user", "What must Ylva avoid?"), ("assistant", "Ylva must avoid gluten and shellfish.")])
    with app.app_context():
        run_jobs()
        keys = {found.key for found in retrieve(Question(user.user_id, "What does Ylva have to avoid?"), 5).items}
    assert ("message", told.ids[0]) in keys
    assert not {("message", number) for number in asked.ids} & keys
