"""Wires what `flask --app wsgi` runs: the commands of all domains, and migrations."""

from flask import Flask

from webapp.accounts.cli import register_commands as accounts_commands
from webapp.admin.cli import register_commands as admin_commands
from webapp.db.migrations import init_migrations
from webapp.files.cli import register_commands as files_commands
from webapp.journeys.cli import register_commands as journeys_commands
from webapp.memories.cli import register_commands as memories_commands
from webapp.retrieval.cli import register_commands as retrieval_commands
from webapp.transfer.cli import register_commands as transfer_commands

COMMANDS = (
    accounts_commands,
    admin_commands,
    files_commands,
    journeys_commands,
    memories_commands,
    retrieval_commands,
    transfer_commands,
)


def register(app: Flask) -> None:
    """Register the commands."""
    init_migrations(app)
    for register_commands in COMMANDS:
        register_commands(app)
