"""`flask embeddings`: which vectors exist, and rebuilding them after the model has changed."""

import click
from flask.cli import AppGroup
from sqlalchemy import func, select

from webapp.background.queues import enqueue
from webapp.db.base import db, write_transaction
from webapp.llm.errors import ModelError
from webapp.memories.models import Memory
from webapp.providers.clients import embedder
from webapp.retrieval import stored_vectors, vector_jobs
from webapp.retrieval.models import ConversationChunk, MessageEmbedding
from webapp.spaces.models import DocumentChunk

embeddings = AppGroup("embeddings", help="Vectors for search.")


@embeddings.command("status")
def status() -> None:
    """Show how many vectors there are, by kind and model."""
    click.echo(f"model: {embedder().model}")
    for kind, models in counts().items():
        for model, count in sorted(models.items()):
            click.echo(f"{kind}\t{model or 'none yet'}\t{count}")


@embeddings.command("rebuild")
@click.option("--now", "at_once", is_flag=True, help="Rebuild in this process instead of queueing it for the workers.")
def rebuild(at_once: bool) -> None:
    """Rebuild all vectors with the current model; search uses the old ones until they are replaced."""
    with write_transaction():
        stored_vectors.request_all_vectors()
    users = stored_vectors.users_awaiting_vectors()
    if not at_once:
        for user_id in users:
            enqueue("index", user_id=user_id)
        click.echo(f"queued for {len(users)} users")
        return
    count = 0
    try:
        for user_id in users:
            while True:
                result = vector_jobs.index_user(user_id)
                count += result.total
                if not result.has_more:
                    break
    except ModelError as error:
        raise click.ClickException(f"{error.detail} {count} vectors were made; the rest will follow.") from None
    click.echo(f"{count} vectors by {embedder().model}")


def counts() -> dict[str, dict[str, int]]:
    """Return the number of vectors, by kind and model; "" counts rows without one."""
    totals: dict[str, dict[str, int]] = {}
    for kind, column in (
        ("memories", Memory.embedding_model),
        ("chunks", ConversationChunk.embedding_model),
        ("messages", MessageEmbedding.model),
        ("documents", DocumentChunk.embedding_model),
    ):
        rows = db.session.execute(select(column, func.count()).group_by(column))
        totals[kind] = {model or "": count for model, count in rows}
    return totals
