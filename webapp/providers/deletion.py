"""Deletes a connection so that it can be undone for a minute: Redis keeps it that long, its key still encrypted."""

import json
import logging
from contextlib import suppress
from datetime import datetime
from typing import Any

from redis.exceptions import RedisError
from sqlalchemy import delete

from webapp.db.base import after_commit, db, table_of
from webapp.db.columns import Timestamp
from webapp.errors import require
from webapp.extensions import redis
from webapp.providers import service
from webapp.providers.catalogue import catalogue
from webapp.providers.models import ModelConnection, ModelOffer
from webapp.providers.schemas import OfferFields

log = logging.getLogger(__name__)

SECONDS = 60
_COLUMNS = [
    column.name
    for column in table_of(ModelConnection).columns
    if not column.primary_key and not isinstance(column.type, Timestamp)
]


def delete_connection(connection_id: int) -> None:
    """Delete a connection with its models. Raises NotFound."""
    row = service.get_connection(connection_id)
    rows = {
        "row": {name: getattr(row, name) for name in _COLUMNS},
        "tested_at": row.tested_at.isoformat() if row.tested_at else None,
        "offers": [offer.model_dump(mode="json") for offer in service.fields_of_offers(connection_id)],
    }
    db.session.execute(delete(ModelOffer).where(ModelOffer.connection_id == connection_id))
    db.session.execute(delete(ModelConnection).where(ModelConnection.connection_id == connection_id))
    db.session.expire_all()
    after_commit(catalogue.forget)
    try:
        redis().set(_key(connection_id), json.dumps(rows), ex=SECONDS)
    except RedisError as error:
        log.warning("a deleted connection cannot be brought back", extra={"error": type(error).__name__})


def name_of_deleted(connection_id: int) -> str:
    """Return the name of a connection that was deleted less than SECONDS ago; empty for any other."""
    rows = _read_deleted(connection_id)
    return str(rows["row"]["name"]) if rows else ""


def undo_deletion(connection_id: int) -> ModelConnection:
    """Restore a connection under its id, so that conversations find its models again. Raises NotFound."""
    rows = require(_read_deleted(connection_id), "It was deleted more than a minute ago.")
    if (row := db.session.get(ModelConnection, connection_id)) is not None:
        return row  # undone twice
    after_commit(lambda: _forget(connection_id))
    tested_at = datetime.fromisoformat(rows["tested_at"]) if rows["tested_at"] else None
    return service.restore_connection(
        ModelConnection(connection_id=connection_id, tested_at=tested_at, **rows["row"]),
        [OfferFields.model_validate(offer) for offer in rows["offers"]],
    )


def _read_deleted(connection_id: int) -> dict[str, Any] | None:
    try:
        stored = redis().get(_key(connection_id))
    except RedisError:
        return None
    fields: dict[str, Any] | None = json.loads(stored) if isinstance(stored, bytes) else None
    return fields


def _forget(connection_id: int) -> None:
    with suppress(RedisError):  # it ends by itself within a minute
        redis().delete(_key(connection_id))


def _key(connection_id: int) -> str:
    return f"connection:deleted:{connection_id}"
