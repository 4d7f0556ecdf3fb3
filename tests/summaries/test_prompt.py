"""What the summary call shows: all messages, bounded, and unable to break out of their place."""

from datetime import UTC, datetime

import pytest
from hypothesis import example, given, settings, strategies as st

from webapp.prompts.transcript import TranscriptMessage
from webapp.summaries.prompt import (
    ALSO_HEADING,
    CALL_CHARS,
    LegacySummary,
    answer_tokens,
    build_messages,
    names_and_numbers,
    parse_cut_off,
    restore_details,
    tidy,
)
from webapp.text.tokens import MARK, without_middle

AT = datetime(2026, 3, 1, tzinfo=UTC)


@settings(max_examples=60)
@given(st.lists(st.text(max_size=200), min_size=1, max_size=40), st.text(max_size=3_000))
def test_no_message_can_end_its_block_and_all_are_there(texts, earlier):
    said = [TranscriptMessage(n, "user", text, AT) for n, text in enumerate(texts, 1)]
    shown = build_messages(said, earlier)[1]["content"]
    assert shown.count("<message ") == shown.count("</message>") == len(texts)
    assert shown.count("</earlier_summary>") == (1 if earlier else 0)


def test_very_long_messages_lose_their_middle():
    said = [TranscriptMessage(n, "user", f"begin {'word ' * 9_000} end{n}", AT) for n in range(20)]
    shown = build_messages(said)[1]["content"]
    assert len(shown) < CALL_CHARS + 3_000
    assert all(f"end{n}<" in shown for n in range(20)) and shown.count(MARK) == 20


@given(st.text(max_size=400), st.integers(60, 200))
def test_a_cut_keeps_the_limit(text, limit):
    assert len(without_middle(text, limit)) <= limit


def test_a_small_model_is_told_the_language_last():
    """A real model of 1.5 billion parameters summed up every German and French conversation in English."""
    for text, ends in (
        ("Ich ziehe im März nach Graz und meine Katze kommt mit.", "\n\nSchreibe die Zusammenfassung auf Deutsch."),
        ("Je prépare un voyage à Lisbonne avec ma fille.", "\n\nÉcris le résumé en français."),
        ("我三月搬到格拉茨，带着我的猫。", "请用中文写摘要。"),
        ("3月にグラーツへ引っ越します。", "要約は日本語で書いてください。"),
        ("I am moving to Graz in March.", "</message>"),
    ):
        said = [
            TranscriptMessage(1, "user", text, AT),
            TranscriptMessage(2, "assistant", "The cat, too? What is it called?", AT),
        ]
        assert build_messages(said)[1]["content"].endswith(ends)


def test_summaries_lose_labels_and_fences():
    assert tidy("```\n**Summary:** It rained.\n\nTwice.\n```") == "It rained.\nTwice."


SAID = [
    "My brother Casimir is the electrician, he comes on 14 May.",
    "The budget is 18,500 euros, not a cent more.",
    "Is Fjordhus any good?",
]


def test_what_was_lost_is_appended_in_the_users_sentences():
    whole = restore_details("The user renovates a kitchen with a brother who is an electrician.", SAID, 2_000)
    assert whole.endswith(f"{ALSO_HEADING} {SAID[0]} {SAID[1]}")
    assert "Fjordhus" not in whole  # a question tells nothing


def test_a_sentence_that_finds_no_room_leaves_it_to_a_shorter_one():
    long = "Our friends of the choir in Oslo come by the night train and stay at the inn with the red door."
    summary = "The user plans a day."
    whole = restore_details(summary, [long, "Kai is 9."], len(summary) + 30)
    assert whole == f"{summary}\n{ALSO_HEADING} Kai is 9."


def test_what_is_there_in_any_form_is_not_said_twice():
    summary = "Casimir, the brother, comes on May 14. The budget is 18500 euros."
    assert restore_details(summary, SAID, 2_000) == summary


@given(st.text(max_size=300), st.lists(st.text(max_size=200), max_size=5), st.integers(0, 600))
@example("0" * 23, ["000000", "000001"], 49)
def test_the_limit_holds_and_the_summary_stays(summary, said, limit):
    whole = restore_details(summary, said, limit)
    assert whole.startswith(summary) and len(whole) <= max(limit, len(summary))


def test_a_capital_at_the_beginning_is_no_name():
    assert set(names_and_numbers("Tomorrow I meet Ada at 10:30. Nice weather!")) == {"Ada", "10:30"}


@pytest.mark.parametrize(
    ("text", "summary", "facts"),
    [
        ('{"summary": "She was born in 1921. She loved roses. She wro', "She was born in 1921. She loved roses.", 0),
        ('{"summary": "Whole.", "facts": [{"content": "a"}, {"content": "b"}, {"con', "Whole.", 2),
        ('{"summary": "A \\"quoted\\" word.", "facts": nul', 'A "quoted" word.', 0),
    ],
)
def test_an_answer_that_was_cut_off_counts_as_far_as_it_goes(text, summary, facts):
    answer = parse_cut_off(text, with_facts=True)
    assert isinstance(answer, LegacySummary)
    assert answer.summary == summary and len(answer.facts) == facts
    assert parse_cut_off('{"summ', with_facts=True) is None


def test_no_facts_are_an_empty_list():
    assert LegacySummary.model_validate({"summary": "x", "facts": None}).facts == []


def test_a_telling_legacy_has_room_for_its_facts():
    said = [TranscriptMessage(n, "user", "x", datetime.now(UTC)) for n in range(10)]
    assert answer_tokens(said, with_facts=True) > 2 * answer_tokens(said, with_facts=False)
