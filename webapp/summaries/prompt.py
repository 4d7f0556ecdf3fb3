"""The summary call: what is asked and shown, the answer's shape, and the names_and_numbers it must not lose; pure.

Numbers, dates and names that are missing are appended as the user's own sentences.
"""

import json
import re
from collections.abc import Iterable, Sequence
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, Field

from webapp.legacies.extraction_prompt import FACT_TOKENS, LegacyFact
from webapp.llm.structured import complete_items, none_is_empty, readable_items
from webapp.prompts.catalogue import default_text
from webapp.prompts.transcript import TranscriptMessage, escape_block, numbered_lines
from webapp.text.sentences import is_question, sentence_texts, whole_sentences_end
from webapp.text.words import language_name, stems, words

_REQUESTS = {
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
        """Return the well-formed facts."""
        return readable_items(LegacyFact, self.facts)


def build_messages(
    transcript: Sequence[TranscriptMessage], earlier: str = "", *, instructions: str = INSTRUCTIONS
) -> list[dict[str, str]]:
    """Return the messages of the call; a very long text loses its middle, so that all of it stays within CALL_CHARS."""
    limit = min(MESSAGE_CHARS, CALL_CHARS // max(1, len(transcript)))
    parts = []
    if earlier:
        parts.append(f"<earlier_summary>\n{escape_block(earlier[-EARLIER_CHARS:])}\n</earlier_summary>")
    parts += numbered_lines(transcript, limit)
    # In the language of what the user said; English is that of the prompt.
    if line := _REQUESTS.get(language_name(item.content for item in transcript if item.role == "user")):
        parts.append(f"\n{line}")
    return [
        {"role": "system", "content": instructions},
        {"role": "user", "content": "\n".join(parts)},
    ]


def answer_tokens(transcript: Sequence[TranscriptMessage], with_facts: bool) -> int:
    """Return the tokens of an answer: the summary and, in a legacy, a fact or two for every user message."""
    return SUMMARY_TOKENS + (FACT_TOKENS * sum(item.role == "user" for item in transcript) if with_facts else 0)


def parse_cut_off(text: str, with_facts: bool) -> ConversationSummary | None:
    """Return what a cut-off answer still yields: its summary up to the last whole sentence, and its whole facts."""
    match = re.search(r'"summary"\s*:\s*"((?:[^"\\]|\\.)*)', text, re.DOTALL)
    if match is None:
        return None
    try:
        written = str(json.loads(f'"{match[1]}"', strict=False))
    except ValueError:
        return None
    summary = written[: whole_sentences_end(written) or len(written)][:SUMMARY_CHARS]
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


MAX_SENTENCES = 12
MAX_CHARS = 220
ALSO_HEADING = "Also said:"
_WORD = re.compile(r"[^\W_]+(?:[:.,/-][^\W_]+)*")
_NO_NAMES = frozenset(("i", "i'm", "i've", "i'd", "i'll", "ok"))


def names_and_numbers(text: str) -> dict[str, str]:
    """Return the numbers and names of a text, each with its sentence; a first word is no name."""
    values: dict[str, str] = {}
    for sentence in sentence_texts(text):
        if is_question(sentence):
            continue
        start = len(sentence) - len(sentence.lstrip("\"'“„«("))
        for match in _WORD.finditer(sentence):
            word = match.group()
            name = word[0].isupper() and match.start() > start and word.casefold() not in _NO_NAMES
            if name or any(char.isdigit() for char in word):
                values.setdefault(word, sentence)
    return values


def restore_details(summary: str, texts: Iterable[str], limit: int) -> str:
    """Return a summary, followed by the sentences whose numbers and names it lost, up to `limit` characters."""
    present = set(stems(words(summary), keep_stop_words=True)) | set(words(summary))
    missing: dict[str, None] = {}
    for text in texts:
        for word, sentence in names_and_numbers(text).items():
            if not all(term in present for term in words(word)) and len(sentence) <= MAX_CHARS:
                missing.setdefault(sentence)
    room = limit - len(summary) - len(ALSO_HEADING) - 2
    additions: list[str] = []
    for sentence in list(missing)[:MAX_SENTENCES]:
        ended = sentence if sentence[-1] in ".!…。！" else f"{sentence}."
        needed = len(ended) + bool(additions)  # with the space before it
        if needed > room:
            continue  # a shorter one may still find room
        room -= needed
        additions.append(ended)
    return f"{summary}\n{ALSO_HEADING} {' '.join(additions)}" if additions else summary
