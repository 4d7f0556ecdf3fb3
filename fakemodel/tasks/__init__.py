"""Structured tasks, answered by the form of what is sent; a schema without a task gets a minimal valid instance.

Nothing here understands a language. A test that needs more than the first words of a message, or another memory than
those of `_SENTENCES`, scripts the answer.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

from .fallback import minimal_instance
from .request import TaskRequest

TITLE_WORDS = 6
SUMMARY_CHARS = 1_400
_BEGINS = "The user said: "
_SENTENCE = re.compile(r"(?<=[.!?…。！？])\s+|\n+")
_RETOLD = re.compile(rf"^(?:\(\d{{1,2}} \w+ \d{{4}}\) )?(?:{_BEGINS})?")
_PERSON = re.compile(r"with a memorial agent and about (.{1,300}?)\. (?:Besides the summary|Give)")
_WANTED = re.compile(r"\bI want to ([^.!?;\n]{3,120})")

_VALUE = r"(?P<value>[^,.!?;:\n]{1,80}?)(?=,|[.!;:\n]|\s+and\b|$)"  # what is asked is not said
_SENTENCES = (
    (re.compile(rf"\bMy name is {_VALUE}"), "Name is {}", "fact", "identity/name"),
    (re.compile(rf"\bI live in {_VALUE}"), "Lives in {}", "fact", "identity/location"),
    (re.compile(rf"\bI['’]m allergic to {_VALUE}"), "Allergic to {}", "fact", None),
    (re.compile(rf"\bI prefer {_VALUE}"), "Prefers {}", "preference", None),
    (re.compile(rf"\bWe decided {_VALUE}"), "Decided {}", "decision", None),
    (re.compile(rf"\bMy project is {_VALUE}"), "Project {}", "project", None),
    (re.compile(rf"\bAlways {_VALUE}"), "Always {}", "preference", None),
)
"""What becomes a memory: how it is said, how it is noted, of which type, under which key."""


def run_task(request: TaskRequest) -> Any:
    """Return the structured answer for a request."""
    task = _TASKS.get(request.name)
    return task(request) if task else minimal_instance(request.schema)


def title_of(text: str) -> str:
    """Return the first words of a text as a title."""
    title = " ".join(text[:500].split()[:TITLE_WORDS]).strip(" .,;:!?#*")[:48]
    return title[:1].upper() + title[1:] or "New conversation"


def _title(request: TaskRequest) -> dict[str, Any]:
    return {"title": title_of(next(iter(request.user_turns()), ""))}


def _summary(request: TaskRequest) -> dict[str, Any]:
    """Return the first sentence of what the user said each time, and facts of a legacy if they are asked for."""
    turns = request.turns()
    answer: dict[str, Any] = {"summary": summary_of(turns)}
    if "facts" in request.schema.get("properties", {}):
        answer |= _facts(request)
    return answer


def summary_of(turns: list[tuple[str, str]]) -> str:
    """Return a summary shorter than what is summed up; never empty."""
    first = dict.fromkeys(_RETOLD.sub("", _SENTENCE.split(text.strip())[0]) for role, text in turns if role == "user")
    room = min(SUMMARY_CHARS, sum(len(text) for _, text in turns) - len(_BEGINS))
    share = max(room // max(len(first), 1) - 1, 0)
    told = " ".join(sentence[:share] for sentence in first if sentence).strip()
    return _BEGINS + told if told else f"{len(turns)} messages."


def _facts(request: TaskRequest) -> dict[str, Any]:
    """Return the user's sentences that name the person of a legacy."""
    named = _PERSON.search("\n".join(request.texts("system")))
    name = named[1].split()[0] if named else "\0"
    return {
        "facts": [
            {"category": "other", "content": sentence, "message": number, "quote": sentence.rstrip(".")}
            for number, (role, text) in enumerate(request.turns(), 1)
            for sentence in _SENTENCE.split(text)
            if role == "user" and name in sentence and not sentence.endswith("?")
        ]
    }


def _digest(request: TaskRequest) -> dict[str, Any]:
    said = [text for text in request.user_turns() if any(map(str.isalnum, text))]
    questions = sum(text.rstrip().endswith("?") for text in said)
    return {
        "main_topics": list(dict.fromkeys(map(title_of, said)))[:8],
        "action": [wanted for text in said for wanted in _WANTED.findall(text)][:5],
        "typical_observation": f"Wrote {len(said)} messages, {questions} of them questions." if said else "",
    }


def _memories(request: TaskRequest) -> dict[str, Any]:
    """Return statements and, if the schema has them, assessments of points and a title."""
    rows = list(request.rows())
    said = [row for row in rows if row.get("role") == "user" and isinstance(row.get("message"), int)]
    answer: dict[str, Any] = {"statements": [found for row in said for found in _statements(row)]}
    fields = request.schema.get("properties", {})
    if "points" in fields:
        answer["points"] = [found for row in rows if "point" in row for found in _assessments(row, said)]
    if "title" in fields:
        answer["title"] = title_of(next((row["text"] for row in rows if "user" in row.values()), ""))
    return answer


def _statements(row: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for pattern, content, kind, key in _SENTENCES:
        for found in pattern.finditer(row["text"]):
            yield {
                "message": row["message"],
                "quote": found[0],
                "about": "how_to_answer" if content == "Always {}" else "user",
                "content": content.format(found["value"]),
                "action": "add",
                "memory": 0,
                "kind": kind,
                "key": key or "none",
                "value": found["value"] if key else "",
                "confidence": 0.9,
            }


def _assessments(point: dict[str, Any], said: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield the assessment of a point that sentences touch: those that share a long word with its title or goals."""
    wanted = _long_words(f"{point.get('title')} {point.get('goals')}")
    sentences = [sentence for row in said for sentence in _SENTENCE.split(row["text"])]
    if touched := [sentence for sentence in sentences if wanted & _long_words(sentence)][:5]:
        yield {
            "point_number": point["point"],
            "is_addressed": True,
            "confidence_score": 0.8,
            "extracted_points": touched,
            "relevant_quotes": touched,
            "structured_data": [],
        }


def _long_words(text: str) -> set[str]:
    return set(re.findall(r"\w{5,}", text.casefold()))


_TASKS: dict[str, Callable[[TaskRequest], dict[str, Any]]] = {
    "conversation_digest": _digest,
    "conversation_summary": _summary,
    "conversation_title": _title,
    "legacy_facts": _facts,
    "memory_operations": _memories,
}
