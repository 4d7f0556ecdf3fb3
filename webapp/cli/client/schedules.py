"""`commonplace schedules`."""

import click

from webapp.cli.client import output
from webapp.cli.client.config import USAGE, ClientError
from webapp.cli.client.http import as_json, server, words

REPEATS = ("daily", "weekdays", "weekly", "monthly")
Number = click.argument("schedule_id", type=click.IntRange(min=1), metavar="ID")


@click.group(invoke_without_command=True)
@as_json
@click.pass_context
def schedules(context: click.Context, as_json: bool) -> None:
    """List the messages that are sent for you at a time; add, pause, resume, run and remove them."""
    if context.invoked_subcommand is not None:
        return
    listing = server().get("/api/schedules?limit=100")
    rows = [
        (
            row["schedule_id"],
            (row["next_at"] or "over") if row["is_active"] else f"paused: {row['paused_why'] or 'by hand'}",
            row["rrule"] or "once",
            row["title"],
        )
        for row in listing["schedules"]
    ]
    output.table(listing, as_json, ("id", "next", "rule", "title"), rows, empty="There are none.")


@schedules.command()
@click.argument("text", nargs=-1)
@click.option("--at", required=True, metavar="TIME", help="The first time, local: 2026-12-06T18:00.")
@click.option("--repeat", type=click.Choice(REPEATS), help="How often; once if left out.")
@click.option("--rrule", metavar="RRULE", help="Repeat by a rule of RFC 5545, hourly at most.")
@click.option("--timezone", metavar="ZONE", help="The time zone of --at; yours if left out.")
@click.option("--conversation", default="new", metavar="PLACE", help="new each time, the same for all, or an ID.")
@click.option("--mail", is_flag=True, help="E-mail you when it has run.")
@as_json
def add(
    text: tuple[str, ...],
    at: str,
    repeat: str | None,
    rrule: str | None,
    timezone: str | None,
    conversation: str,
    mail: bool,
    as_json: bool,
) -> None:
    """Send TEXT at a time. The schedule ends with the token that this command uses."""
    if repeat and rrule:
        raise ClientError("Give --repeat or --rrule, not both.", USAGE)
    body = {
        "prompt": words(text),
        "at": at,
        "repeat": repeat,
        "rrule": rrule,
        "conversation": int(conversation) if conversation.isdecimal() else conversation,
        "sends_mail": mail,
        **({"timezone": timezone} if timezone else {}),
    }
    schedule = server().post("/api/schedules", body)
    output.show(schedule, as_json, f"{schedule['schedule_id']}\t{schedule['next_at']}")


@schedules.command()
@Number
def pause(schedule_id: int) -> None:
    """Send nothing until it is resumed."""
    server().patch(f"/api/schedules/{schedule_id}", {"is_active": False})


@schedules.command()
@Number
def resume(schedule_id: int) -> None:
    """Send the schedule's message again from now on."""
    server().patch(f"/api/schedules/{schedule_id}", {"is_active": True})


@schedules.command()
@Number
def run(schedule_id: int) -> None:
    """Send the schedule's message now, beside its times."""
    server().post(f"/api/schedules/{schedule_id}/run")
    output.note("It is on its way.")


@schedules.command()
@Number
@as_json
def runs(schedule_id: int, as_json: bool) -> None:
    """List the latest times it was due, with the conversation or the reason why there is none."""
    listing = server().get(f"/api/schedules/{schedule_id}/runs")
    rows = [(row["due_at"], row["status"], row["problem"] or row["conversation_id"] or "") for row in listing["runs"]]
    output.table(listing, as_json, ("due", "state", "conversation"), rows, empty="It was not due yet.")


@schedules.command()
@Number
def remove(schedule_id: int) -> None:
    """Delete a schedule; the conversations it began stay."""
    server().delete(f"/api/schedules/{schedule_id}")
