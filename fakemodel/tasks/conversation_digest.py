"""The digest of a conversation, by rules: topics from the user's messages, actions from what they want or have to do.

The observation states only what can be counted, and says that rules wrote it.
"""

from __future__ import annotations

import re
from typing import Any

from .conversation_title import title_of
from .request import TaskRequest

NAME = "conversation_digest"

MAX_TOPICS = 8
MAX_ACTIONS = 5
_SENTENCE = re.compile(r"(?<=[.!?…])\s+|(?<=[。！？])|\n+")
_INTENT = re.compile(
    r"\b(?:i\s+(?:want|need|plan|have|intend|hope|would\s+like)\s+to|i['’](?:m\s+going|d\s+like)\s+to|i\s+should|remind\s+me\s+to)"
    r"\s+(?P<what>[^.!?;\n]{3,120})",
    re.IGNORECASE,
)
_OWN = re.compile(r"\b(my|me|i|mine|myself)\b", re.IGNORECASE)
_TURNED = {"my": "your", "me": "you", "i": "you", "mine": "yours", "myself": "yourself"}
_NOT_A_TOPIC = frozenset({"New conversation"})


def run(request: TaskRequest) -> dict[str, Any]:
    """`{"main_topics": […], "action": […], "typical_observation": …}` for the conversation."""
    said = request.user_turns()
    return {"main_topics": topics_of(said), "action": actions_of(said), "typical_observation": observation_of(said)}


def topics_of(said: list[str]) -> list[str]:
    """The topic of each message, worded as a title, without repetition."""
    titles = (title_of(text[:2_000]) for text in said if any(char.isalnum() for char in text))
    found = {title.casefold(): title for title in titles if title not in _NOT_A_TOPIC}
    return list(found.values())[:MAX_TOPICS]


def actions_of(said: list[str]) -> list[str]:
    """Return what the user said they want or have to do."""
    found: dict[str, str] = {}
    for text in said:
        for sentence in _SENTENCE.split(text[:5_000]):
            match = None if sentence.rstrip().endswith(("?", "？")) else _INTENT.search(sentence[:500])
            if match:
                what = _OWN.sub(lambda own: _TURNED[own[0].lower()], match["what"]).strip(" ,:-")
                found.setdefault(what.casefold(), what[:1].upper() + what[1:])
    return list(found.values())[:MAX_ACTIONS]


def observation_of(said: list[str]) -> str:
    """Return how many messages there are, and how many of them ask something."""
    if not said:
        return ""
    asked = sum(text.rstrip().endswith(("?", "？", "؟")) for text in said)
    messages = "1 message" if len(said) == 1 else f"{len(said)} messages"
    questions = (
        "none of them a question"
        if not asked
        else "one of them a question"
        if asked == 1
        else (f"{asked} of them questions")
    )
    return f"Wrote {messages}, {questions}. (Counted by the fake model, not observed by a language model.)"
