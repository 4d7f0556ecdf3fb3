"""`commonplace import` and `commonplace export`."""

import os
import re
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import click

from webapp.cli.client import output
from webapp.cli.client.config import FAILED, USAGE, ClientError
from webapp.cli.client.http import CHUNK, Server, as_json, in_space, server

POLL_SECONDS = 0.5
_JSON = re.compile(rb"\{|\[\s*[\[{\]]")
PART_KINDS = ("conversations", "memories", "projects")
_ONE = (("ies", "y"), ("s", ""))
MAX_EXPLAINED = 20
FORMATS = {
    "account": ("zip",),
    "conversation": ("markdown", "json", "html", "pdf"),
    "memories": ("text", "json", "mem"),
}


@click.command("import")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, allow_dash=True, path_type=Path))
@click.option("--format", "kind", metavar="NAME", help="What kind of file it is, if it is not recognised.")
@click.option("--take", multiple=True, type=click.Choice(PART_KINDS), help="Only this; may be repeated.")
@click.option("-y", "--yes", is_flag=True, help="Import it without asking.")
@click.option("--dry-run", is_flag=True, help="Show what is in it, and import nothing.")
@in_space
@as_json
def import_file(
    file: Path,
    kind: str | None,
    take: tuple[str, ...],
    yes: bool,
    dry_run: bool,
    space_id: int | None,
    as_json: bool,
) -> None:
    """Import an export from ChatGPT, Claude, Gemini and others, or from Commonplace; - reads standard input.

    You see what is in it first. Memories arrive as proposals for you to review.
    """
    api = server()
    if not (yes or dry_run or (sys.stdin.isatty() and str(file) != "-")):
        raise ClientError(
            "There is no terminal to ask on. Use --yes to import it, or --dry-run to see what is in it.", USAGE
        )
    row = _wait_until_done(api, "imports", _upload(api, file, kind), ("reading",))
    if row["status"] == "failed" or not row["preview"]:
        raise ClientError(row["error"] or "Nothing in this file can be read.", FAILED)
    if not as_json:
        _describe(row)
    try:
        if not (dry_run or yes):
            click.confirm("Take it in?", abort=True, err=True)
    except click.Abort:
        api.post(f"/api/imports/{row['import_id']}/cancel")
        raise
    if dry_run:
        api.post(f"/api/imports/{row['import_id']}/cancel")
    else:
        fields: dict[str, Any] = {"take": list(take or PART_KINDS), **({"space_id": space_id} if space_id else {})}
        api.post(f"/api/imports/{row['import_id']}/start", fields)
        row = _wait_until_done(api, "imports", row, ("ready", "running"))
    if as_json:
        output.dump(row)
    elif not dry_run:
        output.say(f"import {row['import_id']} {row['status']}: {_count_words(row['counts']) or 'nothing new'}")
        if row["counts"].get("problems skipped"):
            _explain(api, row["import_id"])
    if row["status"] == "failed":
        raise ClientError(row["error"] or "The import failed.", FAILED)


@click.command("export")
@click.argument("what", type=click.Choice(tuple(FORMATS)))
@click.argument("conversation_id", required=False, type=click.IntRange(min=1), metavar="[ID]")
@click.option("--format", "kind", type=click.Choice(sorted({name for names in FORMATS.values() for name in names})))
@click.option(
    "-o",
    "--output",
    "target",
    metavar="FILE",
    help="Where to write it; - is standard output. By default its own name, here.",
)
@click.option("--force", is_flag=True, help="Overwrite an existing file.")
@as_json
def export_file(
    what: str,
    conversation_id: int | None,
    kind: str | None,
    target: str | None,
    force: bool,
    as_json: bool,
) -> None:
    """Export your account as a ZIP, a conversation (by its ID), or your memories."""
    if (what == "conversation") != (conversation_id is not None):
        raise ClientError("`export conversation` needs an ID, and nothing else takes one.", USAGE)
    if kind and kind not in FORMATS[what]:
        raise ClientError(f"{what} can be exported as {', '.join(FORMATS[what])}.", USAGE)
    if target == "-" and as_json:
        raise ClientError("Standard output can be the file or JSON, not both.", USAGE)
    api = server()
    body = {"what": what, "format": kind, "conversation_id": conversation_id}
    export = api.post("/api/exports", {name: value for name, value in body.items() if value is not None})
    row = _wait_until_done(api, "exports", export, ("waiting",))
    if row["status"] != "ready":
        raise ClientError(row["error"] or f"The export is {row['status']}.", FAILED)
    path = f"/api/exports/{row['export_id']}/download"
    if target == "-":
        api.download(path, sys.stdout.buffer.write)
        sys.stdout.buffer.flush()
        return
    place = Path(target or Path(row["filename"]).name)
    _fetch(api, path, place / Path(row["filename"]).name if place.is_dir() else place, force)
    output.show({**row, "path": str(place)}, as_json, str(place))


def _fetch(api: Server, path: str, place: Path, force: bool) -> None:
    """Download to a file that only its owner can read; it appears whole or not at all."""
    if place.exists() and not force:
        raise ClientError(f"{place} already exists. Use --force to overwrite it.", USAGE)
    try:
        draft = place.with_name(f".{place.name}.{os.getpid()}.part")
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            try:
                api.download(path, file.write)
            except BaseException:
                draft.unlink()
                raise
        draft.replace(place)
    except OSError as error:
        raise ClientError(f"{place} cannot be written: {error.strerror}", FAILED) from None


def _upload(api: Server, file: Path, kind: str | None) -> Any:
    fields = {"format": kind} if kind else {}
    if str(file) != "-":
        with file.open("rb") as stream:
            return api.upload("/api/imports", file.name, stream, file.stat().st_size, fields)
    with tempfile.TemporaryFile() as copy:
        while piece := sys.stdin.buffer.read(CHUNK):
            copy.write(piece)
        size = copy.tell()
        copy.seek(0)
        beginning = copy.read(512).lstrip()
        copy.seek(0)
        return api.upload("/api/imports", f"stdin.{_extension(beginning)}", copy, size, fields)


def _extension(beginning: bytes) -> str:
    """Return the file extension for piped input, by its first bytes."""
    if beginning.startswith(b"PK"):
        return "zip"
    return "json" if _JSON.match(beginning) else "txt"  # a list of memories may begin with a bracket, too: "[date] …"


def _wait_until_done(api: Server, kind: str, row: dict[str, Any], while_status: tuple[str, ...]) -> dict[str, Any]:
    """Poll while an import or export is being worked on, and show its progress; returns its last state."""
    path = f"/api/{kind}/{row['import_id' if kind == 'imports' else 'export_id']}"
    pause, last_state = 0.1, ""
    while row["status"] in while_status:
        time.sleep(pause)
        pause = min(pause * 1.5, POLL_SECONDS)
        row = api.get(path)
        state = f"{row['status']} {row['position']} of {row['total']}" if row.get("total") else row["status"]
        if sys.stderr.isatty() and state != last_state:
            click.echo(f"\r\x1b[K{state}", err=True, nl=False)
            last_state = state
    if last_state:
        click.echo("\r\x1b[K", err=True, nl=False)
    return row


def _count_words(counts: dict[str, int]) -> str:
    """Counts in words; the first word of each name is a plural."""
    return ", ".join(f"{count:,} {_singular(name) if count == 1 else name}" for name, count in counts.items())


def _singular(name: str) -> str:
    first, _, rest = name.partition(" ")
    kind = next((first.removesuffix(plural) + singular for plural, singular in _ONE if first.endswith(plural)), first)
    return f"{kind} {rest}".strip()


def _explain(api: Server, import_id: int) -> None:
    """Print which parts could not be read, and why."""
    for item in api.get(f"/api/imports/{import_id}/items", outcome="skipped", limit=MAX_EXPLAINED)["items"]:
        if item["kind"] == "problem":
            click.echo(output.one_line(f"  {item['title'] or 'a part'}: {item['reason'] or ''}", 200), err=True)


def _describe(row: dict[str, Any]) -> None:
    preview = row["preview"]
    counts = _count_words(preview["counts"])
    dates = preview.get("dates") or {}
    span = f" from {dates['from'][:10]} to {dates['to'][:10]}" if dates.get("from") and dates.get("to") else ""
    output.say(f"{row['format']}: {counts}{span}")
    for item in preview.get("sample") or []:
        reason = f": {item['reason']}" if item.get("reason") else ""
        output.say(f"  {item['kind']}\t{output.one_line(item['text'] + reason, 120 if reason else 80)}")
