"""Accounts and tokens on the command line: `flask --app wsgi user …` and `flask --app wsgi token …`."""

import click
from flask.cli import AppGroup
from sqlalchemy import select

from webapp.accounts import deletion, second_factor, service, tokens
from webapp.accounts.models import User
from webapp.accounts.schemas import MAX_TOKEN_DAYS, NewToken, Registration, UserChanges
from webapp.accounts.scopes import SCOPES, Scope
from webapp.accounts.site import setup_token
from webapp.db.base import db, write_transaction
from webapp.http.validation import MAX_ID

users = AppGroup("user", help="Accounts.")
api_tokens = AppGroup("token", help="API tokens.")

email_option = click.option("--email", required=True, help="The account's email address.")


@users.command("create")
@email_option
@click.option("--password", prompt=True, hide_input=True, confirmation_prompt=True)
@click.option("--name", default="", help="The name shown to others.")
@click.option("--admin", is_flag=True, help="Give admin rights; the first account gets them anyway.")
def create_user(email: str, password: str, name: str, admin: bool) -> None:
    """Create an account, even while registration is closed."""
    with write_transaction():
        user = service.create_user(Registration(email=email, password=password, name=name), is_admin=admin)
        line = f"{user.email} is user {user.user_id}" + (", an admin" if user.is_admin else "")
    click.echo(line)


@users.command("setup-token")
def show_setup_token() -> None:
    """Print the token needed to create the first account while other machines can reach the site."""
    click.echo(setup_token())


@users.command("list")
def list_users() -> None:
    """List accounts, one per line: id, email, flags."""
    for user in db.session.scalars(select(User).order_by(User.user_id)):
        marks = [*(["admin"] if user.is_admin else []), *([] if user.is_active else ["stopped"])]
        click.echo("\t".join([str(user.user_id), user.email, ", ".join(marks)]).rstrip())


@users.command("set-admin")
@email_option
@click.option("--off", is_flag=True, help="Take admin rights away.")
def set_admin(email: str, off: bool) -> None:
    """Give or take admin rights."""
    _update(email, UserChanges(is_admin=not off), "no longer an admin" if off else "an admin")


@users.command("set-active")
@email_option
@click.option("--off", is_flag=True, help="Deactivate: sessions and tokens stop working at once.")
def set_active(email: str, off: bool) -> None:
    """Deactivate or reactivate an account."""
    _update(email, UserChanges(is_active=not off), "stopped" if off else "active")


@users.command("reset-password")
@email_option
@click.option("--password", prompt=True, hide_input=True, confirmation_prompt=True)
def reset_password(email: str, password: str) -> None:
    """Set a new password; the user is signed out everywhere."""
    with write_transaction():
        user = service.reset_password(service.find_user(email).user_id, password)
        line = f"{user.email} has a new password"
    click.echo(line)


@users.command("reset-two-step")
@email_option
def reset_two_step(email: str) -> None:
    """Turn off two-step sign-in for someone who has lost their phone and recovery codes."""
    with write_transaction():
        user = service.find_user(email)
        second_factor.disable(user.user_id)
        line = f"{user.email} signs in with the password alone"
    click.echo(line)


@users.command("delete")
@email_option
@click.confirmation_option(prompt="Delete the account and everything that is theirs?")
def delete_user(email: str) -> None:
    """Delete an account and everything in it, permanently."""
    with write_transaction():
        deletion.delete_now(service.find_user(email).user_id)


@api_tokens.command("create")
@email_option
@click.option("--service", "is_service", is_flag=True, help="For /api/internal, /api/tasks and /metrics.")
@click.option("--name", default="command line", help="What the token is for.")
@click.option("--days", type=click.IntRange(1, MAX_TOKEN_DAYS), help="Days until it expires; never if left out.")
@click.option(
    "--scope", "chosen", multiple=True, type=click.Choice(SCOPES), help="What it may do, repeatable. All if left out."
)
def create_token(email: str, is_service: bool, name: str, days: int | None, chosen: tuple[Scope, ...]) -> None:
    """Create a token and print it once, alone on its line."""
    with write_transaction():
        user = service.find_user(email)
        token_fields = NewToken(name=name, expires_in_days=days, scopes=list(chosen) or None)
        _, secret = tokens.create_token(user.user_id, token_fields, is_service=is_service)
    click.echo(secret)


@api_tokens.command("list")
@email_option
def list_tokens(email: str) -> None:
    """List usable tokens, one per line: id, prefix, name, kind, last use."""
    for row in tokens.list_tokens(service.find_user(email).user_id):
        last_use = row.last_used_at.isoformat(timespec="minutes") if row.last_used_at else "never used"
        kind = "service" if row.is_service else "user"
        click.echo("\t".join([str(row.token_id), f"{row.prefix}…", row.name, kind, last_use]))


@api_tokens.command("revoke")
@email_option
@click.argument("token_id", type=click.IntRange(1, MAX_ID))
def revoke_token(email: str, token_id: int) -> None:
    """Revoke a token."""
    with write_transaction():
        tokens.revoke_token(service.find_user(email).user_id, token_id)


def _update(email: str, changes: UserChanges, action: str) -> None:
    with write_transaction():
        user = service.update_user(service.find_user(email).user_id, changes)
        line = f"{user.email} is {action}"
    click.echo(line)
