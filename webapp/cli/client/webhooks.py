"""`commonplace webhooks` and `commonplace events`."""

import json
import time

import click

from webapp.cli.client import output
from webapp.cli.client.config import UNREACHABLE, ClientError
from webapp.cli.client.http import BrokenStream, as_json, server

KINDS = (
    "conversation.started",
    "conversation.deleted",
    "reply.finished",
    "memory.changed",
    "memory.forgotten",
    "journey.summarised",
    "schedule.finished",
    "schedule.failed",
    "schedule.paused",
)
PAUSE, RETRIES = 3.0, 20


@click.group(invoke_without_command=True)
@as_json
@click.pass_context
def webhooks(context: click.Context, as_json: bool) -> None:
    """List the URLs to which events are sent; add, test and remove them."""
    if context.invoked_subcommand is not None:
        return
    listing = server().get("/api/webhooks")
    rows = [
        (row["webhook_id"], "on" if row["is_active"] else f"off: {row['disabled_reason'] or 'by hand'}", row["url"])
        for row in listing["webhooks"]
    ]
    output.table(listing, as_json, ("id", "state", "address"), rows, empty="There are none.")


@webhooks.command()
@click.argument("url")
@click.option("-k", "--kind", "kinds", multiple=True, type=click.Choice(KINDS), help="Only this; may be repeated.")
@click.option("--with-content", is_flag=True, help="Include texts, not only ids.")
@as_json
def add(url: str, kinds: tuple[str, ...], with_content: bool, as_json: bool) -> None:
    """Send what happens to URL. The secret that signs it is shown only this once."""
    body = {"url": url, "kinds": list(kinds or KINDS), "with_content": with_content}
    webhook = server().post("/api/webhooks", body)
    output.show(webhook, as_json, f"{webhook['webhook_id']}\t{webhook['secret']}")


@webhooks.command()
@click.argument("webhook_id", type=click.IntRange(min=1), metavar="ID")
def test(webhook_id: int) -> None:
    """Send a ping."""
    server().post(f"/api/webhooks/{webhook_id}/test")
    output.note("It is on its way.")


@webhooks.command()
@click.argument("webhook_id", type=click.IntRange(min=1), metavar="ID")
def remove(webhook_id: int) -> None:
    """Remove one at once."""
    server().delete(f"/api/webhooks/{webhook_id}")


@click.command()
@click.option("-k", "--kind", "kinds", multiple=True, type=click.Choice(KINDS), help="Only this; may be repeated.")
@click.option("-n", "--count", type=click.IntRange(min=1), help="Stop after this many.")
def events(kinds: tuple[str, ...], count: int | None) -> None:
    """Show what happens as it happens, one JSON object per line."""
    api, after, failures, event_count = server(), "", 0, 0
    path = "/api/events" + (f"?kinds={','.join(kinds)}" if kinds else "")
    while True:
        try:
            headers = {"Last-Event-ID": after} if after else {}
            for name, event_id, data in api.events("GET", path, headers=headers):
                after, failures, event_count = event_id or after, 0, event_count + 1
                click.echo(json.dumps({"type": name, "id": event_id, "data": data}))
                if event_count == count:
                    return
        except (BrokenStream, ClientError) as error:
            failures += 1
            if isinstance(error, ClientError) and (error.exit_code != UNREACHABLE or failures > RETRIES):
                raise
        time.sleep(PAUSE)
