"""Connections to model servers, as admins manage them; a deletion can be undone while Redis keeps what was deleted."""

import json
import logging
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from redis.exceptions import RedisError
from sqlalchemy import delete, select

from webapp.accounts.models import UserGroup
from webapp.db.base import add_row, after_commit, db, now, table_of
from webapp.db.columns import Timestamp
from webapp.errors import Conflict, Invalid, require
from webapp.extensions import redis
from webapp.http.paging import read_rows
from webapp.http.validation import Page, PageQuery
from webapp.providers.catalogue import catalogue
from webapp.providers.key_encryption import Secrets, seal, unseal
from webapp.providers.models import ModelConnection, ModelOffer, ModelOfferGroup
from webapp.providers.schemas import ConnectionChanges, NewConnection, OfferFields, OfferOut

log = logging.getLogger(__name__)

MAX_CONNECTIONS = 100


def get_connection(connection_id: int) -> ModelConnection:
    """Return a connection. Raises NotFound."""
    return require(db.session.get(ModelConnection, connection_id), "There is no such connection.")


def offers_of(connection_id: int) -> list[ModelOffer]:
    statement = select(ModelOffer).where(ModelOffer.connection_id == connection_id).order_by(ModelOffer.offer_id)
    return list(db.session.scalars(statement))


def groups_of_offers(connection_id: int) -> dict[int, list[int]]:
    """Return the groups that a connection's models are for, by the offer's id."""
    groups: dict[int, list[int]] = {}
    rows = db.session.execute(
        select(ModelOfferGroup.offer_id, ModelOfferGroup.group_id)
        .join(ModelOffer, ModelOffer.offer_id == ModelOfferGroup.offer_id)
        .where(ModelOffer.connection_id == connection_id)
        .order_by(ModelOfferGroup.offer_id, ModelOfferGroup.group_id)
    )
    for offer_id, group_id in rows:
        groups.setdefault(offer_id, []).append(group_id)
    return groups


def fields_of_offers(connection_id: int) -> list[OfferFields]:
    """Return the models of a connection as they can be set again."""
    groups = groups_of_offers(connection_id)
    rows = (OfferOut.of_row(row, groups.get(row.offer_id, [])) for row in offers_of(connection_id))
    return [OfferFields(**row.model_dump(exclude={"id"})) for row in rows]


def list_connections(query: PageQuery) -> Page[ModelConnection]:
    """Return all connections, oldest first. Raises Invalid for a foreign cursor."""
    key = ModelConnection.connection_id
    return read_rows("connections", query, select(ModelConnection), key, newest_first=False)


def create_connection(fields: NewConnection, result: dict[str, Any] | None = None) -> ModelConnection:
    """Return a new connection with its models and test. Raises Conflict, Invalid for a model named twice."""
    if len(db.session.scalars(select(ModelConnection.connection_id).limit(MAX_CONNECTIONS)).all()) >= MAX_CONNECTIONS:
        raise Conflict("There are already %(most_connections)s connections.", most_connections=MAX_CONNECTIONS)
    row = ModelConnection(
        name=fields.name,
        base_url=fields.base_url,
        secrets=seal(Secrets(fields.api_key, fields.headers)),
        key_set=bool(fields.api_key),
        header_names=sorted(fields.headers),
        is_enabled=fields.is_enabled,
        builtin_tools=fields.builtin_tools,
    )
    add_row(row)
    _take_roles(row, fields)
    _set_offers(row.connection_id, fields.models or [])
    if result is not None:
        row.test_result, row.tested_at = result, now()
    db.session.flush()
    after_commit(catalogue.forget)
    return row


def update_connection(connection_id: int, changes: ConnectionChanges) -> ModelConnection:
    """Change the given fields only; a new URL drops what a test found. Raises NotFound, Invalid."""
    row = get_connection(connection_id)
    moves = changes.base_url is not None and changes.base_url != row.base_url
    secrets = secrets_after(row, changes)
    for name in ("name", "base_url", "is_enabled", "builtin_tools"):
        value: Any = getattr(changes, name)
        if value is not None:
            setattr(row, name, value)
    if moves:
        row.test_result = row.tested_at = None
    row.secrets, row.key_set, row.header_names = seal(secrets), bool(secrets.api_key), sorted(secrets.headers)
    _take_roles(row, changes)
    if changes.models is not None:
        _set_offers(connection_id, changes.models)
    row.updated_at = now()
    db.session.flush()
    after_commit(catalogue.forget)
    return row


def secrets_after(row: ModelConnection, changes: ConnectionChanges) -> Secrets:
    """Return a connection's key and headers after changes. Raises Invalid if it moves without them."""
    moves = changes.base_url is not None and changes.base_url != row.base_url
    for name, is_stored in (("api_key", row.key_set), ("headers", bool(row.header_names))):
        if moves and is_stored and getattr(changes, name) is None:
            raise Invalid.field(name, "must be entered again when the URL changes: a key belongs to one server")
    secrets = unseal(row.secrets)
    return Secrets(
        secrets.api_key if changes.api_key is None else changes.api_key,
        secrets.headers if changes.headers is None else changes.headers,
    )


def note_test(connection_id: int, result: dict[str, Any], base_url: str) -> ModelConnection:
    """Store the test of a connection still at this URL, with former numbers if it found none. Raises NotFound."""
    row = get_connection(connection_id)
    if row.base_url != base_url:
        return row
    before = {name: value for name, value in (row.test_result or {}).items() if name in ("windows", "loaded", "speed")}
    row.test_result, row.tested_at = before | result, now()
    db.session.flush()
    return row


def _take_roles(row: ModelConnection, fields: NewConnection | ConnectionChanges) -> None:
    """Let this connection's models make the vectors and do the background work; none or an empty name ends that."""
    for role in fields.model_fields_set & {"embedding_model", "background_model"}:
        if model := getattr(fields, role):
            for other in db.session.scalars(select(ModelConnection).where(getattr(ModelConnection, role).is_not(None))):
                setattr(other, role, None)
        setattr(row, role, model or None)
        db.session.flush()


def _set_offers(connection_id: int, models: Sequence[OfferFields]) -> None:
    """Set a connection's models; the ids of those that stay do not change, because they derive from names."""
    names = [fields.model for fields in models]
    if len(set(names)) < len(names):
        raise Invalid.field("models", "names a model twice")
    groups = {fields.model: set(fields.group_ids) if fields.audience == "admins" else set() for fields in models}
    group_ids = set().union(*groups.values())
    if group_ids - set(db.session.scalars(select(UserGroup.group_id).where(UserGroup.group_id.in_(group_ids)))):
        raise Invalid.field("models", "names a group that does not exist")
    if any(fields.is_default for fields in models):
        for other in db.session.scalars(select(ModelOffer).where(ModelOffer.is_default)):
            other.is_default = False
    offers = {offer.model: offer for offer in offers_of(connection_id)}
    for name, offer in offers.items():
        if name not in names:
            db.session.delete(offer)
    for fields in models:
        row = offers.get(fields.model) or ModelOffer(connection_id=connection_id, model=fields.model)
        row.label, row.icon = fields.label or fields.model[:100], fields.icon or None
        row.audience, row.context_window = fields.audience, fields.context_window
        row.parameters = fields.parameters.model_dump(exclude_none=True)
        row.input_price, row.output_price = fields.input_price, fields.output_price
        row.is_default, row.fallback_rank = fields.is_default, fields.fallback_rank
        add_row(row)
        db.session.execute(delete(ModelOfferGroup).where(ModelOfferGroup.offer_id == row.offer_id))
        db.session.add_all(ModelOfferGroup(offer_id=row.offer_id, group_id=number) for number in groups[fields.model])
    db.session.flush()


UNDO_SECONDS = 60
_COLUMNS = [
    column.name
    for column in table_of(ModelConnection).columns
    if not column.primary_key and not isinstance(column.type, Timestamp)
]


def delete_connection(connection_id: int) -> None:
    """Delete a connection with its models. Raises NotFound."""
    row = get_connection(connection_id)
    rows = {
        "row": {name: getattr(row, name) for name in _COLUMNS},
        "tested_at": row.tested_at.isoformat() if row.tested_at else None,
        "offers": [offer.model_dump(mode="json") for offer in fields_of_offers(connection_id)],
    }
    db.session.execute(delete(ModelOffer).where(ModelOffer.connection_id == connection_id))
    db.session.execute(delete(ModelConnection).where(ModelConnection.connection_id == connection_id))
    db.session.expire_all()
    after_commit(catalogue.forget)
    try:
        redis().set(_key(connection_id), json.dumps(rows), ex=UNDO_SECONDS)
    except RedisError as error:
        log.warning("a deleted connection cannot be brought back", extra={"error": type(error).__name__})


def name_of_deleted(connection_id: int) -> str:
    """Return the name of a connection that was deleted less than UNDO_SECONDS ago; empty for any other."""
    rows = _read_deleted(connection_id)
    return str(rows["row"]["name"]) if rows else ""


def undo_deletion(connection_id: int) -> ModelConnection:
    """Restore a connection under its id, so that conversations find its models again, without groups that have gone and
    roles that another has taken. Raises NotFound."""
    stored = require(_read_deleted(connection_id), "It was deleted more than a minute ago.")
    if (row := db.session.get(ModelConnection, connection_id)) is not None:
        return row  # undone twice
    after_commit(lambda: redis().delete(_key(connection_id)))
    tested_at = datetime.fromisoformat(stored["tested_at"]) if stored["tested_at"] else None
    row = ModelConnection(connection_id=connection_id, tested_at=tested_at, **stored["row"])
    for role in ("embedding_model", "background_model"):
        if db.session.scalar(select(ModelConnection.connection_id).where(getattr(ModelConnection, role).is_not(None))):
            setattr(row, role, None)
    add_row(row)
    groups = set(db.session.scalars(select(UserGroup.group_id)))
    is_free = db.session.scalar(select(ModelOffer.offer_id).where(ModelOffer.is_default).limit(1)) is None
    offers = [OfferFields.model_validate(offer) for offer in stored["offers"]]
    for offer in offers:
        offer.group_ids = [number for number in offer.group_ids if number in groups]
        offer.is_default = offer.is_default and is_free
    _set_offers(row.connection_id, offers)
    after_commit(catalogue.forget)
    return row


def _read_deleted(connection_id: int) -> dict[str, Any] | None:
    try:
        stored = redis().get(_key(connection_id))
    except RedisError:
        return None
    fields: dict[str, Any] | None = json.loads(stored) if isinstance(stored, bytes) else None
    return fields


def _key(connection_id: int) -> str:
    return f"connection:deleted:{connection_id}"
