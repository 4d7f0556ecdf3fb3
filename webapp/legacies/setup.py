"""Connects the signals of spaces with their consequences for conversations and memories."""

from flask import Flask

from webapp.legacies.conversation_moves import init_conversation_moves
from webapp.legacies.extraction import init_legacy_extraction
from webapp.legacies.membership_end import init_membership_end
from webapp.legacies.visibility import init_reach
from webapp.spaces.members import init_group_spaces
from webapp.spaces.signals import init_versions


def init_spaces(app: Flask) -> None:
    """React to what happens to spaces, memberships and the conversations in them."""
    init_versions()
    init_group_spaces()
    init_conversation_moves()
    init_membership_end()
    init_reach()
    init_legacy_extraction(app)
