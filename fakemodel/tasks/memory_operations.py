"""Memory extraction by rules: the fake model's stand-in for the memory engine's structured call.

Reads the documented sections of the call's user message (headings, then one JSON object per line): `{"message": n,
"role": "user", "text": …}` is evidence, `{"memory": n, …}` is known, `{"point": n, …}` is open. What the rules find is
quoted verbatim from the message. Questions, hypotheticals, quotations and text to work on are ignored.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

from .conversation_title import title_of
from .memory_findings import Finding
from .memory_rules import findings
from .request import TaskRequest

NAME = "memory_operations"

_SENTENCE = re.compile(r"(?<=[.!?…])\s+|(?<=[。！？])|\n+")
_CLAUSE = re.compile(
    r"(?:(?<!\s)(?:\s*;\s*|\s+(?:and|but|also|so|und|et|y|e)\s+|\s+-\s+)|,\s+(?:(?:and|but|also|so|und|et|y|e)\s+)?)"
    # "I love my wife and my two dogs" is one statement, "I love Oslo and my dog is old" is two.
    r"(?!my\s+(?:(?:\w+\s+)?(?:kids|children|family|friends|parents|\w+s)|wife|husband|partner|son|daughter|dog|cat|mother|mum|"
    r"mom|father|dad|brother|sister|garden|job|work|home)\W*$)"
    r"(?=(?:i|i['’]m|i['’]ve|my|we|we['’]re|call\s+me|please|always|never|work\s+(?:at|for)|allergic|allergisch|allergique|"
    r"al[ée]rgic[oa]|allergic[oa]|ich|wohne|lebe|arbeite|lerne|spiele|meine?|je|j['’]\w+|mon|ma|vivo|trabajo|tengo|soy|mi|moro|trabalho|tenho|"
    r"sou|meu|minha|abito|lavoro|sono|me\s+gustan?)\b)|[，,]\s*(?=我)|(?<!\s)\s+و(?=(?:أعيش|أسكن|أعمل|أتعلم|أحب|عندي|لدي))",
    re.IGNORECASE,
)
_HYPOTHETICAL = re.compile(
    r"\b(?:if|whether|suppose|supposing|imagine|imagining|pretend|assume|assuming|hypothetically|what\s+if|let['’]s\s+say|"
    r"say\s+that\s+i|as\s+though|in\s+case|unless|wish|would|could|should\s+i|in\s+a\s+(?:story|novel|film|game)|"
    r"for\s+example|e\.g|wenn\s+ich|falls\s+ich|stell\s+dir\s+vor|angenommen|si\s+j['’]\w+|si\s+je|imagine|imagina|si\s+(?:yo\s+)?"
    r"(?:fuera|tuviera|viviera)|se\s+(?:eu|io|fossi|avessi))\b|如果|假如|لو\s",
    re.IGNORECASE,
)
_POLITE_IF = re.compile(
    r"\bif\s+(?:possible|you\s+(?:can|don['’]t\s+mind|please))\b|\bi\s+would\s+prefer\b", re.IGNORECASE
)
_ASKED = re.compile(
    r"^\W*(?:do|does|did|is|are|am|was|were|can|could|would|should|will|what|who|whom|whose|when|where|why|how|which)\b",
    re.IGNORECASE,
)
_TEXT_WORK = re.compile(
    r"^\W*(?:please\s+|can\s+you\s+|could\s+you\s+)*(?:translate|rewrite|rephrase|paraphrase|proofread|correct|summari[sz]e|"
    r"improve|write|compose|draft|repeat|pretend|imagine|role-?play|act\s+as|complete|continue)\b",
    re.IGNORECASE,
)
_REPORTED = re.compile(
    r"\b(?:said|says|told\s+me|wrote|writes|asked|sings?|quote|character|sagt|sagte|meint|dit|disait|dice|dijo|diz|disse)\b",
    re.IGNORECASE,
)
_NOT_OWN = re.compile(
    r"```.*?(?:```|\Z)|<([\w-]+)(?:\s[^<>]*)?>.*?(?:</\1\s*>|\Z)|^[^\S\n]*>.*?$|(?:\"[^\"”\n]{8,}|“[^\"“”\n]{8,})[\"”]",
    re.DOTALL | re.MULTILINE,
)
_ENDED = re.compile(
    r"\b(?:i|i['’]m|we)\b.{0,100}?\b(?:no\s+longer|not\b.{0,60}?\bany\s?more|anymore|stopped|quit|gave\s+up)\b|"
    r"\bi['’]m\s+not\s+(?:allergic|vegan|vegetarian)\b|\b(?:i|we)\s+(?:don['’]t|do\s+not|am\s+not)\b.{0,200}?\bany\s?more\b|"
    r"\b(?:is|are)\s+no\s+longer\s+my\b",
    re.IGNORECASE,
)
_FORGET = re.compile(
    r"\b(?:forget|delete|remove)\s+(?:that\s+|about\s+|what\s+)?(?P<what>(?:i|i['’]m|my|we|our)\b.*)", re.IGNORECASE
)
# Longer "sentences" are pasted text rather than speech; this also keeps the patterns fast.
_SENTENCE_MAX = 500
_WORD = re.compile(r"[^\W_]{2,}")
_STOP_WORDS = """
the user users is are am was were no longer not any more anymore my our forget that about and has have had do does don
to in of at for with on it its now stopped quit gave up live lives work works called name an as we they their please
delete remove from so but
"""
_STOP = frozenset(_STOP_WORDS.split())
_RULES_FOR_KEYS = (
    (re.compile(r"\blive[sd]?\b|\bliving\b", re.IGNORECASE), "identity/location"),
    (re.compile(r"\bwork(?:s|ed|ing)?\s+(?:at|for)\b", re.IGNORECASE), "work/employer"),
    (re.compile(r"\bmy\s+(?:full\s+)?name\b", re.IGNORECASE), "identity/name"),
    (re.compile(r"\bmy\s+birthday\b", re.IGNORECASE), "identity/birthday"),
)


def run(request: TaskRequest) -> dict[str, Any]:
    """Statements for everything that a rule recognises, and assessments of open points if the schema asks for them."""
    rows = list(_rows(request))
    said = [row for row in rows if isinstance(row.get("message"), int) and row.get("role") == "user"]
    known = [row for row in rows if isinstance(row.get("memory"), int)]
    operations = [operation for row in said for operation in operations_of(row["message"], str(row["text"]), known)]
    answer: dict[str, Any] = {"statements": [_statement(operation) for operation in operations]}
    if "points" in request.schema.get("properties", {}):
        answer["points"] = [found for row in rows if isinstance(row.get("point"), int) for found in _assess(row, said)]
    if "title" in request.schema.get("properties", {}):
        answer["title"] = title_of(_first_message(rows))
    return answer


def operations_of(number: int, text: str, known: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """The operations for one message of the user, in sentence order."""
    if _TEXT_WORK.match(text):
        return
    lead = ""
    for sentence in statements(text):
        retracted = _retraction(sentence, known)
        if retracted is not None:
            yield _operation("retract", number, sentence, retracted, memory_number=retracted_number(retracted, known))
        if _FORGET.search(sentence):
            continue
        for clause in _CLAUSE.split(sentence):
            if not _ENDED.search(clause) or re.search(r"\bbut\s+in\b", clause):
                for finding in findings(clause, lead):
                    yield _operation("add", number, clause, finding)
            # "No, …", "Actually, …", "That's wrong. …" affect what follows them.
            lead = clause if len(clause.split()) <= 4 else ""


def statements(text: str) -> list[str]:
    """The sentences of a message in which the user makes plain statements, verbatim."""
    own = _NOT_OWN.sub("\n", text)
    kept = []
    for part in _SENTENCE.split(own):
        sentence = part.strip()
        if not sentence or len(sentence) > _SENTENCE_MAX:
            continue
        plain = _POLITE_IF.sub(" ", sentence)
        asks = sentence.endswith(("?", "？", "؟")) or _ASKED.match(sentence)
        if not asks and not _HYPOTHETICAL.search(plain) and not _REPORTED.search(sentence):
            kept.append(sentence)
    return kept


def retracted_number(finding: Finding, known: list[dict[str, Any]]) -> int | None:
    """The number of the known memory whose statement a retraction repeats."""
    return next((row["memory"] for row in known if str(row.get("text")) == finding.content), None)


def _retraction(sentence: str, known: list[dict[str, Any]]) -> Finding | None:
    """The known memory that a sentence retracts: the one with its key, or the one sharing the most words with it."""
    forget = _FORGET.search(sentence)
    if forget is None and not _ENDED.search(sentence):
        return None
    about = forget["what"] if forget else sentence
    key = next((key for pattern, key in _RULES_FOR_KEYS if pattern.search(about)), None)
    words = _words(about)
    scored = [(bool(key) and row.get("key") == key, len(words & _words(str(row.get("text")))), row) for row in known]
    best = max(scored, key=lambda item: item[:2], default=None)
    if best is None or not (best[0] or best[1]):
        return None
    row = best[2]
    value = row.get("value")
    # "No longer in Paris" is not about the known Oslo; only a bare "forget my name" needs no value.
    if best[0] and not forget and value and not _words(str(value)) & _words(sentence):
        return None
    return Finding(
        str(row["text"]), str(row.get("type") or "fact"), row.get("category"), row.get("key"), value, 0.9, 0.5
    )


def _operation(
    action: str, number: int, quote: str, finding: Finding, memory_number: int | None = None
) -> dict[str, Any]:
    return {
        "action": action,
        "memory_number": memory_number,
        "message_number": number,
        "quote": quote.strip().rstrip(".!,;:… "),
        "memory_type": finding.memory_type,
        "category": finding.category,
        "content": finding.content,
        "fact_key": finding.fact_key,
        "fact_value": finding.fact_value,
        "confidence": finding.confidence,
        "importance": finding.importance,
    }


def _statement(operation: dict[str, Any]) -> dict[str, Any]:
    """An operation as the call expects it. Rules know more keys than a model is asked for; these are kept."""
    return {
        "message": operation["message_number"],
        "quote": operation["quote"],
        "about": "how_to_answer" if operation["category"] == "instruction" else "user",
        "content": operation["content"],
        "action": operation["action"],
        "memory": operation["memory_number"] or 0,
        "kind": operation["memory_type"],
        "key": operation["fact_key"] or "none",
        "value": operation["fact_value"] or "",
        "confidence": operation["confidence"],
        "importance": operation["importance"],
    }


def _assess(point: dict[str, Any], said: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Assess a point, which is touched by the sentences that share words with its title and goals."""
    wanted = _words(f"{point.get('title', '')} {point.get('goals', '')}")
    touched = [
        sentence
        for row in said
        for sentence in statements(str(row["text"]))
        if len(sentence.split()) >= 4 and wanted & _words(sentence)
    ]
    if touched:
        shared = len(wanted & set().union(*map(_words, touched)))
        confidence = min(0.9, 0.35 + 0.15 * shared)
        yield {
            "point_number": point["point"],
            "is_addressed": confidence >= 0.6,
            "confidence_score": confidence,
            "extracted_points": touched[:5],
            "relevant_quotes": touched[:5],
            "structured_data": [],
        }


def _first_message(rows: Iterable[dict[str, Any]]) -> str:
    """The user's first message, which may come in parts."""
    parts: list[str] = []
    for row in rows:
        if row.get("role") == "user" or row.get("context") == "user":
            if parts and not row.get("continued"):
                break
            parts.append(str(row["text"]))
    return "\n".join(parts)


def _rows(request: TaskRequest) -> Iterator[dict[str, Any]]:
    for text in request.texts("user")[-1:]:
        for line in text.split("\n"):
            if line.startswith("{"):
                try:
                    row = json.loads(line)
                except ValueError:
                    continue
                if isinstance(row, dict):
                    yield row


def _words(text: str) -> set[str]:
    words = {word.casefold() for word in _WORD.findall(text)} - _STOP
    return {re.sub(r"(?:ing|es|s|e)$", "", word) if len(word) > 3 else word for word in words}
