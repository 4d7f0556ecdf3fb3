"""Additions of a conversation's place to its prompts: a space's instructions and memories, a legacy's persona."""

from dataclasses import dataclass, field, replace
from datetime import datetime

from webapp.db.base import db
from webapp.legacies.fact_list import KnownFact, heading
from webapp.legacies.facts import facts_for_prompt
from webapp.memories.prompt.always_used import AlwaysUsed, context_memories
from webapp.memories.schemas import KnownItem
from webapp.memories.store.versions import current_version
from webapp.spaces.models import Space
from webapp.spaces.personas import persona_prompt
from webapp.spaces.service import role_in


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
    facts: list[KnownFact] = field(default_factory=list)
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


def place_of(
    spot: ConversationPlace,
    *,
    remembers: bool,
    since: datetime | None = None,
    version: int | None = None,
    always_used: AlwaysUsed | None = None,
) -> Place:
    """Return the place of a conversation as it is now; without memory, only its instructions and its persona.

    Memories that changed after `since` are in the group NEW. `version` is that of the user's memory, if already read;
    `always_used` are taken if they are of this version.
    """
    user_id, space_id = spot.user_id, spot.space_id
    space = db.session.get(Space, space_id) if space_id is not None else None
    role = role_in(user_id, space.space_id) if space is not None else None
    if role is None:
        space = None
    bare = _without_memory(spot, space, is_others=bool(space and space.instructions) and role != "owner")
    if not remembers:
        return bare
    if version is None:
        version = current_version(user_id)
    if space is None and not version:  # nothing was ever remembered
        return bare
    if always_used is None or always_used.version != version:
        always_used = AlwaysUsed.read(user_id, version) if version else AlwaysUsed()
    if space is None:
        return Place(known=always_used.items(since), standing=always_used.instructions(spot.conversation_id))
    # In a legacy a persona speaks: what holds everywhere else does not.
    is_legacy = space.kind == "legacy"
    standing = always_used.instructions(spot.conversation_id, space_id, everywhere=not is_legacy)
    if is_legacy:
        return replace(bare, facts=facts_for_prompt(user_id, space.space_id), standing=standing)
    return replace(bare, known=context_memories(user_id, space.space_id, since=since), standing=standing)


def _without_memory(spot: ConversationPlace, space: Space | None, *, is_others: bool) -> Place:
    """Return the persona, and the space's instructions."""
    if space is None:
        return Place()
    if space.kind != "legacy":
        return Place(instructions=space.instructions, is_others=is_others)
    return Place(
        opening=persona_prompt(spot.persona, space.name),
        label=f"persona/{spot.persona or space.persona or 'default'}"[:100],
        instructions=space.instructions,
        is_others=is_others,
        facts_heading=heading(space.name),
        has_tools=False,
    )
