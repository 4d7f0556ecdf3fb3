"""Digests by rule."""

from hypothesis import given
from hypothesis import strategies as st

from fakemodel.tasks.conversation_digest import NAME, run
from fakemodel.tasks.request import TaskRequest
from webapp.prompts.transcript import transcript


def asked(*said):
    """The request for the digest of a conversation in which the user said this."""
    turns = [turn for text in said for turn in (("user", text), ("assistant", "I see."))]
    prompt = f"Sum it up.\n\n{transcript(turns, 8_000)}"
    return run(TaskRequest(NAME, messages=[{"role": "user", "content": prompt}]))


def test_topics_actions_and_what_can_be_counted():
    why = "Why do plants need light?"
    found = asked(why, "I want to try growing seeds at my window. Can I?", why)
    assert found["main_topics"][0] == "Why do plants need light"
    assert len(found["main_topics"]) == 2
    assert found["action"] == ["Try growing seeds at your window"]
    assert found["typical_observation"].startswith("Wrote 3 messages, 3 of them questions.")
    assert "fake model" in found["typical_observation"]


@given(st.lists(st.text(max_size=200), max_size=5))
def test_any_conversation_gives_a_digest(said):
    found = asked(*said)
    assert len(found["main_topics"]) <= 8 and len(found["action"]) <= 5
    assert all(isinstance(item, str) and item for item in found["main_topics"] + found["action"])
