"""The summary call: what is asked, what is shown, and the shape of the answer; pure."""

import json
import re
from collections.abc import Iterable, Sequence
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, Field

from webapp.legacies.extraction_prompt import FACT_TOKENS, LegacyFact, readable_facts
from webapp.llm.structured import complete_items, none_is_empty
from webapp.prompts.catalogue import default_text
from webapp.prompts.transcript import TranscriptMessage, escape_block, numbered_lines
from webapp.summaries.fidelity import whole_sentences
from webapp.text.words import language_name

_ASKED = {
    "German": "Schreibe die Zusammenfassung auf Deutsch.",
    "French": "Écris le résumé en français.",
    "Spanish": "Escribe el resumen en español.",
    "Portuguese": "Escreve o resumo em português.",
    "Italian": "Scrivi il riassunto in italiano.",
    "Dutch": "Schrijf de samenvatting in het Nederlands.",
    "Turkish": "Özeti Türkçe yaz.",
    "Russian": "Напиши краткое изложение по-русски.",
    "Greek": "Γράψε την περίληψη στα ελληνικά.",
    "Arabic": "اكتب الملخّص بالعربية.",
    "Hindi": "सारांश हिन्दी में लिखो।",
    "Korean": "요약은 한국어로 써 주세요.",
    "Japanese": "要約は日本語で書いてください。",
    "Chinese": "请用中文写摘要。",
}


NAME = "conversation_summary"
INSTRUCTIONS = default_text("summaries")
MESSAGE_CHARS = 3_000
CALL_CHARS = 36_000
EARLIER_CHARS = 1_500
SUMMARY_CHARS = 6_000
SUMMARY_TOKENS = 900


def summary_line(texts: Iterable[str]) -> str:
    """The request for a summary in the language of what the user said; empty for English, which the prompt is in."""
    return _ASKED.get(language_name(texts), "")


class ConversationSummary(BaseModel):
    """The model's answer."""

    summary: str = Field(min_length=1, max_length=SUMMARY_CHARS)


class LegacySummary(ConversationSummary):
    """The model's answer in a legacy: a summary, and facts about its person. A malformed fact is dropped alone."""

    facts: Annotated[list[Any], BeforeValidator(none_is_empty)] = Field(
        default_factory=list, max_length=100, json_schema_extra={"items": LegacyFact.model_json_schema()}
    )

    @property
    def readable(self) -> list[LegacyFact]:
        """The well-formed facts."""
        return readable_facts(self.facts)


def build_messages(
    transcript: Sequence[TranscriptMessage], earlier: str = "", *, instructions: str = INSTRUCTIONS
) -> list[dict[str, str]]:
    """Return the messages of the call; a very long text loses its middle, so that all of it stays within CALL_CHARS."""
    limit = min(MESSAGE_CHARS, CALL_CHARS // max(1, len(transcript)))
    parts = []
    if earlier:
        parts.append(f"<earlier_summary>\n{escape_block(earlier[-EARLIER_CHARS:])}\n</earlier_summary>")
    parts += numbered_lines(transcript, limit)
    if line := summary_line(item.content for item in transcript if item.role == "user"):
        parts.append(f"\n{line}")
    return [
        {"role": "system", "content": instructions},
        {"role": "user", "content": "\n".join(parts)},
    ]


def answer_tokens(transcript: Sequence[TranscriptMessage], with_facts: bool) -> int:
    """Return how long the answer may be: the summary and, in a legacy, a fact or two for every message of the
    user's.
    """
    return SUMMARY_TOKENS + (FACT_TOKENS * sum(item.role == "user" for item in transcript) if with_facts else 0)


def salvage(text: str, with_facts: bool) -> ConversationSummary | None:
    """Return what a cut-off answer still yields: its summary up to the last whole sentence, and its whole facts."""
    match = re.search(r'"summary"\s*:\s*"((?:[^"\\]|\\.)*)', text, re.DOTALL)
    if match is None:
        return None
    try:
        summary = whole_sentences(str(json.loads(f'"{match[1]}"', strict=False)))[:SUMMARY_CHARS]
    except ValueError:
        return None
    if not summary.strip():
        return None
    if with_facts:
        return LegacySummary(summary=summary, facts=complete_items(text, "facts")[:100])
    return ConversationSummary(summary=summary)


def tidy(summary: str) -> str:
    """Return the summary as it is kept: without label, fence or empty lines; empty if nothing is left."""
    lines = [line.strip() for line in summary.replace("```", "").strip().splitlines()]
    text = "\n".join(line for line in lines if line)
    for label in ("summary:", "**summary:**", "**summary**"):
        if text.lower().startswith(label):
            text = text[len(label) :].strip()
    return text
