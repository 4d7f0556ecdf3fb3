"""Connects the signals of spaces with their consequences for conversations and memories."""

from __future__ import annotations

from flask import Flask

from webapp.legacies.ending import init_ending
from webapp.legacies.moving import init_moving
from webapp.legacies.reach import init_reach
from webapp.legacies.reading import init_legacy_reading
from webapp.spaces.groups import init_group_spaces
from webapp.spaces.versions import init_versions


def init_spaces(app: Flask) -> None:
    """React to what happens to spaces, memberships and the conversations in them."""
    init_versions()
    init_group_spaces()
    init_moving()
    init_ending()
    init_reach()
    init_legacy_reading(app)
