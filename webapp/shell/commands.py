"""Wires what `flask --app wsgi` runs: the commands of all domains, and migrations."""

from flask import Flask

from webapp.accounts.cli import api_tokens, users
from webapp.admin.cli import backups, doctor
from webapp.db.migrations import init_migrations
from webapp.files.cli import files
from webapp.journeys.cli import journeys, prepare
from webapp.memories.cli import memories
from webapp.retrieval.cli import embeddings
from webapp.transfer.cli import transfer


def register(app: Flask) -> None:
    """Register the commands."""
    init_migrations(app)
    for command in (api_tokens, backups, doctor, embeddings, files, journeys, memories, prepare, transfer, users):
        app.cli.add_command(command)
