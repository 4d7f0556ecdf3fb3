"""The model's tools for memory in the middle of a reply: remember, forget, search. Code decides, as always."""

from collections.abc import Sequence
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field
from sqlalchemy import select

from webapp.conversations.current_messages import previous_messages
from webapp.conversations.models import Conversation, Message
from webapp.db.base import db, get_or_raise
from webapp.memories.models import ForgetProposal, Memory, MemoryChangeSet
from webapp.memories.rules.check import Refusal
from webapp.memories.rules.decide import decide
from webapp.memories.rules.evidence import find_quote
from webapp.memories.rules.operations import MemoryOperation, Unit, one_line
from webapp.memories.rules.policy import for_review
from webapp.memories.rules.state import AddEvidence, Effect, Insert, SourceMessage
from webapp.memories.rules.statements import optional_text
from webapp.memories.schemas import MemoryKind, MemoryQuery
from webapp.memories.search import search_memories
from webapp.memories.store import tombstones, versions, writing
from webapp.memories.store.journal import Journal, statement_hash
from webapp.memories.store.writing import Vectors

MAX_FOUND = 8
RECENT_MESSAGES = 50
CONFIDENCE = 0.9

_REFUSALS = {
    Refusal.SECRET: "This looks like a secret. Secrets are never kept; tell the user so.",
    Refusal.FORGOTTEN: "The user had this forgotten. It is not kept again.",
    Refusal.KNOWN: "This is known already.",
    Refusal.TOO_SLIGHT: "The quote is too short to show this. Quote the whole phrase of the user.",
    Refusal.UNIMPORTANT: "This is not worth keeping.",
}
REVIEW_NOTE = (
    "Not kept yet: a picture, a file or other people's words are in the prompt, so the user decides, under the reply."
)


class Remember(BaseModel):
    """Keep something lasting that the user said of themselves, or asks you to remember. Never secrets."""

    model_config = ConfigDict(json_schema_extra={"required": ["content", "quote"]})

    content: Annotated[str, BeforeValidator(one_line)] = Field(
        min_length=1, max_length=500, description="One short statement in the user's language"
    )
    quote: str = Field("", max_length=2_000, description="The user's words that say it, verbatim")
    memory_type: MemoryKind = "fact"
    fact_key: Annotated[str | None, BeforeValidator(optional_text)] = Field(
        None, max_length=100, description="namespace/attribute, if it has one value"
    )
    fact_value: Annotated[str | None, BeforeValidator(optional_text)] = Field(None, max_length=255)
    importance: Unit = 0.7


class Search(BaseModel):
    """Look for memories about the user by words."""

    query: str = Field(min_length=1, max_length=200)


def remember(
    turn: Message,
    args: Remember,
    vectors: Vectors,
    *,
    is_trusted: bool,
    is_tainted: bool = False,
) -> dict[str, Any]:
    """Keep something that the user said in the turn's conversation, quoted; refused without their words.

    `is_trusted`: the model that replies has passed the exam. `is_tainted`: the turn's prompt contains others' words,
    which may have made the model call this; what it wants kept then waits for the user.
    """
    conversation = lock_conversation(turn)
    if not conversation.makes_memory:
        return refusal_text("read_only", "Memory is only read in this conversation. Nothing is kept.")
    versions.begin_change(conversation.user_id)
    sources = _user_messages(turn)
    # Small models quote the prompt's memories beside the right statement.
    texts = filter(None, (args.quote, args.content))
    places = ((text, s) for text in texts for s in reversed(sources) if find_quote(text, s.content, s.others))
    quote, source = next(places, ("", None))
    if source is None:
        return refusal_text("not_verbatim", "Only what the user said is kept. Quote their words verbatim in `quote`.")
    stones = tombstones.tombstone_set(conversation.user_id)
    (marked,) = tombstones.read_again([source], stones)
    sources = tuple(marked if item is source else item for item in sources)
    operation = MemoryOperation(
        action="add",
        message_number=source.number,
        quote=quote,
        confidence=CONFIDENCE,
        **args.model_dump(exclude={"quote"}),
    )
    state = writing.load_state(
        conversation.user_id,
        conversation.space_id,
        sources,
        [operation],
        writing.find_similar(conversation.user_id, conversation.space_id, vectors),
        embeddings=vectors.by_text,
        context=_replies(turn),
        is_trusted=is_trusted,
        is_tainted=is_tainted,
        is_forgotten=stones.forbids,
    )
    plan = decide([operation], state, origin="tool")
    effects: Sequence[Effect] = plan.effects
    counts = plan.counts
    if is_tainted:
        effects = for_review(effects, origin="tool")
        counts = dict.fromkeys(("added", "in_review"), sum(isinstance(effect, Insert) for effect in effects))
    if not effects:
        reason = next(iter(plan.rejections.values()), Refusal.KNOWN)
        return refusal_text(reason.value, _REFUSALS.get(reason, "This is not kept."))
    journal = Journal(
        conversation.user_id,
        "tool",
        conversation_id=conversation.conversation_id,
        continued=_change_set(conversation.user_id, turn.message_id),
    )
    new_ids = writing.apply_plan(effects, journal, space_id=conversation.space_id, vectors=vectors)
    journal.close(counts).through_message_id = turn.message_id
    return _outcome(effects, new_ids)


def search(turn: Message, args: Search) -> dict[str, Any]:
    """Return the user's memories that contain words of the query, best first."""
    conversation = get_or_raise(Conversation, turn.conversation_id)
    query = MemoryQuery(q=args.query, limit=MAX_FOUND, needs_review=False, space_id=conversation.space_id)
    return {
        "memories": [
            {"memory_id": row.memory_id, "memory_type": row.memory_type, "content": row.content}
            for row, _ in search_memories(conversation.user_id, query).items
            if row.user_id == conversation.user_id  # what is kept with the reply must not outlast what others share
        ]
    }


def lock_conversation(turn: Message) -> Conversation:
    """Return the turn's conversation, locked before the user's memory is: locking in two orders ends in deadlocks."""
    return get_or_raise(Conversation, turn.conversation_id, lock=True, fresh=True)


def _user_messages(turn: Message) -> tuple[SourceMessage, ...]:
    rows = db.session.scalars(previous_messages(turn.conversation_id, turn.message_id, "user", RECENT_MESSAGES)).all()
    return tuple(
        SourceMessage(number, row.message_id, "user", row.content, row.said_at, row.provenance)
        for number, row in enumerate(reversed(rows), 1)
    )


def _replies(turn: Message) -> tuple[str, ...]:
    """Return the latest replies before this one."""
    replies = previous_messages(turn.conversation_id, turn.message_id, "assistant", RECENT_MESSAGES)
    return tuple(db.session.scalars(replies.with_only_columns(Message.content)))


def _change_set(user_id: int, turn_id: int) -> MemoryChangeSet | None:
    """Return the change set of this turn's tools so far, unless the user has undone it."""
    return db.session.scalar(
        select(MemoryChangeSet)
        .where(
            MemoryChangeSet.user_id == user_id,
            MemoryChangeSet.cause == "tool",
            MemoryChangeSet.through_message_id == turn_id,
            MemoryChangeSet.undone_at.is_(None),
        )
        .order_by(MemoryChangeSet.change_set_id.desc())
        .limit(1)
    )


def _outcome(effects: Sequence[Effect], ids: dict[int, int]) -> dict[str, Any]:
    inserted = next((effect for effect in effects if isinstance(effect, Insert)), None)
    if inserted is not None:
        if inserted.needs_review:
            return {"status": "waits_for_review", "memory_id": ids[inserted.ref], "detail": REVIEW_NOTE}
        status = "overruled" if inserted.overruled_by is not None else "remembered"
        return {"status": status, "memory_id": ids[inserted.ref]}
    addition = next((effect for effect in effects if isinstance(effect, AddEvidence)), None)
    return {"status": "known", "memory_id": addition.ref} if addition else {"status": "changed"}


def refusal_text(reason: str, detail: str) -> dict[str, Any]:
    return {"status": "refused", "reason": reason, "detail": detail}


MAX_TARGETS = 20
CONFIRM_NOTE = (
    "Not forgotten yet: the user confirms it with a button under this reply. Tell them what would be forgotten."
)
UNKNOWN_NOTE = (
    "No memory says exactly this. If one of these is meant, call forget with its memory_id; else tell the user."
)


class Forget(BaseModel):
    """Propose to forget a memory for good, when the user asks for it. They confirm it themselves."""

    memory_id: int | None = Field(None, ge=1, le=2**31 - 1, description="From search_memories")
    content: str | None = Field(None, max_length=500, description="Or the memory as you know it")


def forget(turn: Message, args: Forget, vectors: Vectors) -> dict[str, Any]:
    """Propose memories to be forgotten; the user decides below the reply. If none says exactly that, list the nearest.

    `vectors` has that of the content, if there is one.
    """
    conversation = lock_conversation(turn)
    target = Memory.memory_id == args.memory_id
    if args.memory_id is None:
        target = Memory.statement_hash == statement_hash(args.content or "")
    rows = db.session.scalars(
        select(Memory)
        .where(Memory.user_id == conversation.user_id, target)
        .order_by(Memory.memory_id)
        .limit(MAX_TARGETS)
    ).all()
    if not rows:
        return refusal_text("unknown_memory", UNKNOWN_NOTE) | _nearest(turn, conversation, args.content or "", vectors)
    ids = [row.memory_id for row in rows]
    condition = ForgetProposal.message_id == turn.message_id
    proposed_ids = set(
        db.session.scalars(select(ForgetProposal.memory_id).where(condition, ForgetProposal.memory_id.in_(ids)))
    )
    db.session.add_all(
        ForgetProposal(user_id=conversation.user_id, memory_id=memory_id, message_id=turn.message_id)
        for memory_id in ids
        if memory_id not in proposed_ids
    )
    return {
        "status": "asks_first",
        "detail": CONFIRM_NOTE,
        "memories": [{"memory_id": row.memory_id, "content": row.content} for row in rows],
    }


def _nearest(turn: Message, conversation: Conversation, content: str, vectors: Vectors) -> dict[str, Any]:
    """Return the user's memories that are nearest to a content, by its vector, or, while there are none, its words."""
    place, queries = (conversation.user_id, conversation.space_id), list(vectors.by_text.values())
    ids = writing.find_nearest(*place, vectors.model, queries, MAX_FOUND) if vectors.model else {}
    if not ids:
        return search(turn, Search(query=content[:200])) if content else {}
    rows = {row.memory_id: row.content for row in db.session.scalars(select(Memory).where(Memory.memory_id.in_(ids)))}
    return {"memories": [{"memory_id": number, "content": rows[number]} for number in ids if number in rows]}
