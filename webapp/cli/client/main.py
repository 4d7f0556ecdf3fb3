"""The command and its options."""

import sys
from urllib.parse import urlsplit

import click

from webapp.cli.client import config, output
from webapp.cli.client.chat import chat
from webapp.cli.client.config import USAGE, Access, ClientError
from webapp.cli.client.http import Server
from webapp.cli.client.memory import memories, remember, search
from webapp.cli.client.schedules import schedules
from webapp.cli.client.sync import sync
from webapp.cli.client.transfers import export_file, import_file
from webapp.cli.client.webhooks import events, webhooks

_LOOPBACK = ("localhost", "127.0.0.1", "::1")


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.option(
    "--url", metavar="ADDRESS", help=f"The server; by default ${config.URL}, or the one you are logged in to."
)
@click.pass_context
def commonplace(context: click.Context, url: str | None) -> None:
    """Your conversations and memory from the terminal.

    The token comes from $COMMONPLACE_TOKEN, or from `commonplace login`. Exit codes: 1 refused, 2 wrong usage,
    3 token missing or insufficient, 4 not found, 5 the server cannot be reached.
    """
    context.obj = url


@commonplace.command()
@click.option("--token-stdin", is_flag=True, help="Read the token from standard input.")
@click.pass_context
def login(context: click.Context, token_stdin: bool) -> None:
    """Check a token (Settings, Connected programs) and keep it in a file only you can read."""
    settings = config.read_config()
    default = context.obj or (settings.url if settings else config.DEFAULT_URL)
    url = context.obj or (default if token_stdin else click.prompt("URL", default=default, err=True))
    url = config.clean_url(url)
    if token_stdin:
        token = sys.stdin.readline().strip()
    elif sys.stdin.isatty():
        token = click.prompt("Token", hide_input=True, err=True).strip()
    else:
        raise ClientError("There is no terminal to ask for the token. Pipe it in with --token-stdin.", USAGE)
    if not token:
        raise ClientError("No token was given.", USAGE)
    access = Access(url, token)
    owner = _owner(Server(access))
    config.save(access)
    parts = urlsplit(url)
    if parts.scheme == "http" and parts.hostname not in _LOOPBACK:
        click.echo(
            "Careful: connections to this address are not encrypted; anyone on the way can read the token.", err=True
        )
    output.say(f"Logged in at {url} as {owner}.")


def _owner(server: Server) -> str:
    """Return whose token it is. A token with few scopes is valid, too. Raises ClientError for an unknown one."""
    try:
        return str(server.get("/api/account")["email"])
    except ClientError as error:
        if error.status != 403:
            raise
    return "the owner of this token, which may not read the account"


@commonplace.command()
def logout() -> None:
    """Forget the token on this machine. It stays valid until it is revoked in Settings."""
    output.say("The token is forgotten here." if config.forget() else "There was no token here.")


for command in (chat, search, remember, memories, schedules, sync, import_file, export_file, webhooks, events):
    commonplace.add_command(command)


def main() -> None:
    """Run the command."""
    commonplace(prog_name="commonplace")
