"""Statements without the words for the user: "Allergic to peanuts", not "The user is allergic to peanuts". Pure."""

from __future__ import annotations

import re

_VERBS = (
    "is was has had likes loves hates dislikes prefers wants needs lives works uses owns runs speaks plays eats drinks "
    "enjoys plans studies does did will can cannot moved goes keeps takes writes thinks feels avoids calls"
)
_USER = re.compile(
    r"^(?:the\s+user(?:['’]s)?\s+(?:(?:(?:is|was)\s+(?=allergic\b))?)|"
    rf"user(?:['’]s\s+|\s+(?=(?:{'|'.join(_VERBS.split())})\b)(?:is\s+(?=allergic\b))?)|"
    r"(?:der|die)\s+(?:be)?nutzer(?:in)?\s+|l['’]utilisat(?:eur|rice)\s+|(?:el\s+usuario|la\s+usuaria)\s+|l['’]utente\s+|"
    r"(?:o\s+(?:usuário|utilizador)|a\s+(?:usuária|utilizadora))\s+|de\s+gebruiker\s+|пользователь\s+|المستخدمة?\s+|"
    r"用户的?|使用者的?|ユーザー(?:は|の)|사용자(?:는|의)\s*)",
    re.IGNORECASE,
)


def in_human_words(content: str) -> str:
    """A statement without the words for the user at its beginning; as it is where nothing else is left."""
    bare = _USER.sub("", content, count=1).strip()
    return bare[:1].upper() + bare[1:] if bare and bare != content else content
