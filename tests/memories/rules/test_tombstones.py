import hmac
from itertools import permutations

import pytest
from hypothesis import given, strategies as st

from webapp.memories.rules.kinds import earlier_fact_key
from webapp.memories.rules.tombstones import TombstoneKind, TombstoneSet, person_key
from webapp.text.canonical import earlier_statement

SECRET = b"a secret of the installation"


def bury(*args, user_id=1, secret=SECRET, **kwargs):
    made = TombstoneSet([secret], user_id).tombstones_for(*args, **kwargs)
    return TombstoneSet([secret], user_id, made), made


def test_a_forgotten_name_leaves_room_for_another():
    grave, _ = bury("Name is Alex.", "identity/name", "Alex")
    assert grave.forbids("Name is Alex")
    assert grave.forbids("They are called ALEX", "Identity/Full name", " alex ")
    assert not grave.forbids("Name is Bob.", "identity/name", "Bob")
    assert not grave.forbids("Brother is called Alex.", "family/brother", "Alex")


def test_a_forgotten_key_takes_no_value():
    grave, made = bury("Name is Alex.", "identity/name", "Alex", whole_key=True)
    assert grave.forbids("Name is Bob.", "identity/name", "Bob")
    assert not grave.forbids("Lives in Rome", "identity/location", "Rome")
    assert set(made.values()) == {TombstoneKind.CONTENT, TombstoneKind.FACT, TombstoneKind.KEY}
    _, keyless = bury("Owns a yacht", whole_key=True)
    assert set(keyless.values()) == {TombstoneKind.CONTENT}


def test_the_quotes_of_a_forgotten_memory_bring_nothing_back():
    grave, _ = bury("Owns a yacht", quotes=["I bought a yacht  last year!", "yacht", "游艇是我的财产"])
    assert grave.forbids("Is a yachtsman", quote="I bought a yacht last year")
    assert grave.forbids("Rich", quote="游艇是我的财产")
    assert not grave.forbids("Likes the word", quote="yacht")


@given(st.text(max_size=50), st.text(max_size=50))
def test_tombstones_hold_no_text_and_are_one_users(content, value):
    grave, made = bury(content, "identity/name", value)
    assert all(len(digest) == 64 and set(digest) <= set("0123456789abcdef") for digest in made)
    assert grave.forbids(content)
    for other, secret in ((2, SECRET), (1, SECRET + b"!")):
        stranger, theirs = bury(content, "identity/name", value, user_id=other, secret=secret)
        assert made.keys().isdisjoint(theirs)


SIGNED = [("C", "C++", "C#"), ("80 kg", "-80 kg"), ("★", "★★★"), ("🐙", "🐝")]


@pytest.mark.parametrize("kin", SIGNED)
def test_forgetting_one_forbids_none_that_differs_by_a_sign(kin):
    for gone, other in permutations(kin, 2):
        grave, _ = bury(
            f"Has to do with {gone}", "general/thing", gone, quotes=[f"it has to do with {gone}"], whole_key=False
        )
        assert grave.forbids(f"has to do with {gone}.") and grave.forbids("x", "general/thing", gone)
        assert not grave.forbids(f"Has to do with {other}", "general/thing", other, f"it has to do with {other}")
        said = f"It has to do with {other}, yes"
        assert grave.without_forgotten(said, "[…]") == said


def made_before(content, key=None, value=None, quote=None, *, whole_key=False):
    """Digests as they were made before signs counted."""
    mine = person_key(SECRET, 1)
    forms = [f"content\x1f{earlier_statement(content)}"]
    forms += [f"fact\x1f{earlier_fact_key(key)}\x1f{earlier_statement(value)}"] if key else []
    forms += [f"key\x1f{earlier_fact_key(key)}"] if whole_key else []
    forms += [f"quote\x1f{earlier_statement(quote)}"] if quote else []
    return {hmac.digest(mine, form.encode(), "sha256").hex() for form in forms}


def test_what_was_forgotten_before_signs_counted_still_is():
    grave = TombstoneSet([SECRET], 1, made_before("-80 kg", "skill/c++", "-80 kg", "it has to do with -80"))
    assert grave.forbids("-80 kg") and grave.forbids("80 kg") and grave.forbids("–80 kg")
    assert grave.forbids("x", "skill/C", "80 kg") and grave.forbids("x", "skill/C++", "-80 kg")
    assert grave.forbids("x", quote="it has to do with -80")
    assert grave.without_quotes("(It has to do with -80)") == "[…]"
    assert not grave.forbids("70 kg", "skill/c++", "70 kg")
    whole = TombstoneSet([SECRET], 1, made_before("Knows C++", "skill/c++", "C++", whole_key=True))
    assert whole.forbids("Anything", "skill/c++", "well") and whole.forbids("Anything", "skill/c", "well")


def test_forgotten_quotes_are_taken_out_of_a_text_and_nothing_else_is():
    grave, _ = bury("Allergic to walnuts.", quotes=["I'm allergic to walnuts", "walnuts"])
    assert grave.without_quotes("Hi! (I’m  ALLERGIC to\nwalnuts), walnuts are trees.") == "Hi! […] walnuts are trees."
    assert grave.without_quotes("I'm allergic to walnuts. I'm allergic to walnuts") == "[…] […]"
    assert grave.without_quotes("I'm allergic to nuts") == "I'm allergic to nuts"


@given(st.text(max_size=200))
def test_without_tombstones_a_text_is_left_alone(text):
    assert TombstoneSet([SECRET], 1).without_quotes(text) == text
    assert bury("Something else entirely")[0].without_quotes(text) == text


def test_keys_are_rotated_without_losing_what_was_buried():
    old, new = b"the old key of an installation", b"the new key of an installation"
    buried = TombstoneSet([old], 7).tombstones_for("User's name is Alex", "identity/name", "Alex")
    rotated = TombstoneSet([new, old], 7, buried)
    assert rotated.forbids("User's name is Alex")
    assert rotated.forbids("They are called Alex", "identity/name", "Alex")
    assert not TombstoneSet([new], 7, buried).forbids("User's name is Alex")
    made = rotated.tombstones_for("Lives in Porto")
    assert TombstoneSet([new], 7, made).forbids("Lives in Porto")
    assert not TombstoneSet([old], 7, made).forbids("Lives in Porto")
    with pytest.raises(ValueError, match="16 bytes"):
        TombstoneSet([b"short"], 1)
