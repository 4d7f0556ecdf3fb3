"""The demonstration's chat: a reply by plain rules, honest about what it is; pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from . import samples
from .arithmetic import solve
from .facts import Known, known_about_user, matching, split_question
from .wire import text_of

_I = re.IGNORECASE
_GREETING = re.compile(
    r"^\W*(?:hi|hello|hey|hiya|good (?:morning|afternoon|evening)|hola|bonjour|hallo|ciao|привет|你好)\b", _I
)
_NAME = re.compile(r"\b(?:what(?:['’]s| is)|do you (?:know|remember)|tell me|say) my name\b|\bwho am i\b", _I)
_ABOUT_ME = re.compile(
    r"\bwhat do you (?:know|remember|have)\b.{0,200}?\b(?:me|i)\b"
    r"|\b(?:tell me|what have i told you|facts) about (?:me|myself)\b"
    r"|\bwhat have (?:i told you|you (?:learned|learnt))\b|\bmy memor(?:y|ies)\b",
    _I,
)
_SELF = re.compile(
    r"\b(?:who|what) are you\b|\bwhat can you do\b|\bare you (?:real|a|an|chatgpt|gpt)\b"
    r"|\b(?:which|what) model\b|^\W*help\W*$",
    _I,
)
_CONNECT = re.compile(
    r"\b(?:connect|configure|set up|add|use)\b.{0,200}?\b(?:model|openai|api key|key|llm)\b|OPENAI_", _I
)
_STORY = re.compile(r"\b(?:story|tale|essay|novel)\b|\blong (?:answer|reply|text|response)\b", _I)
_MARKDOWN = re.compile(r"\bmarkdown\b|\bformatting\b", _I)
_CODE = re.compile(
    r"\b(?:write|show|give|example|sample|some)\b.{0,200}?\b(?:code|function|script|program|python)\b", _I
)
_TABLE = re.compile(r"\btable\b", _I)
_LIST = re.compile(r"\b(?:bullet(?:ed|s)?|a list|list of)\b", _I)
_THANKS = re.compile(r"^\W*(?:thanks|thank you|cheers|merci|danke|gracias)\b", _I)
_OWN = re.compile(r"\b(?:my|i|me|am i)\b", _I)
_QUESTION = re.compile(r"\?\s*$|^\W*(?:what|who|where|when|why|how|which|do|does|did|is|are|can|could|am)\b", _I)
_SUM = re.compile(r"=\s*$|\b(?:calculate|compute|work out|sum)\b", _I)
_DIRECTIVE = re.compile(r"^## Conversation Point: (?P<title>.+)$", re.MULTILINE)
_EXAMPLES = re.compile(r"^## Example Questions You Could Adapt\n(?P<lines>(?:- .+\n?)+)", re.MULTILINE)
_PICTURE = re.compile(r"(?:\[[^\[\]\n]{1,300}\]\s*)?\[A picture was attached here\.[^\[\]\n]*\]\s*")
"""What stands in place of a picture for a model without vision, and the name before it."""
UNSEEN = "I cannot see pictures; a model that can will be shown them."
_STATEMENT = re.compile(r"\b(?:i|i['’]m|i['’]ve|my|we|our)\b|\bcall me\b|\bremember that\b", _I)


def reply_to(messages: Sequence[dict[str, Any]]) -> str:
    """A Markdown answer to the last user message, using what the rest of the prompt says about the user."""
    asked = [text_of(m.get("content")) for m in messages if m.get("role") == "user"]
    if asked and _DIRECTIVE.search(asked[-1]):
        return _about_point(asked[-1], messages)
    question, pictures = _PICTURE.subn("", split_question(asked[-1])[1] if asked else "")
    first = not any(m.get("role") == "assistant" for m in messages)
    if not question:
        return UNSEEN if pictures else _opening(messages)
    known = known_about_user(messages)
    said = (
        _sample(question)
        or _about_user(question, known)
        or _small_talk(question, known, first)
        or _echo(question, known, first)
    )
    return f"{said}\n\n{UNSEEN}" if pictures else said


def _sample(question: str) -> str | None:
    if _CONNECT.search(question):
        return samples.HELP
    for pattern, text in (
        (_STORY, samples.STORY),
        (_MARKDOWN, samples.MARKDOWN),
        (_CODE, samples.CODE),
        (_TABLE, samples.TABLE),
        (_LIST, samples.LIST),
    ):
        if pattern.search(question) and not _ABOUT_ME.search(question):
            return text
    return None


def _about_user(question: str, known: Known) -> str | None:
    if _NAME.search(question):
        if known.name:
            return f"Your name is **{known.name}**."
        return "You have not told me your name yet. Say “my name is …” and ask again."
    if _ABOUT_ME.search(question):
        if not known.statements:
            return "Nothing yet. Tell me something about yourself, for example where you live or what you like to cook."
        lines = [f"- {statement}" for statement in known.statements[:12]]
        more = len(known.statements) - len(lines)
        return "This is what I have about you:\n\n" + "\n".join(lines) + (f"\n\n… and {more} more." if more > 0 else "")
    if _QUESTION.search(question) and _OWN.search(question):
        found = matching(known.statements, question)
        if found:
            return "From what you told me: " + "; ".join(f"**{_lowered(s)}**" for s in found) + "."
    return None


def _small_talk(question: str, known: Known, first: bool) -> str | None:
    result = solve(question)
    if result and (_QUESTION.search(question) or _SUM.search(question) or len(result[0]) * 2 > len(question)):
        return f"{result[0]} = **{result[1]}**"
    if _SELF.search(question):
        return (
            "I am the offline demonstration: plain rules, no language model. I can greet you, work out sums, remember "
            f"what you tell me within reason, and show how answers look while they are written.\n\n{samples.HELP}"
        )
    if _THANKS.search(question):
        return "You are welcome!"
    if _GREETING.search(question) and len(question) < 40:
        hello = f"Hello, {known.name}!" if known.name else "Hello!"
        if not first:
            return f"{hello} What shall we try next?"
        return (
            f"{hello} I am a demonstration without a language model, so my answers follow simple rules. You could "
            "tell me something about yourself and then ask “what do you know about me?”, or ask for a sum or a story."
        )
    return None


def _echo(question: str, known: Known, first: bool) -> str:
    quoted = "\n".join(f"> {line}" for line in _clipped(question).splitlines())
    if _STATEMENT.search(question) and not _QUESTION.search(question):
        name = f", {known.name}" if known.name else ""
        body = f"Noted{name}. You said:\n\n{quoted}\n\nAsk me about it later, here or in another conversation."
    else:
        related = matching(known.statements, question)
        told = f"\n\nWhat I have that may bear on it: {'; '.join(map(_lowered, related))}." if related else ""
        body = f"You asked:\n\n{quoted}{told}\n\nA language model would answer that; my rules cannot."
    if first:
        body += " (I am the offline demonstration. Ask “how do I connect a model?” to change that.)"
    return body


def _about_point(task: str, messages: Sequence[dict[str, Any]]) -> str:
    """For the task of opening a point: the first of its example questions that has not been asked yet."""
    found = _EXAMPLES.search(task)
    questions = [line[2:].strip() for line in found["lines"].splitlines()] if found else []
    said = "\n".join(text_of(m.get("content")) for m in messages if m.get("role") == "assistant")
    fresh = [question for question in questions if question not in said] or questions
    directive = _DIRECTIVE.search(task)
    title = directive["title"].strip() if directive else "this"
    return f"Let us talk about **{title}**. {fresh[0]}" if fresh else f"What would you like to say about **{title}**?"


def _opening(messages: Sequence[dict[str, Any]]) -> str:
    """For turns that the assistant begins: the first question in the last message that has one, or an open one."""
    for message in reversed(messages):
        for line in text_of(message.get("content")).splitlines():
            text = line.strip().lstrip("-*•0123456789.) ").strip('"“”')
            if text.endswith("?") and 8 < len(text) < 200:
                return f"Let us begin. {text}"
    return "Let us begin. What would you like to tell me first?"


def _clipped(text: str, limit: int = 400) -> str:
    return text if len(text) <= limit else text[:limit].rsplit(maxsplit=1)[0] + " …"


def _lowered(statement: str) -> str:
    return statement[:1].lower() + statement[1:] if statement.startswith(("You", "Your")) else statement
