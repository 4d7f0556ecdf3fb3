"""Memories on the command line: `flask --app wsgi memories …`."""

import click
from flask.cli import AppGroup
from sqlalchemy import select

from webapp.accounts.service import find_user
from webapp.conversations.models import Conversation
from webapp.db.base import db, write_transaction
from webapp.http.validation import MAX_ID
from webapp.llm.errors import ModelError
from webapp.memories.learning import extraction
from webapp.memories.schemas import MemoryQuery
from webapp.memories.search import view_as_admin
from webapp.memories.store import forgetting, tombstones

memories = AppGroup("memories", help="Memories.")

_email = click.option("--email", required=True, help="The account's email address.")


@memories.command("tombstone-key")
def tombstone_key() -> None:
    """Print the tombstone key derived from SECRET_KEY: set it as TOMBSTONE_KEYS before you change SECRET_KEY."""
    click.echo(tombstones.default_key().hex())


@memories.command("reextract")
@_email
@click.option(
    "--conversation", "only", type=click.IntRange(1, MAX_ID), help="Only this one; all of the user's if left out."
)
def reextract(email: str, only: int | None) -> None:
    """Extract memories again from the start of conversations; duplicates and forgotten memories are not stored."""
    statement = select(Conversation.conversation_id).where(
        Conversation.user_id == _user_id(email), Conversation.deleted_at.is_(None)
    )
    if only is not None:
        statement = statement.where(Conversation.conversation_id == only)
    ids = db.session.scalars(statement.order_by(Conversation.conversation_id)).all()
    db.session.rollback()
    if not ids:
        raise click.ClickException("There is no such conversation." if only else f"{email} has no conversations.")
    failed = 0
    for conversation_id in ids:
        try:
            result = extraction.extract(conversation_id, from_start=True)
        except ModelError as error:
            failed += 1
            click.echo(f"conversation {conversation_id}: {error.detail}", err=True)
            continue
        summary = ", ".join(f"{count} {name.replace('_', ' ')}" for name, count in result.counts.items() if count)
        click.echo(f"conversation {conversation_id}: {summary or 'nothing new'}")
    if failed:
        raise click.ClickException(f"{failed} of {len(ids)} could not be read; run it again later.")


@memories.command("show")
@_email
@click.option("--closed", is_flag=True, help="Memories that are no longer true.")
@click.option("--archived", is_flag=True, help="Archived memories.")
@click.option("--as", "admin", required=True, help="Your own email address (an admin's); the access is recorded.")
def show(email: str, closed: bool, archived: bool, admin: str) -> None:
    """List memories, one per line: id, type, key, content."""
    user_id, admin_id = _user_id(email), _user_id(admin, admin=True)
    query = MemoryQuery(limit=100, is_closed=closed, is_archived=archived)
    while True:
        with write_transaction():
            page = view_as_admin(admin_id, user_id, query)
            lines = [
                "\t".join([str(row.memory_id), row.memory_type, row.fact_key or "-", row.content]) for row in page.items
            ]
        for line in lines:
            click.echo(line)
        if page.next_cursor is None:
            return
        query = query.model_copy(update={"cursor": page.next_cursor})


@memories.command("forget-user")
@_email
@click.confirmation_option(prompt="Forget all memories of this user for good?")
def forget_user(email: str) -> None:
    """Forget everything known about a user; the account and its conversations stay."""
    click.echo(f"{forgetting.forget_all(_user_id(email))} memories forgotten")


def _user_id(email: str, *, admin: bool = False) -> int:
    user = find_user(email)
    if admin and not user.is_admin:
        raise click.ClickException(f"{email} is not an admin.")
    user_id = user.user_id
    db.session.rollback()
    return user_id
