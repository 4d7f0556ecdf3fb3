"""The switches of memory: for the account and for one conversation."""

from dataclasses import dataclass

from webapp.accounts.schemas import AccountChanges, SettingsChanges
from webapp.accounts.service import update_account, user_settings
from webapp.conversations.models import Conversation
from webapp.conversations.service import get_conversation
from webapp.db.base import db
from webapp.memories.prompt.conversation_memory import in_legacy


@dataclass(frozen=True, slots=True)
class Switches:
    """Memory of the account, and of one conversation if there is one."""

    everywhere: bool
    here: bool = True
    is_temporary: bool = False
    in_legacy: bool = False

    @property
    def is_on(self) -> bool:
        """Return whether memory is read and made in this place."""
        return self.everywhere and self.here and not self.is_temporary


def switches(user_id: int, conversation: Conversation | None) -> Switches:
    is_enabled = user_settings(user_id).memory_enabled
    if conversation is None:
        return Switches(is_enabled)
    return Switches(is_enabled, conversation.uses_memory, conversation.is_temporary, in_legacy(conversation))


def switch_memory(user_id: int, is_on: bool) -> None:
    """Read and make memories everywhere, or nowhere; existing ones stay."""
    update_account(user_id, AccountChanges(settings=SettingsChanges(memory_enabled=is_on)))


def switch_conversation(user_id: int, conversation_id: int, is_on: bool) -> Conversation:
    """Read and make memories in a conversation, or not. Raises NotFound."""
    conversation = get_conversation(user_id, conversation_id, lock=True)
    conversation.uses_memory = is_on
    db.session.flush()
    return conversation
