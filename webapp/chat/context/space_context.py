"""Additions of a conversation's place to its prompts: a space's instructions and memories, a legacy's persona."""

from dataclasses import dataclass, field, replace
from datetime import date, datetime

from webapp.chat.context.values import Fact
from webapp.conversations.models import Conversation
from webapp.db.base import db, now
from webapp.legacies.fact_list import fact_line, heading
from webapp.legacies.facts import facts_for_prompt
from webapp.memories.prompt.always_used import context_memories, lasting_memories, new_memories
from webapp.memories.prompt.instructions import standing_instructions
from webapp.memories.schemas import KnownItem
from webapp.memories.store.versions import PerVersion, current_version
from webapp.spaces.models import Space
from webapp.spaces.personas import persona_prompt
from webapp.spaces.service import role_in

MAX_INSTANTS = 16
"""For how many conversations of a user the result is kept."""


@dataclass(slots=True)
class _KnownAtVersion:
    """The memories always known on a day at one version of their memory; `by_instant` sets later changes apart.

    `quiet_since`: the earliest instant after which nothing is known to have changed; None until there is one. `asked`
    is the instant of the last prompt.
    """

    day: date | None = None
    by_instant: dict[datetime, list[KnownItem]] = field(default_factory=dict)
    all_memories: list[KnownItem] | None = None
    quiet_since: datetime | None = None
    asked: datetime | None = None


_per_version = PerVersion[_KnownAtVersion]()


@dataclass(frozen=True, slots=True)
class Place:
    """`opening` replaces the active prompt, `label` the label of its version; both are empty outside a legacy.

    `is_others`: the instructions are those of another person.
    """

    opening: str = ""
    label: str = ""
    instructions: str = ""
    is_others: bool = False
    facts_heading: str = ""
    facts: list[Fact] = field(default_factory=list)
    known: list[KnownItem] = field(default_factory=list)
    standing: list[KnownItem] = field(default_factory=list)
    has_tools: bool = True


@dataclass(frozen=True, slots=True)
class ConversationPlace:
    """The place of a conversation, read before the connection was given back: no row is looked up again."""

    user_id: int
    conversation_id: int
    space_id: int | None
    persona: str | None

    @classmethod
    def of(cls, conversation: Conversation) -> "ConversationPlace":
        return cls(conversation.user_id, conversation.conversation_id, conversation.space_id, conversation.persona)


def place_of(
    conversation: Conversation | ConversationPlace,
    *,
    remembers: bool,
    since: datetime | None = None,
    version: int | None = None,
) -> Place:
    """Return the place of a conversation as it is now; without memory, only its instructions and its persona.

    Memories that changed after `since` are in the group NEW. `version` is that of the user's memory, if already read.
    """
    user_id, space_id = conversation.user_id, conversation.space_id
    space = db.session.get(Space, space_id) if space_id is not None else None
    role = role_in(user_id, space.space_id) if space is not None else None
    if role is None:
        space = None
    is_others = bool(space and space.instructions) and role != "owner"
    if not remembers:
        return replace(_without_memory(conversation, space), is_others=is_others)
    if version is None:
        version = current_version(user_id)
    if space is None and not version:  # nothing was ever remembered
        return Place()
    standing = _standing_memories(conversation, space, version)
    if space is None:
        lookups = _per_version.get(user_id, version, lambda _user_id: _KnownAtVersion())
        lookups.asked = since
        return Place(known=_memories_at(lookups, user_id, since), standing=standing)
    if space.kind != "legacy":
        memories = context_memories(user_id, space.space_id, since=since)
        return Place(instructions=space.instructions, is_others=is_others, known=memories, standing=standing)
    facts = [
        Fact(fact.memory_id, *fact_line(fact), fact.revision, fact.content, bool(fact.author), fact.weight)
        for fact in facts_for_prompt(user_id, space.space_id)
    ]
    return replace(_without_memory(conversation, space), is_others=is_others, facts=facts, standing=standing)


def _without_memory(conversation: Conversation | ConversationPlace, space: Space | None) -> Place:
    """Return the persona, and the space's instructions."""
    if space is None:
        return Place()
    if space.kind != "legacy":
        return Place(instructions=space.instructions)
    return Place(
        opening=persona_prompt(conversation.persona, space.name),
        label=f"persona/{conversation.persona or space.persona or 'default'}"[:100],
        instructions=space.instructions,
        facts_heading=heading(space.name),
        has_tools=False,
    )


def _standing_memories(
    conversation: Conversation | ConversationPlace, space: Space | None, version: int
) -> list[KnownItem]:
    items = standing_instructions(
        conversation.user_id, version, conversation.conversation_id, space.space_id if space else None
    )
    if space is not None and space.kind == "legacy":  # a persona speaks there: what holds everywhere else does not
        items = [item for item in items if item.space_id is not None or item.conversation_id is not None]
    return [KnownItem(item.memory_id, item.content, item.revision, "instruction", item.importance) for item in items]


def read_ahead(user_id: int, version: int) -> None:
    """Read what prompts at this version of a user's memory contain, if this process has made one before: that of a new
    conversation, and the next one of the conversation it made the last one for."""
    before = _per_version.last(user_id)
    if before is None:
        return
    standing_instructions(user_id, version, 0)
    lookups = _per_version.get(user_id, version, lambda _user_id: _KnownAtVersion(asked=before.asked))
    for since in (now(), lookups.asked):
        _memories_at(lookups, user_id, since)


def _memories_at(lookups: _KnownAtVersion, user_id: int, since: datetime | None) -> list[KnownItem]:
    """Return what is always known in personal conversations, read once a day and version for a few instants."""
    if lookups.day != (today := now().date()):  # what held until yesterday is over
        lookups.day, lookups.by_instant, lookups.all_memories = today, {}, None
    if since is not None and (lookups.quiet_since is None or since < lookups.quiet_since):
        if since in lookups.by_instant:
            return lookups.by_instant[since]
        if new := new_memories(user_id, since=since):
            memories = lasting_memories(user_id, until=since) + new
            while len(lookups.by_instant) >= MAX_INSTANTS:
                lookups.by_instant.pop(next(iter(lookups.by_instant)), None)
            lookups.by_instant[since] = memories
            return memories
        lookups.quiet_since = since
    if lookups.all_memories is None:
        lookups.all_memories = lasting_memories(user_id)
    return lookups.all_memories
