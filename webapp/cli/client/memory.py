"""`commonplace search`, `remember` and `memories`."""

import sys
from itertools import islice
from typing import Any

import click

from webapp.cli.client import output
from webapp.cli.client.config import USAGE, ClientError
from webapp.cli.client.http import as_json, in_space, read_piped_input, server, words

PASSAGES = ("memory", "message", "chunk", "document")
EXCERPT_WIDTH = 100
"""Characters of an excerpt in a list."""
PAGE = 100


@click.command()
@click.argument("query", nargs=-1, required=True)
@click.option("-k", "--kind", "kinds", multiple=True, type=click.Choice(PASSAGES), help="Only this; may be repeated.")
@click.option("-n", "--limit", type=click.IntRange(1, 100), default=10, show_default=True)
@in_space
@as_json
def search(
    query: tuple[str, ...],
    kinds: tuple[str, ...],
    limit: int,
    space_id: int | None,
    as_json: bool,
) -> None:
    """Search memories, messages, summaries and documents by words and meaning."""
    api = server()
    kind_list = ",".join(kinds) or None
    hits = api.get("/api/search", q=words(query), kinds=kind_list, limit=limit, space_id=space_id)
    if not as_json and not hits["indexed"]:
        output.note("The index is still being built: there may be more in a moment.")
    rows = [
        (
            hit["kind"],
            hit["created_at"][:10],
            output.one_line(hit["excerpt"], EXCERPT_WIDTH * 2 if sys.stdout.isatty() else 0),
            f"{api.url}/c/{hit['conversation_id']}" if hit["conversation_id"] else "",
        )
        for hit in hits["results"]
    ]
    output.table(hits, as_json, ("what", "when", "found", "where"), rows, empty="Nothing was found.")


@click.command()
@click.argument("text", nargs=-1)
@click.option("-k", "--kind", default="fact", show_default=True, help="Or preference, project, decision …")
@click.option("--pin", is_flag=True, help="Always known to the assistant.")
@in_space
@as_json
def remember(text: tuple[str, ...], kind: str, pin: bool, space_id: int | None, as_json: bool) -> None:
    """Remember TEXT. From a pipe, every line becomes a memory."""
    statements = (
        [words(text)] if words(text) else [line.strip() for line in read_piped_input().splitlines() if line.strip()]
    )
    if not statements:
        raise ClientError("There is nothing to remember.", USAGE)
    api = server()
    for statement in statements:
        body: dict[str, Any] = {"memory_type": kind, "content": statement, "is_pinned": pin}
        memory = api.post("/api/memories", {**body, **({"space_id": space_id} if space_id else {})})
        output.show(memory, as_json, f"{memory['memory_id']}\t{output.one_line(memory['content'])}")


@click.group(invoke_without_command=True)
@click.option("-q", "--query", help="Only those related to these words, best first.")
@click.option("-k", "--kind", help="Only fact, preference, project …")
@click.option("--review", is_flag=True, help="Only those waiting for your review.")
@click.option("-n", "--limit", type=click.IntRange(min=1), default=20, show_default=True)
@click.option("-a", "--all", "everything", is_flag=True, help="List all of them.")
@in_space
@as_json
@click.pass_context
def memories(
    context: click.Context,
    query: str | None,
    kind: str | None,
    review: bool,
    limit: int,
    everything: bool,
    space_id: int | None,
    as_json: bool,
) -> None:
    """List your memories, last changed first, marking those that are pinned or waiting for your review.

    `memories forget ID` forgets one."""
    if context.invoked_subcommand is not None:
        return
    most = None if everything else limit
    parameters = {"q": query, "memory_type": kind, "space_id": space_id, "needs_review": "true" if review else None}
    found = server().rows("/api/memories", "memories", **parameters, limit=min(most or PAGE, PAGE))
    rows = list(islice(found, most))
    lines = [(row["memory_id"], row["memory_type"], row["updated_at"][:10], row["content"], _mark(row)) for row in rows]
    columns = ("id", "kind", "changed", "memory", "")
    output.table({"memories": rows}, as_json, columns, lines, empty="There are no such memories.")


def _mark(row: dict[str, Any]) -> str:
    """Return a memory's state at a glance; one that is waiting for review is not used yet."""
    return "to review" if row["needs_review"] else "pinned" if row["is_pinned"] else ""


@memories.command()
@click.argument("memory_ids", metavar="ID...", nargs=-1, required=True, type=click.IntRange(min=1))
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
@as_json
def forget(memory_ids: tuple[int, ...], yes: bool, as_json: bool) -> None:
    """Forget memories for good; they will not be learned again."""
    api = server()
    for memory_id in memory_ids:
        row = api.get(f"/api/memories/{memory_id}")
        if not yes:
            if not sys.stdin.isatty():
                raise ClientError("There is no terminal to ask on. Use --yes to forget without asking.", USAGE)
            click.confirm(f"Forget for good: {output.one_line(row['content'])}?", abort=True, err=True)
        report = api.delete(f"/api/memories/{memory_id}")
        output.show(report, as_json, f"{memory_id}\tforgotten")
        if not as_json and (use_count := report["used_in_count"]):
            output.say(f"{memory_id}\tmay be said in other words in replies that used it: {use_count}")
