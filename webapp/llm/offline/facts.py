"""What the prompt says about the user, found by rules: memory lines and what the user said earlier; pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from .wire import text_of

_BLOCK = re.compile(r"\A\s*<([\w-]+)[^>]*>(.*?)</\1>\s*", re.DOTALL)
_BULLET = re.compile(r"^\s*(?:[-*•]|\d+[.)])\s+(\S(?:.*\S)?)\s*$")
_HEADING = re.compile(r"^\s*(?:#+\s+.+|<[\w-][^>]*>|\*\*.+\*\*:?|[^-*•\d\s].{0,80}:)\s*$")
_ABOUT_USER = re.compile(
    r"memor|remember|\bknow|fact|profile|about the (?:user|person)|retrieved|recall|learn", re.IGNORECASE
)
_KEYED = re.compile(r"^([\w][\w /-]{0,30}):\s+(\S.*)$")
_NAME_KEY = re.compile(r"(?:^|[/ _])(?:preferred[_ ]name|first[_ ]name|full[_ ]name|nickname|name)$", re.IGNORECASE)
_NAME_FACT = re.compile(
    r"(?:^name\s+is|^heißt|^s['’]appelle|^se\s+llama|^si\s+chiama|^зовут|"
    r"\b(?:user|person)(?:['’]s\s+(?:\w+\s+)?name\s+is|\s+(?:is\s+called|goes\s+by|is\s+named)))"
    r"\s+([^\s.,;]+(?:\s+(?-i:[A-Z])[^\s.,;]+)?)",
    re.IGNORECASE,
)
_NAME_SAID = re.compile(
    r"\b(?:my\s+(?:first\s+|full\s+)?name\s+is|my\s+name['’]s|i\s+am\s+called|i['’]m\s+called|call\s+me)\s+"
    r"([^\W\d_][\w'’-]*(?:\s+(?-i:[A-Z])[\w'’-]*)?)",
    re.IGNORECASE,
)
_SAID = re.compile(r"\b(?:i|i['’](?:m|ve|d)|my|mine|we|our)\b", re.IGNORECASE)
_META = re.compile(
    r"(?<!\s)\s*[\[(](?:confidence|importance|since|id|#|\d|source|said|pinned)[^\])]{0,200}[\])]\s*$", re.IGNORECASE
)
_WORD = re.compile(r"[^\W_]+")
_VERB_WORDS = """
lives works prefers wants likes loves hates enjoys dislikes adores has does is was plays owns keeps speaks
needs uses studies drinks eats reads runs knows learns collects cooks swims travels goes drives cycles plans
decided agreed
"""
_VERBS = frozenset(_VERB_WORDS.split())
_IRREGULAR = {"has": "You have", "does": "You do", "is": "You are", "was": "You were"}
_STATES = re.compile(
    r"(?:allergic\s+to|from\s+[A-Z]|born\s+in|vegan|vegetarian|pescatarian|lactose|gluten|coeliac|celiac|diabetic|"
    r"\d+\s+years\s+old|married|single|retired)\b",
    re.IGNORECASE,
)
_ATTRIBUTES = re.compile(
    r"(?:name|birthday|job|pronouns|time\s+zone|native\s+language|favourite\s+\w+(?:\s\w+)?|project|wife|husband|"
    r"partner|"
    r"girlfriend|boyfriend|fiancée?|son|daughter|mother|mum|mom|father|dad|brother|sister|grandmother|grandfather|boss|"
    r"manager|dog|cat|horse|parrot|hamster|rabbit|best\s+friend|roommate|baby)\s+(?:is|are)\b",
    re.IGNORECASE,
)
_STOP_WORDS = """
what which who whom whose when where why how is are was were am be been do does did can could will would should
shall may the a an of to in on at for from by with about as and or but if then than that this these those it its
there here i me my mine myself we us our you your yours user user's tell know remember recall say said please again
also s m ve d have has had any some much many current favourite favorite
"""
_STOP = frozenset(_STOP_WORDS.split())


@dataclass(frozen=True, slots=True)
class Known:
    """Statements about the user, addressed to them ("Your …", "You …"), best source first, and the name."""

    statements: tuple[str, ...]
    name: str | None


def split_question(text: str) -> tuple[str, str]:
    """(context blocks, what the user wrote) of a user message that may begin with marked blocks."""
    blocks = []
    while match := _BLOCK.match(text):
        blocks.append(match[0])
        text = text[match.end() :]
    return "".join(blocks), text.strip()


def known_about_user(messages: Sequence[dict[str, Any]]) -> Known:
    """Everything the prompt says about the user, except what the last message itself says."""
    system = [text_of(m.get("content")) for m in messages if m.get("role") in ("system", "developer")]
    asked = [text_of(m.get("content")) for m in messages if m.get("role") == "user"]
    blocks = [split_question(text) for text in asked]
    lines = [line for text in [*system, *(block for block, _ in blocks[-1:])] for line in _fact_lines(text)]
    said = [sentence for _, text in blocks[:-1] for sentence in _own_sentences(text)]
    statements = [*(to_second_person(line) for line in lines), *(to_second_person(s) for s in reversed(said))]
    unique = tuple({s.casefold(): s for s in statements if s}.values())
    return Known(unique, _name(lines, [text for _, text in blocks]))


def matching(statements: Sequence[str], question: str, limit: int = 3) -> list[str]:
    """The statements that share the most words with `question`, best first; none if no word is shared."""
    wanted = _stems(question)
    scored = [(len(wanted & _stems(s)), -position, s) for position, s in enumerate(statements)]
    best = max((score for score, _, _ in scored), default=0)
    return [s for score, _, s in sorted(scored, reverse=True) if score == best][:limit] if best else []


def to_second_person(statement: str) -> str:
    """ "The user is allergic to nuts" and "I am allergic to nuts" both become "You are allergic to nuts"."""
    text = _META.sub("", statement).strip()
    if keyed := _KEYED.match(text):
        key = keyed[1].split("/")[-1].replace("_", " ").strip().lower()
        return (
            f"Your {key} is {keyed[2].rstrip('.')}"
            if key not in ("fact", "preference", "note", "memory")
            else _cap(keyed[2])
        )
    text = _addressed(text)
    for pattern, replacement in _PERSPECTIVE:
        text = pattern.sub(replacement, text)
    return _cap(text.rstrip("."))


def _addressed(text: str) -> str:
    """ "Lives in Porto" becomes "You live in Porto", "Dog is called Rex" "Your dog is called Rex"; others stay."""
    first, _, rest = text.partition(" ")
    verb = first.lower()
    if verb in _VERBS and rest:
        addressed = f"{_IRREGULAR.get(verb) or _second_person(verb)} {rest}"
    elif _STATES.match(text):
        addressed = f"You are {verb} {rest}".rstrip()
    elif _ATTRIBUTES.match(text):
        addressed = f"Your {text[:1].lower()}{text[1:]}"
    else:
        return text
    return re.sub(r"\btheir\b", "your", addressed)


def _fact_lines(text: str) -> list[str]:
    """The bullets under headings about memory; without such a heading, the bullets that are about the user."""
    titled: list[str] = []
    loose: list[str] = []
    relevant = False
    for line in text.splitlines():
        bullet = _BULLET.match(line)
        if bullet:
            body = bullet[1]
            if relevant:
                titled.append(body)
            elif re.match(r"the user(?:'s|’s)?\s", body, re.IGNORECASE) or _KEYED.match(body):
                loose.append(body)
        elif line.strip().startswith("</"):
            relevant = False
        elif _HEADING.match(line):
            relevant = bool(_ABOUT_USER.search(line))
    return titled or loose


def _own_sentences(text: str) -> list[str]:
    sentences = re.split(r"(?<=[.!?])\s+|\n+", text)
    return [s.strip() for s in sentences if _SAID.search(s) and not s.strip().endswith("?") and len(s) < 300]


def _name(lines: Sequence[str], asked: Sequence[str]) -> str | None:
    """The name last given in the conversation, otherwise the one in memory."""
    for text in reversed(asked):
        if said := _NAME_SAID.search(text):
            return said[1]
    for line in lines:
        keyed = _KEYED.match(_META.sub("", line))
        if keyed and _NAME_KEY.search(keyed[1]):
            return keyed[2].strip().rstrip(".")
        if told := _NAME_FACT.search(line):
            return told[1]
    return None


def _stems(text: str) -> set[str]:
    words = {word.lower() for word in _WORD.findall(text)} - _STOP
    return {re.sub(r"(?:ies|ing|ed|es|s|y|ic|e)$", "", word) if len(word) > 4 else word for word in words}


def _cap(text: str) -> str:
    return text[:1].upper() + text[1:]


def _second_person(verb: str) -> str:
    """ "likes" → "You like"."""
    for ending, stem in (
        ("ies", "y"),
        ("sses", "ss"),
        ("shes", "sh"),
        ("ches", "ch"),
        ("xes", "x"),
        ("oes", "o"),
        ("ss", "ss"),
    ):
        if verb.endswith(ending):
            return "You " + verb.removesuffix(ending) + stem
    return "You " + (verb.removesuffix("s") if verb.endswith("s") else verb)


_PERSPECTIVE: tuple[tuple[re.Pattern[str], Any], ...] = tuple(
    (re.compile(pattern, re.IGNORECASE), replacement)
    for pattern, replacement in (
        (r"\bthe user['’]s\b", "your"),
        (r"\bthe user is\b", "you are"),
        (r"\bthe user was\b", "you were"),
        (r"\bthe user has\b", "you have"),
        (r"\bthe user (?:does not|doesn't)\b", "you do not"),
        (r"\bthe user (can|will|would|could|should|must|may|might)\b", r"you \1"),
        (r"\bthe user ([a-z]+)\b", lambda found: _second_person(found[1])),
        (r"\bi am\b|\bi['’]m\b", "you are"),
        (r"\bi was\b", "you were"),
        (r"\bi['’]ve\b", "you have"),
        (r"\bi['’]d\b", "you would"),
        (r"\bmyself\b", "yourself"),
        (r"\bmine\b", "yours"),
        (r"\bmy\b", "your"),
        (r"\bme\b", "you"),
        (r"\bi\b", "you"),
    )
)
