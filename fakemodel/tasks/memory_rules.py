"""Rules for what the user's sentences say about them: the patterns, and what each makes of a match; pure."""

from __future__ import annotations

import re
from dataclasses import replace

from . import memory_findings as maker
from .memory_elsewhere import RULES as ELSEWHERE
from .memory_findings import Finding, Maker
from .memory_words import ABLE, ANIMALS, COUNTS, DIETS, OFTEN, PAINS, PARTS, PASTIMES, RELATIONS, TIMES, TRADES, VERBS

_NAME = r"(?P<name>[^\W\d_][\w'’.-]*(?:\s+(?-i:[A-ZÀ-ÞА-Я])[\w'’.-]*){0,3})"
_REST = r"(?P<rest>\S.*)"
# On its own, "I'm Marta" might as well be "I'm Dutch"; after a greeting it is a name.
_GREETED = re.compile(
    rf"^\W*(?:hi|hello|hey|good\s+(?:morning|evening)|hallo)(?:\s+there)?\W+(?:i\s+am|i['’]m)\s+(?=(?-i:[A-ZÀ-ÞА-Я])){_NAME}\W*$",
    re.IGNORECASE,
)
_STATE = "identity/relationship"
_HEDGE = re.compile(r"\b(?:i think|i guess|maybe|perhaps|probably|might|possibly|i suppose|not sure)\b", re.IGNORECASE)
_CORRECTION = re.compile(
    r"\b(?:actually|in fact|correction|i meant|sorry|i was wrong|changed my mind|that's wrong|not any ?more|"
    r"instead|to correct)\b|^\s*no[,.!;]|\b(?:not|n['’]t)\b.{1,200}?\bit(?:['’]s|\s+is)\b",
    re.IGNORECASE,
)


def findings(sentence: str, lead: str = "") -> list[Finding]:
    """Everything a statement says about its speaker; empty if no rule recognises it.

    A hedge ("maybe") lowers the confidence below what is used without asking, a correction ("actually") sets it to .95;
    either may also be in `lead`, the few words before the statement.
    """
    found: list[Finding] = []
    if greeted := _GREETED.match(f"{lead}, {sentence}"):
        return list(maker.name(greeted))
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
        found = [replace(finding, confidence=0.95) for finding in found]
    return found


def _rule(pattern: str, make: Maker) -> tuple[re.Pattern[str], Maker]:
    return re.compile(pattern, re.IGNORECASE), make


_I_AM = r"\b(?:i\s+am|i['’]m|im)\s+"
_IS = r"\s*(?:\s+is|['’]s|\s+are|\s+was|:|=)\s+"


def _about(pattern: str, key: str, content: str, importance: float = 0.7) -> tuple[re.Pattern[str], Maker]:
    return _rule(pattern, maker.keyed(key, content, importance))


# The first rule that finds something decides for the sentence; specific rules come before general ones.
_RULES: tuple[tuple[re.Pattern[str], Maker], ...] = (
    _rule(
        rf"\bmy\s+(?:full\s+|first\s+|real\s+)?name\s+(?:is\s+not|isn['’]t)\s+.{{1,80}}?(?:,|\bbut\b|it['’]s)\s*(?:it\s+is\s+|"
        rf"it['’]s\s+|but\s+)*{_NAME}",
        maker.name,
    ),
    _rule(rf"\bmy\s+(?:full\s+|first\s+|real\s+)?name{_IS}(?:actually\s+|really\s+)?{_NAME}", maker.name),
    _rule(
        rf"\b(?:ich\s+hei(?:ß|ss)e|mein\s+name\s+ist|je\s+m['’]appelle|mon\s+nom\s+est|me\s+llamo|mi\s+nombre\s+es|"
        rf"mi\s+chiamo|chamo-me|me\s+chamo|meu\s+nome\s+é|اسمي|меня\s+зовут)\s+{_NAME}",
        maker.name,
    ),
    _rule(r"(?:我叫|我的名字是|私の名前は)\s*(?P<name>[^\s，。、,.!！]{1,12}?)(?=[\s，。、,.!！]|です|$)", maker.name),
    _rule(
        rf"\b(?:i\s+go\s+by|i\s+prefer\s+(?:to\s+be|being)\s+called|my\s+nickname\s+is|(?:friends|everyone|everybody|people)"
        rf"\s+calls?\s+me|(?:please|just)\s+call\s+me)\s+(?!(?:{TIMES})\b){_NAME}",
        maker.nickname,
    ),
    _rule(rf"\bcall\s+me\s+(?!(?:{TIMES})\b){_NAME}", maker.call_me),
    _rule(
        rf"\bmy\s+(?:\w+\s+)?(?P<relation>{RELATIONS})(?:['’]s\s+name\s+is|\s+is\s+(?:called|named))\s+{_NAME}",
        maker.relative,
    ),
    _rule(
        rf"\b(?:i|we)\s+have\s+(?:a|an)\s+(?:\w+\s+)?(?P<relation>{RELATIONS})\s+(?:called|named)\s+{_NAME}",
        maker.relative,
    ),
    _rule(
        rf"\bmy\s+(?:\w+\s+)?(?P<relation>{RELATIONS})\s+(?P<called>(?-i:[A-ZÀ-ÞА-Я])[\w'’-]+)\s+"
        r"(?P<rest>(?:is|has|was|can|can['’]t|works|lives|plays|loves|likes|hates|studies|teaches|drives|speaks)\b.*)",
        maker.relative_told,
    ),
    _rule(rf"(?:{_I_AM}(?:\w+ly\s+)?|^)allergic\s+to\s+{_REST}", maker.allergies),
    _rule(r"\bi\s+have\s+(?:a|an)\s+(?P<rest>\w+(?:\s\w+)?)\s+allergy\b", maker.allergies),
    _rule(
        rf"{_I_AM}(?:a\s+|an\s+)?(?:strict\s+)?(?P<rest>{DIETS})\b(?=\s*(?:[.,!;]|and\b|now\b|since\b|$))", maker.diet
    ),
    _rule(r"\bi\s+(?:do\s+not|don['’]t|never|can['’]t|cannot)\s+(?P<verb>eat|drink)\s+(?P<rest>\S.*)", maker.aversion),
    _rule(
        r"\b(?:always|from\s+now\s+on,?|by\s+default,?)\s+(?:please\s+)?(?:answer|reply|respond|write|speak|talk)"
        r"(?:\s+(?:to\s+me|me|back))?\s+in\s+(?P<language>(?-i:[A-Z])[\w-]+)(?=\s*(?:[.,!;]|please|from|and\b|$))",
        maker.answer_language,
    ),
    _rule(
        r"^\W*(?:please\s+|and\s+|so\s+|ok(?:ay)?,?\s+|from\s+now\s+on,?\s+)*(?P<how>always|never)\s+(?P<rest>(?:answer|"
        r"reply|respond|write|speak|talk|use|give|include|add|start|end|call|address|show|explain|keep|format|put|cite|"
        r"mention|ask|suggest|recommend|send|translate|prefer|convert)\b.*)",
        maker.instruction,
    ),
    _rule(
        rf"\bi\s+(?:no\s+longer\s+live\s+in\s+.{{1,80}}?\bbut\s+in|(?:have\s+|just\s+|recently\s+)*moved\s+(?:from\s+.{{1,80}}?\s+)?to|"
        rf"now\s+live\s+in)\s+{_REST}",
        maker.moved,
    ),
    _rule(rf"\bi['’]ve\s+(?:just\s+|recently\s+)?moved\s+(?:from\s+.{{1,80}}?\s+)?to\s+{_REST}", maker.moved),
    _rule(
        rf"\b(?:i|we)\s+live\s+in\s+(?P<rest>\S.{{0,80}}?)\s+with\s+(?:my|our)\s+(?P<relation>{RELATIONS})\s+"
        r"(?P<name>(?-i:[A-ZÀ-ÞА-Я])[\w'’-]+)",
        maker.lives_with,
    ),
    _about(rf"\b(?:i|we)\s+(?:currently\s+)?live\s+in\s+{_REST}", "identity/location", "Lives in {value}"),
    _about(
        rf"(?:{_I_AM}|\bi\s+come\s+)from\s+(?P<rest>(?-i:[A-Z])\S*.*)",
        "identity/origin",
        "From {value}",
        0.6,
    ),
    _about(
        rf"(?:^|\bi\s+(?:currently\s+|now\s+)?)work\s+(?:at|for)\s+{_REST}",
        "work/employer",
        "Works for {value}",
    ),
    _about(rf"\bi\s+(?:currently\s+|now\s+)?work\s+as\s+{_REST}", "work/job", "Works as {value}"),
    _about(rf"{_I_AM}(?P<rest>an?\s+(?:[\w-]+\s+){{0,2}}{TRADES})\b(?!['’])", "work/job", "Works as {value}"),
    _about(rf"\bmy\s+(?:job|profession|occupation){_IS}{_REST}", "work/job", "Job is {value}"),
    _about(rf"\bmy\s+birthday{_IS}(?:on\s+)?{_REST}", "identity/birthday", "Birthday is {value}", 0.8),
    _about(
        r"\bi\s+was\s+born\s+on\s+(?:the\s+)?(?P<rest>\S.{0,80}?\d.*)",
        "identity/birthday",
        "Birthday is {value}",
        0.8,
    ),
    _about(rf"{_I_AM}(?P<rest>\d{{1,3}})\s+years?\s+old", "identity/age", "{value} years old", 0.5),
    _about(rf"\bmy\s+pronouns{_IS}{_REST}", "identity/pronouns", "Pronouns are {value}", 0.9),
    _about(rf"\bmy\s+time\s?zone{_IS}{_REST}", "identity/timezone", "Time zone is {value}"),
    _about(
        rf"\bmy\s+(?:native\s+language|mother\s+tongue){_IS}{_REST}",
        "identity/native_language",
        "Native language is {value}",
    ),
    _rule(rf"\bmy\s+favou?rite\s+(?P<thing>\w+(?:\s\w+)?){_IS}{_REST}", maker.favourite),
    _rule(
        r"\b(?P<who>we|i)(?:\s+have|['’]ve)?\s+(?:finally\s+|all\s+|just\s+)?(?P<verb>decided|agreed)\s+"
        r"(?P<rest>(?:to|that|on|not|against|upon)\b.*)",
        maker.decision,
    ),
    _rule(
        r"\bmy\s+(?:\w+\s+)?project,?\s+(?P<rest>(?:is|uses|called|named|runs|needs|will|has|aims|(?-i:[A-Z])\w*)\b.*)",
        maker.project,
    ),
    _rule(
        rf"(?:{_I_AM}|\b(?:we\s+are|we['’]re)\s+)(?P<verb>working\s+on|training\s+for|building|writing)\s+(?P<rest>(?:a|an|my|our|the)\b.*)",
        maker.works_on,
    ),
    _rule(
        rf"{_I_AM}(?=(?-i:[A-ZÀ-ÞА-Я])){_NAME},\s*(?P<age>\d{{1,3}})\b(?:,?\s+(?:and\s+)?from\s+(?P<place>(?-i:[A-Z])[\w'’-]+))?",
        maker.introduced,
    ),
    _rule(
        rf"\b(?:i|we)\s+have\s+(?P<rest>{COUNTS}\s+(?:\w+\s+)?(?:kids?|child(?:ren)?|sons?|daughters?|brothers?|sisters?|siblings?|"
        rf"twins|grandchild(?:ren)?|{ANIMALS})\b.*)",
        maker.plainly("has", "entity"),
    ),
    _rule(
        rf"\b(?:i|we)\s+keep\s+(?P<rest>(?:{COUNTS}\s+)?(?:\w+\s+)?{ANIMALS}.*)",
        maker.plainly("keeps", "entity"),
    ),
    _about(
        rf"{_I_AM}(?:happily\s+|still\s+|newly\s+)?(?P<rest>married|single|divorced|engaged|widowed)\b",
        _STATE,
        "Is {value}",
    ),
    _about(r"\bi\s+(?:just\s+|have\s+)*got\s+(?P<rest>married|divorced|engaged)\b", _STATE, "Is {value}"),
    _about(rf"{_I_AM}(?P<rest>retired)\b", "work/job", "Is {value}"),
    _rule(
        rf"\bi\s+(?:really\s+|often\s+|still\s+|just\s+)?(?:can['’]t|cannot|can\s+(?:hardly|barely))\s+(?P<rest>(?:{ABLE})\b.{{0,200}}?"
        r"\b(?:because\s+of|due\s+to)\s+my\s+\S.*)",
        maker.plainly("cannot"),
    ),
    *(
        _rule(rf"\bi\s+(?:also\s+|still\s+|often\s+)?{verb}\s+(?P<rest>{OFTEN}.*)", maker.plainly(third))
        for verb, third in PASTIMES.items()
    ),
    _rule(r"\bi\s+was\s+born\s+(?P<rest>in\s+\S.*)", maker.plainly("born")),
    _rule(r"\b(?:i|we)\s+live\s+(?P<rest>with\s+(?:my|our|a|an|the|two|three)\s+\S.*)", maker.plainly("lives")),
    _rule(rf"{_I_AM}(?:\w+ly\s+)?learning\s+{_REST}", maker.plainly("learning")),
    _rule(
        rf"{_I_AM}(?:\w+ly\s+)?planning\s+(?P<rest>(?:a|an|my|our|the|to)\b.*)", maker.plainly("planning", "project")
    ),
    _rule(r"\bmy\s+(?:main\s+|big\s+)?goal\s+is\s+(?P<rest>\S.*)", maker.plainly("goal is", "project")),
    *(
        _rule(
            rf"\bi\s+(?:also\s+|mostly\s+|currently\s+)?{verb}\s+(?P<rest>(?!with\s+the\s+idea)\S.*)",
            maker.plainly(third, words=10),
        )
        for verb, third in VERBS.items()
    ),
    _rule(r"\bi\s+own\s+(?P<rest>(?:a|an|the|my|our|two|three|\d+)\s.*)", maker.plainly("owns")),
    _rule(
        r"^\W*(?:please\s+)?(?P<rest>(?:(?:answer|reply|respond|write)\b.*\b(?:brief|briefly|short|concise|concisely|simple|simply|"
        r"detail|detailed|formal|formally|informal|bullet|bullets|points|sentences?|words)|be\s+(?:brief|concise|formal|direct)|"
        r"keep\s+(?:it|your\s+answers|answers|replies)\s+(?:short|brief|simple))\b.*)",
        maker.wish,
    ),
    _rule(
        r"^\W*(?:please\s+)?(?:remember|note)\s+(?:that\s+)?(?:my|our)\s+(?P<rest>.+\s(?:is|are|was|were)\s.+)",
        maker.reminder,
    ),
    _rule(
        rf"{_I_AM}(?:a\s+)?(?:\w+\s+)?fan\s+of\s+(?P<rest>\S.{{0,120}}?)(?:\s+and\s+(?P<verb>study|work|play|speak|teach|live)\s+"
        r"(?P<more>.{0,120}))?$",
        maker.fan,
    ),
    _rule(
        r"\bi(?:\s+have|['’]ve\s+got|['’]ve\s+had|\s+have\s+had|\s+suffer\s+from)\s+"
        rf"(?P<rest>(?:an?\s+|some\s+)?(?:\w+\s+)?{PAINS}\b.*)",
        maker.plainly("has"),
    ),
    _rule(
        rf"\bmy\s+(?P<rest>(?:\w+\s+)?(?:{PARTS})\s+(?:hurts?|aches?|(?:is|are)\s+(?:\w+ly\s+)?(?:sore|sprained|stiff))\b.*)",
        maker.pain,
    ),
    _rule(rf"\bi(?:['’]d)?\s+(?:\w+ly\s+)?prefer\s+{_REST}", maker.preference),
    _rule(
        rf"\bi\s+(?:really\s+|absolutely\s+)?(?P<verb>love|like|enjoy|hate|dislike|can['’]t\s+stand|(?:don['’]t|do\s+not)\s+like)\s+"
        rf"{_REST}",
        maker.taste,
    ),
    *ELSEWHERE,
)
