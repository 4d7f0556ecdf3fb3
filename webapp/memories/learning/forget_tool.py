"""The tool `forget`: only what the user names, in the place where they are; anything more is asked about first."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from pydantic import BaseModel, ConfigDict, Field
from sqlalchemy import select

from webapp.conversations.current import said_before
from webapp.conversations.models import Conversation, Message
from webapp.database import db
from webapp.memories.rules.carrying import names_it
from webapp.memories.rules.evidence import find_quote, user_words
from webapp.memories.keeping import forgetting
from webapp.memories.keeping.journal import statement_hash
from webapp.memories.learning.tools import held_conversation, refused
from webapp.memories.models import Memory, MemoryChangeSet, MemoryEvidence

ASKS_FIRST = (
    "Not forgotten yet. Tell the user exactly what would be forgotten and ask. When they say yes, call forget again."
)

# Something irreversible must be asked for by name; for languages not listed there is the memory panel.
_ASKS_TO_FORGET = re.compile(
    r"\b(?:forget|delete|remove|erase|wipe|drop|don['’]?t\s+(?:remember|keep|store)|do\s+not\s+(?:remember|keep|store)|"
    r"vergiss|vergessen|lösche?n?|entferne?n?|oublie[rz]?|efface[rz]?|supprime[rz]?|olvida\w*|borra\w*|elimina\w*|"
    r"dimentica\w*|cancella\w*|esque[cç]\w*|apaga\w*|vergeet|verwijder\w*|забудь\w*|удали\w*)\b|忘|删除|刪除|消して|잊어|지워",
    re.IGNORECASE,
)

_ASSENTS = re.compile(
    r"\b(?:yes|yeah|yep|ok|okay|sure|please do|do it|go ahead|right|ja|oui|s[ií]|sim|claro|да)\b|はい|是|好|네",
    re.IGNORECASE,
)
_DECLINES = re.compile(
    r"\b(?:no|not|don['’]?t|never|keep|wait|nein|nicht|non|pas|nee|niet|não|нет|не)\b|いいえ|不|아니", re.IGNORECASE
)


class Forget(BaseModel):
    """Forget a memory for good. Only when the user's last message asks for it."""

    model_config = ConfigDict(extra="ignore")

    quote: str = Field(min_length=1, max_length=2_000, description="The user's words that ask for it, verbatim")
    memory_id: int | None = Field(None, ge=1, le=2**31 - 1, description="From search_memories")
    content: str | None = Field(None, max_length=500, description="Or the memory as you know it")


def forget(turn: Message, args: Forget) -> dict[str, Any]:
    """Forget a memory for good, when the user asks for it in so many words in the message that is being answered."""
    conversation = held_conversation(turn)
    asked = db.session.get(Message, turn.reply_to_id) if turn.reply_to_id else None
    said = user_words(asked.content) if asked else ""
    offered = asked is not None and _was_offered(turn, args, said)
    if asked is None or not find_quote(args.quote, asked.content) or not (offered or _ASKS_TO_FORGET.search(said)):
        return refused("not_asked", "Forgetting cannot be undone: the user has to ask for it, and you to quote that.")
    chosen = Memory.memory_id == args.memory_id
    if args.memory_id is None:
        chosen = Memory.statement_hash == statement_hash(args.content or "")
    rows = db.session.scalars(select(Memory).where(Memory.user_id == conversation.user_id, chosen)).all()
    if not rows:
        return refused("unknown_memory", "There is no such memory. Find its memory_id with search_memories.")
    ids = [row.memory_id for row in rows]
    if not offered:
        if not any(names_it(said, row.content, row.fact_key, row.fact_value) for row in rows) and not _just_said(
            asked, ids
        ):
            return refused("not_named", "The user did not name this. Ask which memory they mean.")
        if len(ids) > 1 or rows[0].space_id != conversation.space_id or _forgot_already(conversation, turn):
            return {
                "status": "asks_first",
                "detail": ASKS_FIRST,
                "memories": [{"memory_id": row.memory_id, "content": row.content} for row in rows],
            }
    report = forgetting.forget(conversation.user_id, ids, cause="tool", conversation_id=conversation.conversation_id)
    return {"status": "forgotten", "memories": len(report.memory_ids)}


def _was_offered(turn: Message, args: Forget, said: str) -> bool:
    """Whether the reply before asked about exactly this memory, and the user says yes."""
    if not (_ASSENTS.search(said) or _ASKS_TO_FORGET.search(said)) or _DECLINES.search(said):
        return False
    before = db.session.scalar(said_before(turn.conversation_id, turn.message_id, "assistant"))
    outputs = [call.get("output") or {} for call in (before.tool_calls or ())] if before else []
    offered = [item for output in outputs if output.get("status") == "asks_first" for item in output["memories"]]
    return any(args.memory_id == item["memory_id"] or args.content == item["content"] for item in offered)


def _just_said(asked: Message, memory_ids: Sequence[int]) -> bool:
    """Whether all of these rest on what the user said immediately before: "forget that" names them."""
    latest = said_before(asked.conversation_id, asked.message_id, "user").with_only_columns(Message.message_id)
    resting = select(MemoryEvidence.memory_id).where(
        MemoryEvidence.message_id == db.session.scalar(latest), MemoryEvidence.memory_id.in_(memory_ids)
    )
    return set(db.session.scalars(resting)) == set(memory_ids)


def _forgot_already(conversation: Conversation, turn: Message) -> bool:
    """Whether something has already been forgotten in this turn."""
    made = db.session.scalars(
        select(MemoryChangeSet.counts).where(
            MemoryChangeSet.user_id == conversation.user_id,
            MemoryChangeSet.conversation_id == conversation.conversation_id,
            MemoryChangeSet.cause == "tool",
            MemoryChangeSet.created_at >= turn.created_at,
        )
    )
    return any("forgotten" in counts for counts in made)
