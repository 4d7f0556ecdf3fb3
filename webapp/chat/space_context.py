"""What the place of a conversation adds to its prompts: a space's instructions and memories, a legacy's persona."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from webapp.chat.context_types import Fact, Known
from webapp.conversations.models import Conversation
from webapp.database import db
from webapp.legacies.categories import fact_line, heading
from webapp.legacies.facts import facts_for_prompt
from webapp.memories.keeping.versions import PerVersion, current_version
from webapp.memories.known import context_memories, last_change
from webapp.spaces.models import Space
from webapp.spaces.personas import persona_prompt
from webapp.spaces.service import is_member

_kept = PerVersion[tuple[datetime | None, list[Known]]]()
"""When the memory of a user last changed, and what is always known of them: looking it up takes four queries a turn."""


@dataclass(frozen=True, slots=True)
class Place:
    """`opens` takes the place of the active prompt, `label` that of its version; both empty outside a legacy."""

    opens: str = ""
    label: str = ""
    instructions: str = ""
    facts_heading: str = ""
    facts: list[Fact] = field(default_factory=list)
    known: list[Known] = field(default_factory=list)
    has_tools: bool = True


def place_of(
    conversation: Conversation, *, remembers: bool, since: datetime | None = None, version: int | None = None
) -> Place:
    """The place of a conversation as it is now; without memory, only its instructions and who speaks.

    Memories that changed after `since` are in the group NEW. `version` is that of the user's memory, if it was read.
    """
    user_id, space_id = conversation.user_id, conversation.space_id
    space = db.session.get(Space, space_id) if space_id is not None else None
    if space is None or not is_member(user_id, space.space_id):
        return Place(known=_known(user_id, since, version) if remembers else [])
    if space.kind != "legacy":
        known = _looked_up(user_id, space.space_id, since) if remembers else []
        return Place(instructions=space.instructions, known=known)
    facts = facts_for_prompt(user_id, space.space_id) if remembers else []
    return Place(
        opens=persona_prompt(conversation.persona, space.name),
        label=f"persona/{conversation.persona or space.persona or 'default'}"[:100],
        instructions=space.instructions,
        facts_heading=heading(space.name),
        facts=[Fact(fact.memory_id, *fact_line(fact), fact.revision, fact.content, bool(fact.by)) for fact in facts],
        has_tools=False,
    )


def _known(user_id: int, since: datetime | None, version: int | None) -> list[Known]:
    if version is None:
        version = current_version(user_id)
    changed_at, known = _kept.get(
        user_id, version, lambda user_id: (last_change(user_id), _looked_up(user_id, None, None))
    )
    if since is None or changed_at is None or changed_at <= since:
        return known
    return _looked_up(user_id, None, since)


def _looked_up(user_id: int, space_id: int | None, since: datetime | None) -> list[Known]:
    items = context_memories(user_id, space_id, since=since)
    return [Known(item.memory_id, item.content, item.revision, item.group, item.importance, item.by) for item in items]
