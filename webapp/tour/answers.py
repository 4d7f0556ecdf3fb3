"""Answers of the screen tour, which reads only the introduction's own sentences, and says so; pure."""

import gettext
import json
import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from webapp.i18n import LANGUAGES, SOURCE
from webapp.i18n.marks import N_
from webapp.llm.chunks import text_of_parts
from webapp.text.sentences import sentence_texts

MODEL = "screen-tour"
READING = "memory_operations"
"""The one structured task that is answered."""

INTRODUCTION = N_("My name is …\nI live in …\nI work as …\nI am allergic to …")
"""What a newcomer fills in. Each line is a form, and with a few words for the dots, a sentence that is remembered."""
EXAMPLE_REQUEST = N_("Show me what a reply looks like.")

_NO_MODEL = N_("No language model is connected yet, so nothing here can answer you.")
_FOR_ADMINS = N_("Connect a provider, or a model on this computer, under Administration, Models.")
_FOR_OTHERS = N_("Ask your administrator to connect a model.")
_EXAMPLE_NOTE = N_("This was written in advance, to show how a reply arrives, with a table and code in it.")
_KEYS = N_(
    {
        "Enter": "Send; while a reply is being written, send next",
        "Shift+Enter": "New line",
        "Ctrl+K": "Search and commands",
    }
)
_CODE = '```python\ndef greet(name: str) -> str:\n    return f"Hello, {name}!"\n```'

_FOLDER = Path(__file__).resolve().parents[1] / "translations"
_HAN = r"\u3400-\u9fff"
_WORD = rf"(?:[{_HAN}]{{1,6}}|(?:(?![{_HAN}])[^\W\d_]){{1,30}}(?:['’-][^\W\d_]{{1,30}})*)"
_BLANK = r"(?:…|\.\.\.)"


def reply_to(messages: Sequence[dict[str, Any]], language: str, *, is_admin: bool) -> str:
    """Return the reply: the example if requested, otherwise that and how a model is connected."""
    if _asks_for_example(_text(messages).rstrip().rpartition("\n")[2]):
        rows = [f"| `{key}` | {tour_text(use, language)} |" for key, use in _KEYS.items()]
        table = "\n".join(["| | |", "|:--|:--|", *rows])
        return f"{tour_text(_EXAMPLE_NOTE, language)}\n\n{table}\n\n{_CODE}\n"
    return f"{tour_text(_NO_MODEL, language)} {tour_text(_FOR_ADMINS if is_admin else _FOR_OTHERS, language)}"


def statements_in(messages: Sequence[dict[str, Any]]) -> list[dict[str, Any]] | None:
    """Return the user's introduction sentences as statements; None if a model has to read the call."""
    rows = [json.loads(line) for line in _text(messages).split("\n") if line.startswith(('{"message"', '{"point"'))]
    statements: list[dict[str, Any]] = []
    for row in rows:
        if "point" in row:
            return None
        for sentence in sentence_texts(row["text"]):
            if _matches(sentence, _WORD + rf"(?: {_WORD}){{0,3}}"):
                operation = {"quote": sentence, "content": sentence, "about": "user", "kind": "fact", "confidence": 1.0}
                statements.append({"message": row["message"], **operation})
            elif not _matches(sentence, _BLANK) and not _asks_for_example(sentence):
                return None
    return statements


def _text(messages: Sequence[dict[str, Any]]) -> str:
    content = next((message.get("content") for message in reversed(messages) if message.get("role") == "user"), "")
    return content if isinstance(content, str) else text_of_parts(content)


def _asks_for_example(sentence: str) -> bool:
    return sentence.strip() in {tour_text(EXAMPLE_REQUEST, code) for code in LANGUAGES}


def _matches(sentence: str, words: str) -> bool:
    """Return whether a whole sentence is one of the forms, in any language, with such words in place of its dots."""
    return any(form.fullmatch(sentence) for form in _forms(words))


@cache
def _forms(words: str) -> tuple[re.Pattern[str], ...]:
    lines = {line.strip(" .。") for code in LANGUAGES for line in tour_text(INTRODUCTION, code).split("\n")}
    return tuple(
        re.compile(words.join(map(_either_apostrophe, line.split("…"))) + "[.!。！]?", re.IGNORECASE) for line in lines
    )


def _either_apostrophe(text: str) -> str:
    return re.sub("['’]", "['’]", re.escape(text))


def tour_text(text: str, language: str) -> str:
    """Return one of the tour's texts; English for an unknown language."""
    return _catalog(language if language in LANGUAGES else SOURCE).gettext(text)


@cache
def _catalog(code: str) -> gettext.NullTranslations:
    return gettext.translation("messages", _FOLDER, [code], fallback=True)
