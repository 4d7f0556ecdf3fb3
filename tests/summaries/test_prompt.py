"""What the summary call shows: all messages, bounded, and unable to break out of their place."""

from datetime import UTC, datetime

from hypothesis import given, settings
from hypothesis import strategies as st

from webapp.prompts.transcript import TranscriptMessage
from webapp.summaries.prompt import CALL_CHARS, build_messages, tidy
from webapp.text.truncation import MARK, without_middle

AT = datetime(2026, 3, 1, tzinfo=UTC)


@settings(deadline=None, max_examples=60)
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
