"""Memories in prompts with `{{MEMORIES}}` and `{{USER_PROFILE}}`."""

from __future__ import annotations

from webapp.accounts.models import User
from webapp.conversations.models import Conversation
from webapp.db.base import get_or_raise
from webapp.memories.prompt.always_used import context_memories
from webapp.memories.prompt.conversation_memory import current_profile, memory_is_on
from webapp.prompts.values import lines_for


@lines_for("MEMORIES")
def memory_lines(conversation: Conversation) -> list[str]:
    """The memories every prompt may contain, those of the profile first; none if memory is off."""
    if not _is_on(conversation):
        return []
    return [
        f"{item.content} (said by {' '.join(item.by.split())})" if item.by else item.content
        for item in context_memories(conversation.user_id, conversation.space_id)
    ]


@lines_for("USER_PROFILE")
def profile_lines(conversation: Conversation) -> list[str]:
    """The profile, one line per field; none if memory is off, or in a space, which has memories of its own."""
    if not _is_on(conversation) or conversation.space_id is not None:
        return []
    return [f"{name.replace('_', ' ')}: {value}" for name, value in current_profile(conversation.user_id).items()]


def _is_on(conversation: Conversation) -> bool:
    return memory_is_on(conversation, get_or_raise(User, conversation.user_id))
