"""What a sentence of the user's says about them, by rule; pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

_NAME = r"(?P<name>[^\W\d_][\w'’.-]*(?:\s+(?-i:[A-ZÀ-ÞА-Я])[\w'’.-]*){0,3})"
_REST = r"(?P<rest>\S.*)"
_RELATION_WORDS = (
    "wife|husband|partner|girlfriend|boyfriend|fiancée?|son|daughter|mother|mum|mom|father|dad|brother|sister|"
    "grandmother|grandfather|boss|manager|dog|cat|horse|parrot|hamster|rabbit|best friend|roommate|baby"
)
_PETS = frozenset(["dog", "cat", "horse", "parrot", "hamster", "rabbit"])
_DIETS = "vegan|vegetarian|pescatarian|lactose intolerant|gluten intolerant|coeliac|celiac|diabetic|halal|kosher"
_TRADES = (
    r"\w*(?:developer|engineer|teacher|nurse|doctor|designer|student|lawyer|scientist|researcher|writer|"
    r"journalist|accountant|architect|chef|cook|carpenter|farmer|photographer|musician|translator|pensioner|manager|"
    r"electrician|plumber|librarian|pharmacist|dentist|therapist|programmer|artist|professor)"
)
_TIMES = "later|back|tomorrow|today|tonight|when|if|at|on|once|after|before|maybe|again|now|anytime|soon|a|an|the|it"
_HEDGE = re.compile(r"\b(?:i think|i guess|maybe|perhaps|probably|might|possibly|i suppose|not sure)\b", re.IGNORECASE)
_CORRECTION = re.compile(
    r"\b(?:actually|in fact|correction|i meant|sorry|i was wrong|changed my mind|that's wrong|not any ?more|"
    r"instead|to correct)\b|^\s*no[,.!;]|\b(?:not|n['’]t)\b.+\bit(?:['’]s|\s+is)\b",
    re.IGNORECASE,
)
_TAIL = re.compile(
    r"[\s,]*(?:\b(?:please|though|by the way|btw|now|nowadays|these days|currently|actually|too|as well|from now on|"
    r"any ?more|after all|and you|if possible|thanks|thank you)\b|[.!,;:…。！]|:\)|\))+\s*$",
    re.IGNORECASE,
)
_VAGUE = re.compile(r"(?:it|that|this|these|those|how|what|your|you|to\s+know|when|the\s+way)\b", re.IGNORECASE)
# Where a name of a place or firm ends and the story goes on.
_CUT = re.compile(
    r"[.!;]\s|,?\s+(?:since|with|because|where|which|who|and|but|so|while|until|last|this|recently|a\s+\w+\s+ago|in\s+\d{4})\b",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Finding:
    """One statement about the user, in the third person, as a memory operation needs it."""

    content: str
    memory_type: str = "fact"
    category: str | None = None
    fact_key: str | None = None
    fact_value: str | None = None
    confidence: float = 0.9
    importance: float = 0.6
    explicit_correction: bool = False


Maker = Callable[[re.Match[str]], Iterator[Finding]]


def findings(sentence: str, lead: str = "") -> list[Finding]:
    """Everything a statement says about its speaker; empty for what no rule knows.

    A hedge ("maybe") lowers confidence below what is used without asking, a correction ("actually") is marked as one;
    either may also stand in `lead`, the few words before the statement.
    """
    found: list[Finding] = []
    for pattern, make in _RULES:
        match = pattern.search(sentence)
        if match:
            found = list(make(match))
        if found:
            break
    told = f"{lead}, {sentence}" if lead else sentence
    if _HEDGE.search(told):
        found = [replace(finding, confidence=0.5) for finding in found]
    elif _CORRECTION.search(told):
        found = [replace(finding, explicit_correction=True, confidence=0.95) for finding in found]
    return found


def tidy(text: str, words: int = 24) -> str:
    """A phrase without filler and punctuation at its end; empty when it is too long to be a statement."""
    trimmed = text.strip(" \t\"'“”")
    while (shorter := _TAIL.sub("", trimmed)) != trimmed:
        trimmed = shorter
    return trimmed if len(trimmed.split()) <= words and len(trimmed) <= 240 else ""


def as_third_person(text: str) -> str:
    """ "my team" becomes "the user's team": statements must be understood away from the conversation."""
    for pattern, replacement in _PERSPECTIVE:
        text = pattern.sub(replacement, text)
    return text


_PERSPECTIVE = tuple(
    (re.compile(pattern, re.IGNORECASE), replacement)
    for pattern, replacement in (
        (r"\b(?:i am|i['’]m)\b", "the user is"),
        (r"\b(?:i have|i['’]ve)\b", "the user has"),
        (r"\b(?:my|our)\b", "the user's"),
        (r"\b(?:mine|ours)\b", "the user's"),
        (r"\b(?:me|i|us|myself)\b", "the user"),
        (r"\bwe\b", "they"),
    )
)


def _fact(key: str, value: str, content: str, importance: float = 0.6, confidence: float = 0.9) -> Iterator[Finding]:
    value = tidy(value, words=10)
    if value:
        statement = content.format(value=value)
        yield Finding(statement, "fact", key.split("/")[0], key, value, confidence, importance)


def _plain(kind: str, category: str, content: str, importance: float, confidence: float = 0.9) -> Iterator[Finding]:
    yield Finding(content, kind, category, confidence=confidence, importance=importance)


def _slug(text: str) -> str:
    return re.sub(r"\W+", "_", text.casefold()).strip("_")[:40]


def _name(match: re.Match[str]) -> Iterator[Finding]:
    name = tidy(match["name"], words=4)
    if name and name.casefold() not in {"not", "a", "the", "hard", "on", "in", "difficult", "unusual", "too"}:
        yield from _fact("identity/name", name, "The user's name is {value}.", 0.9, 1.0)


def _nickname(match: re.Match[str]) -> Iterator[Finding]:
    yield from _fact("identity/preferred_name", match["name"], "The user prefers to be called {value}.", 0.9, 0.9)


def _call_me(match: re.Match[str]) -> Iterator[Finding]:
    # Said in passing, it is a weak hint at the name: enough when none is known, never against one that is.
    yield from _fact("identity/name", match["name"], "The user's name is {value}.", 0.9, 0.6)


def _relative(match: re.Match[str]) -> Iterator[Finding]:
    relation = match["relation"].lower()
    family = "pet" if relation in _PETS else "people"
    content = f"The user's {relation} is called {{value}}."
    for finding in _fact(f"{family}/{_slug(relation)}_name", match["name"], content, 0.7):
        yield replace(finding, memory_type="entity")


def _allergies(match: re.Match[str]) -> Iterator[Finding]:
    for item in re.split(r",\s*(?:and\s+)?|\s+and\s+|\s+or\s+", tidy(match["rest"], words=12)):
        if item := tidy(item.removeprefix("to "), words=4):
            yield from _fact(f"health/allergy_{_slug(item)}", item, "The user is allergic to {value}.", 1.0, 0.95)


def _diet(match: re.Match[str]) -> Iterator[Finding]:
    yield from _fact("health/diet", match["rest"].lower(), "The user is {value}.", 0.9)


def _not_eaten(match: re.Match[str]) -> Iterator[Finding]:
    if rest := tidy(match["rest"], words=6):
        yield from _plain("fact", "health", f"The user does not {match['verb'].lower()} {rest}.", 0.8)


def _answer_language(match: re.Match[str]) -> Iterator[Finding]:
    for finding in _fact("instruction/answer_language", match["language"], "The user wants answers in {value}.", 0.9):
        yield replace(finding, memory_type="preference")


def _instruction(match: re.Match[str]) -> Iterator[Finding]:
    if rest := tidy(match["rest"]):
        how = match["how"].lower()
        wish = f"always to {rest}" if how == "always" else f"never to {rest}"
        content = f"The user asks the assistant {as_third_person(wish)}."
        yield from _plain("preference", "instruction", content, 0.8)


def _preference(match: re.Match[str]) -> Iterator[Finding]:
    if (rest := tidy(match["rest"])) and not re.match(r"(?:not\s+to\s+say|it|that|this)\b", rest, re.IGNORECASE):
        yield from _plain("preference", "preference", f"The user prefers {as_third_person(rest)}.", 0.6)


def _taste(match: re.Match[str]) -> Iterator[Finding]:
    verb, rest = " ".join(match["verb"].lower().replace("’", "'").split()), tidy(match["rest"], words=8)
    if not rest or _VAGUE.match(rest):
        return
    third = {"can't stand": "cannot stand", "don't like": "does not like", "do not like": "does not like"}
    yield from _plain(
        "preference", "taste", f"The user {third.get(verb, verb + 's')} {as_third_person(rest)}.", 0.5, 0.85
    )


def _favourite(match: re.Match[str]) -> Iterator[Finding]:
    thing = match["thing"].lower()
    key, content = f"preference/favourite_{_slug(thing)}", f"The user's favourite {thing} is {{value}}."
    for finding in _fact(key, match["rest"], content, 0.6):
        yield replace(finding, memory_type="preference")


def _keyed(key: str, content: str, importance: float = 0.7) -> Maker:
    def make(match: re.Match[str]) -> Iterator[Finding]:
        yield from _fact(key, _CUT.split(match["rest"])[0], content, importance)

    return make


def _moved(match: re.Match[str]) -> Iterator[Finding]:
    for finding in _fact("identity/location", _CUT.split(match["rest"])[0], "The user lives in {value}.", 0.8):
        yield replace(finding, explicit_correction=True)


def _decision(match: re.Match[str]) -> Iterator[Finding]:
    if rest := tidy(match["rest"], words=30):
        who = "The user" if match["who"].lower() == "i" else "The user and their group"
        verb = "agreed" if "agreed" in match["verb"].lower() else "decided"
        yield from _plain("decision", "decision", f"{who} {verb} {as_third_person(rest)}.", 0.7)


def _project(match: re.Match[str]) -> Iterator[Finding]:
    if rest := tidy(match["rest"]):
        yield from _plain("project", "project", f"The user's project {as_third_person(rest)}.", 0.7)


def _works_on(match: re.Match[str]) -> Iterator[Finding]:
    if rest := tidy(match["rest"]):
        yield from _plain("project", "project", f"The user is {match['verb'].lower()} {as_third_person(rest)}.", 0.6)


def _rule(pattern: str, make: Maker) -> tuple[re.Pattern[str], Maker]:
    return re.compile(pattern, re.IGNORECASE), make


_I_AM = r"\b(?:i\s+am|i['’]m|im)\s+"
_IS = r"\s*(?:\s+is|['’]s|\s+are|\s+was|:|=)\s+"


def _about(pattern: str, key: str, content: str, importance: float = 0.7) -> tuple[re.Pattern[str], Maker]:
    return _rule(pattern, _keyed(key, content, importance))


# The first rule that finds something speaks for the sentence; the particular stand before the general.
_RULES: tuple[tuple[re.Pattern[str], Maker], ...] = (
    _rule(
        rf"\bmy\s+(?:full\s+|first\s+|real\s+)?name\s+(?:is\s+not|isn['’]t)\s+.+?(?:,|\bbut\b|it['’]s)\s*(?:it\s+is\s+|"
        rf"it['’]s\s+|but\s+)*{_NAME}",
        _name,
    ),
    _rule(rf"\bmy\s+(?:full\s+|first\s+|real\s+)?name{_IS}(?:actually\s+|really\s+)?{_NAME}", _name),
    _rule(
        rf"\b(?:ich\s+hei(?:ß|ss)e|mein\s+name\s+ist|je\s+m['’]appelle|mon\s+nom\s+est|me\s+llamo|mi\s+nombre\s+es|"
        rf"mi\s+chiamo|меня\s+зовут)\s+{_NAME}",
        _name,
    ),
    _rule(r"(?:我叫|我的名字是|私の名前は)\s*(?P<name>[^\s，。、,.!！]{1,12}?)(?=[\s，。、,.!！]|です|$)", _name),
    _rule(
        rf"\b(?:i\s+go\s+by|i\s+prefer\s+(?:to\s+be|being)\s+called|my\s+nickname\s+is|(?:friends|everyone|everybody|people)"
        rf"\s+calls?\s+me|(?:please|just)\s+call\s+me)\s+(?!(?:{_TIMES})\b){_NAME}",
        _nickname,
    ),
    _rule(rf"\bcall\s+me\s+(?!(?:{_TIMES})\b){_NAME}", _call_me),
    _rule(
        rf"\bmy\s+(?:\w+\s+)?(?P<relation>{_RELATION_WORDS})(?:['’]s\s+name\s+is|\s+is\s+(?:called|named))\s+{_NAME}",
        _relative,
    ),
    _rule(
        rf"\b(?:i|we)\s+have\s+(?:a|an)\s+(?:\w+\s+)?(?P<relation>{_RELATION_WORDS})\s+(?:called|named)\s+{_NAME}",
        _relative,
    ),
    _rule(rf"{_I_AM}(?:\w+ly\s+)?allergic\s+to\s+{_REST}", _allergies),
    _rule(r"\bi\s+have\s+(?:a|an)\s+(?P<rest>\w+(?:\s\w+)?)\s+allergy\b", _allergies),
    _rule(rf"{_I_AM}(?:a\s+|an\s+)?(?:strict\s+)?(?P<rest>{_DIETS})\b(?=\s*(?:[.,!;]|and\b|now\b|since\b|$))", _diet),
    _rule(r"\bi\s+(?:do\s+not|don['’]t|never|can['’]t|cannot)\s+(?P<verb>eat|drink)\s+(?P<rest>\S.*)", _not_eaten),
    _rule(
        r"\b(?:always|from\s+now\s+on,?|by\s+default,?)\s+(?:please\s+)?(?:answer|reply|respond|write|speak|talk)"
        r"(?:\s+(?:to\s+me|me|back))?\s+in\s+(?P<language>(?-i:[A-Z])[\w-]+)(?=\s*(?:[.,!;]|please|from|and\b|$))",
        _answer_language,
    ),
    _rule(
        r"^\W*(?:please\s+|and\s+|so\s+|ok(?:ay)?,?\s+|from\s+now\s+on,?\s+)*(?P<how>always|never)\s+(?P<rest>(?:answer|"
        r"reply|respond|write|speak|talk|use|give|include|add|start|end|call|address|show|explain|keep|format|put|cite|"
        r"mention|ask|suggest|recommend|send|translate|prefer|convert)\b.*)",
        _instruction,
    ),
    _rule(
        rf"\bi\s+(?:no\s+longer\s+live\s+in\s+.+?\bbut\s+in|(?:have\s+|just\s+|recently\s+)*moved\s+(?:from\s+.+?\s+)?to|"
        rf"now\s+live\s+in)\s+{_REST}",
        _moved,
    ),
    _rule(rf"\bi['’]ve\s+(?:just\s+|recently\s+)?moved\s+(?:from\s+.+?\s+)?to\s+{_REST}", _moved),
    _about(rf"\b(?:i|we)\s+(?:currently\s+)?live\s+in\s+{_REST}", "identity/location", "The user lives in {value}."),
    _about(
        rf"(?:{_I_AM}|\bi\s+come\s+)from\s+(?P<rest>(?-i:[A-Z])\S*.*)",
        "identity/origin",
        "The user is from {value}.",
        0.6,
    ),
    _about(
        rf"(?:^|\bi\s+(?:currently\s+|now\s+)?)work\s+(?:at|for)\s+{_REST}",
        "work/employer",
        "The user works for {value}.",
    ),
    _about(rf"\bi\s+(?:currently\s+|now\s+)?work\s+as\s+{_REST}", "work/job", "The user works as {value}."),
    _about(rf"{_I_AM}(?P<rest>an?\s+(?:[\w-]+\s+){{0,2}}{_TRADES})\b(?!['’])", "work/job", "The user is {value}."),
    _about(rf"\bmy\s+(?:job|profession|occupation){_IS}{_REST}", "work/job", "The user's job is {value}."),
    _about(rf"\bmy\s+birthday{_IS}(?:on\s+)?{_REST}", "identity/birthday", "The user's birthday is {value}.", 0.8),
    _about(
        r"\bi\s+was\s+born\s+on\s+(?:the\s+)?(?P<rest>\S.*\d.*)",
        "identity/birthday",
        "The user's birthday is {value}.",
        0.8,
    ),
    _about(rf"{_I_AM}(?P<rest>\d{{1,3}})\s+years?\s+old", "identity/age", "The user is {value} years old.", 0.5),
    _about(rf"\bmy\s+pronouns{_IS}{_REST}", "identity/pronouns", "The user's pronouns are {value}.", 0.9),
    _about(rf"\bmy\s+time\s?zone{_IS}{_REST}", "identity/timezone", "The user's time zone is {value}."),
    _about(
        rf"\bmy\s+(?:native\s+language|mother\s+tongue){_IS}{_REST}",
        "identity/native_language",
        "The user's native language is {value}.",
    ),
    _rule(rf"\bmy\s+favou?rite\s+(?P<thing>\w+(?:\s\w+)?){_IS}{_REST}", _favourite),
    _rule(
        r"\b(?P<who>we|i)(?:\s+have|['’]ve)?\s+(?:finally\s+|all\s+|just\s+)?(?P<verb>decided|agreed)\s+"
        r"(?P<rest>(?:to|that|on|not|against|upon)\b.*)",
        _decision,
    ),
    _rule(
        r"\bmy\s+(?:\w+\s+)?project,?\s+(?P<rest>(?:is|uses|called|named|runs|needs|will|has|aims|(?-i:[A-Z])\w*)\b.*)",
        _project,
    ),
    _rule(
        rf"(?:{_I_AM}|\b(?:we\s+are|we['’]re)\s+)(?P<verb>working\s+on|building|writing)\s+(?P<rest>(?:a|an|my|our|the)\b.*)",
        _works_on,
    ),
    _rule(rf"\bi(?:['’]d)?\s+(?:\w+ly\s+)?prefer\s+{_REST}", _preference),
    _rule(
        rf"\bi\s+(?:really\s+|absolutely\s+)?(?P<verb>love|like|enjoy|hate|dislike|can['’]t\s+stand|(?:don['’]t|do\s+not)\s+like)\s+"
        rf"{_REST}",
        _taste,
    ),
)
