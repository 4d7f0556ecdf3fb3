"""The model call of a summary: a cut-off answer counts as far as it goes, and facts it lost are restored."""

from collections.abc import Sequence

from webapp.llm.errors import CutOffAnswer, MalformedOutput
from webapp.prompts.transcript import TranscriptMessage
from webapp.providers.clients import completions
from webapp.summaries.prompt import (
    NAME,
    SUMMARY_CHARS,
    ConversationSummary,
    LegacySummary,
    answer_tokens,
    build_messages,
    parse_cut_off,
    restore_details,
    tidy,
)

TEMPERATURE = 0.0
RESTORE_SHARE = 3
"""What is restored takes up at most one part in this many of what the user said."""


def ask(
    transcript: Sequence[TranscriptMessage], earlier: str, instructions: str, *, with_facts: bool
) -> tuple[ConversationSummary, str]:
    """Return a summary, in a legacy with facts, and the model's name; no connection may be held. Raises ModelError."""
    messages = build_messages(transcript, earlier, instructions=instructions)
    shape = LegacySummary if with_facts else ConversationSummary
    model = ""
    answer: ConversationSummary
    try:
        answer, completion = completions().complete_structured(
            messages, shape, NAME, max_tokens=answer_tokens(transcript, with_facts), temperature=TEMPERATURE
        )
        model = completion.model
    except CutOffAnswer as cut:
        rest = parse_cut_off(cut.text, with_facts)
        if rest is None:
            raise
        answer = rest
    text = tidy(answer.summary)
    if not text:
        raise MalformedOutput
    texts = [item.content for item in transcript if item.role == "user"]
    # A summary must stay shorter than what it covers, however much has to be restored.
    room = min(len(text) + sum(map(len, texts)) // RESTORE_SHARE, sum(len(item.content) for item in transcript))
    summary = restore_details(text, texts, min(SUMMARY_CHARS, room))
    return answer.model_copy(update={"summary": summary}), model
