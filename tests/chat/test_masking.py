"""Stored prompts name what they held: nothing in them says it once it is gone."""

from __future__ import annotations

from webapp.chat.masking import kept, mask, mask_summaries, unmask_summaries
from webapp.chat.sections import escape

SUMMARIES = [(4, "They spoke of <boats>.\nAnd of Hvar."), (9, "Tides & moons")]
PROMPT = "<summaries>\nNote.\n" + "".join(f"- {escape(said)}\n" for _, said in SUMMARIES) + "</summaries>"


def test_summaries_are_named_and_filled_in_with_what_they_say_now():
    stored = mask_summaries(PROMPT, SUMMARIES)
    assert stored == "<summaries>\nNote.\n- [[summary 4]]\n- [[summary 9]]\n</summaries>"
    prompt = [{"role": "system", "content": stored}, {"role": "user", "message_id": 7}]
    assert unmask_summaries(prompt, dict(SUMMARIES)) == [{"role": "system", "content": PROMPT}, prompt[1]]
    (shown, _) = unmask_summaries(prompt, {9: "Tides"})
    assert shown["content"] == "<summaries>\nNote.\n- [deleted]\n- Tides\n</summaries>"


def test_of_the_question_only_what_stands_before_it_is_kept():
    def hide(text: str) -> str:
        return mask(text, [(1, 2, "Likes tea")])

    stored = {("user", "Hello"): 5}
    asked = (8, "What do I like?")
    assert kept({"role": "user", "content": "Hello"}, stored, asked, hide) == {"role": "user", "message_id": 5}
    last = {"role": "user", "content": "<reference>\n- Likes tea\n</reference>\n\nWhat do I like?"}
    assert kept(last, stored, asked, hide) == {
        "role": "user",
        "message_id": 8,
        "content": "<reference>\n- [[memory 1 revision 2]]\n</reference>\n\n",
    }
    said_by_other = {"role": "assistant", "content": "What do I like?"}
    assert kept(said_by_other, stored, asked, hide) == said_by_other
    assert kept(last, stored, None, hide)["content"].endswith("What do I like?")
