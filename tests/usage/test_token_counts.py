"""What a file will take is told as the person's models count, whatever tokenizer they have."""

from random import Random

import pytest

from webapp.db.base import add_row, db
from webapp.usage import token_counts
from webapp.usage.models import UsageRecord
from webapp.usage.token_counts import DEFAULT_FACTOR, Weights, fit_weights, weights_of

SEEN = [(80, 100, 320), (900, 1_000, 2_700), (150, 200, 700), (330, 400, 1_280)]


@pytest.mark.parametrize(("estimate", "character"), [(0.0, 0.25), (0.8, 0.0), (0.4, 0.12), (1.4, -0.15)])
def test_two_kinds_of_text_tell_how_a_model_counts(estimate, character):
    chance = Random(1)
    texts = [(e := chance.randint(300, 3_000), round(e * chance.uniform(2.6, 3.5))) for _ in range(12)]
    seen = [(round(estimate * e + character * c), e, c) for e, c in texts]
    found = fit_weights(seen)
    for e, c in ((6_000, 19_500), (500, 1_400)):
        counted = estimate * e + character * c
        assert abs(found.tokens(e, c) - counted) <= 0.02 * counted


def test_one_reply_tells_of_its_like_and_nothing_absurd_of_others():
    found = fit_weights([(700, 1_000, 3_000)])
    assert abs(found.tokens(2_000, 6_000) - 1_400) <= 14
    assert 0.4 * 100 <= found.tokens(100, 10_000) <= 1.3 * 100


def test_nothing_seen_is_the_usual_and_what_makes_no_sense_is_left_out():
    assert fit_weights([]) == Weights() == fit_weights([(9_000, 100, 300), (1, 100, 300)])
    assert Weights().tokens(1_000, 3_000) == round(1_000 * DEFAULT_FACTOR) == Weights(0.1, 0.1).tokens(1_000, 0)


def test_who_has_no_replies_yet_is_told_by_everybodys(app_context, make_user):
    mine, other = make_user(), make_user()
    assert weights_of(mine.user_id) == Weights()
    for counted, estimated, characters in SEEN:
        values = {"kind": "chat", "input_tokens": counted, "estimated_tokens": estimated, "characters": characters}
        db.session.add(UsageRecord(user_id=mine.user_id, **values))
    odd = {"input_tokens": 7, "estimated_tokens": 9, "characters": 3}
    db.session.add(UsageRecord(user_id=mine.user_id, kind="chat", is_estimated=True, **odd))
    add_row(UsageRecord(user_id=mine.user_id, kind="title", **odd))
    expected = fit_weights(SEEN)
    for found in (weights_of(mine.user_id), weights_of(other.user_id)):
        assert found.estimate == pytest.approx(expected.estimate) and found.character == pytest.approx(
            expected.character
        )


def test_what_was_counted_is_looked_for_among_the_newest_only(app_context, make_user, monkeypatch):
    """A server that reports nothing leaves a table of estimates; no page goes through all of it."""
    monkeypatch.setattr(token_counts, "MAX_SAMPLE", 3)
    mine = make_user()
    told = {"kind": "chat", "input_tokens": 60, "estimated_tokens": 100, "characters": 320}
    add_row(UsageRecord(user_id=mine.user_id, **told))
    assert weights_of(mine.user_id) != Weights()
    for _ in range(3):
        add_row(UsageRecord(user_id=mine.user_id, is_estimated=True, **told))
    assert weights_of(mine.user_id) == Weights()
