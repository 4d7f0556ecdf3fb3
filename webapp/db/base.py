"""The declarative base, rows, and transactions."""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime
from functools import cache
from typing import Any, TypeVar, TypeVarTuple, cast

from flask import Flask
from flask_sqlalchemy import SQLAlchemy
from sqlalchemy import CursorResult, Executable, Insert, MetaData, Table, event, insert
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.orm import DeclarativeBase, Session, SessionTransaction, make_transient_to_detached
from sqlalchemy.schema import CreateTable
from sqlalchemy.sql.compiler import DDLCompiler
from sqlalchemy.sql.expression import ColumnElement
from sqlalchemy.sql.selectable import TypedReturnsRows

from webapp.errors import require

log = logging.getLogger(__name__)


class Base(DeclarativeBase):
    """Names every constraint, so that a migration can drop what it made, on MySQL and SQLite alike."""

    metadata = MetaData(
        naming_convention={
            "ix": "ix_%(table_name)s_%(column_0_N_name)s",
            "uq": "uq_%(table_name)s_%(column_0_N_name)s",
            "ck": "ck_%(table_name)s_%(constraint_name)s",
            "fk": "fk_%(table_name)s_%(column_0_name)s",
            "pk": "pk_%(table_name)s",
        }
    )
    __table_args__: Any = ()

    def __init_subclass__(cls, **options: Any) -> None:
        """Give every table MySQL's options, beside what its model says."""
        cls.__table_args__ = (*cls.__table_args__, {"mysql_charset": "utf8mb4", "mysql_engine": "InnoDB"})
        super().__init_subclass__(**options)


db = SQLAlchemy(model_class=Base, disable_autonaming=True)


@compiles(CreateTable, "sqlite")
def _never_reuse_ids(create: CreateTable, compiler: DDLCompiler, **kw: Any) -> str:
    # Without AUTOINCREMENT SQLite gives the id of a deleted row to the next one, and what is stored elsewhere under
    # that id (the stream of a turn in Redis, a queued job, a cached vector) would become somebody else's.
    table = create.element
    if len(table.primary_key.columns) == 1:
        table.dialect_options["sqlite"]["autoincrement"] = True
    return str(compiler.visit_create_table(create, **kw))  # type: ignore[no-untyped-call]  # SQLAlchemy's


Row = TypeVar("Row", bound=Base)
Ts = TypeVarTuple("Ts")


def get_or_raise(model: type[Row], key: Any, *, lock: bool = False, fresh: bool = False) -> Row:
    """Return the row of a primary key: `lock` selects it FOR UPDATE, `fresh` reads it again. Raises NotFound."""
    row = db.session.get(model, key, with_for_update=lock or None, populate_existing=fresh)
    return require(row, "It has been deleted in the meantime.")


def own_row(model: type[Row], user_id: int, key: int, *, lock: bool = False) -> Row | None:
    """Return a user's row by its key; `lock` selects it FOR UPDATE. None if there is none, or it is another's."""
    (column,) = model.__mapper__.primary_key
    statement = db.select(model).filter_by(user_id=user_id).where(column == key)
    row: Row | None = db.session.scalar(statement.with_for_update() if lock else statement)
    return row


def add_row(row: Row) -> Row:
    """Send a new row to the database at once, which gives it its id."""
    db.session.add(row)
    db.session.flush()
    return row


def insert_row(model: type[Row], /, **values: Any) -> Row:
    """Insert a row of a model without listeners, whose defaults are all Python's; return it as if it had been read."""
    # An object that is made, added and flushed takes four times the code.
    statement, names = _insertion(model)
    result: Any = db.session.connection().execute(statement, {names[key]: values[key] for key in values})
    stored = {**result.last_inserted_params(), **result.inserted_primary_key._mapping}
    row = model()
    row.__dict__.update({key: stored.get(name) for key, name in names.items()})
    make_transient_to_detached(row)
    key = model.__mapper__.identity_key_from_instance(row)
    if undone := db.session.identity_map.get(key):  # SQLite gives an id again that was rolled back
        db.session.expunge(undone)
    db.session.add(row)
    return row


@cache
def _insertion(model: type[Base]) -> tuple[Insert, dict[str, str]]:
    return insert(table_of(model)), {key: column.name for key, column in model.__mapper__.columns.items()}


def delete_row(row: Base) -> None:
    """Delete a row in the database at once."""
    db.session.delete(row)
    db.session.flush()


def read_columns(statement: TypedReturnsRows[*Ts], parameters: dict[str, Any] | None = None) -> CursorResult[*Ts]:
    """Return what a statement selects that names columns: the ORM would take as long again, and flush before."""
    return db.session.connection().execute(statement, parameters)


def rows_changed(statement: Executable, parameters: dict[str, Any] | None = None) -> int:
    """Execute an UPDATE or DELETE; returns the number of rows it matched."""
    return cast("CursorResult[Any]", db.session.execute(statement, parameters)).rowcount


def count_rows(*conditions: ColumnElement[bool]) -> int:
    """Return how many rows of the table that the conditions are about meet them."""
    return db.session.scalar(db.select(db.func.count()).where(*conditions)) or 0


def table_of(model: type[Base]) -> Table:
    """Return the table of a model, for statements that bypass the ORM."""
    return cast(Table, model.__table__)


def now() -> datetime:
    """Return the current instant, aware, in UTC."""
    return datetime.now(UTC)


# SQLite has one writer. A transaction that will write declares it at its start (BEGIN IMMEDIATE) and waits its turn;
# one that reads first and writes later fails at once if another writer comes in between.
writing: ContextVar[bool] = ContextVar("writing", default=False)


def expect_writes(is_expected: bool = True) -> None:
    """Declare whether transactions begun in this context from now on will write."""
    writing.set(is_expected)


@contextmanager
def write_transaction() -> Iterator[None]:
    """Commit on success, roll back on error; whatever was open before is rolled back first."""
    db.session.rollback()
    token = writing.set(True)
    try:
        yield
        db.session.commit()
    except BaseException:
        db.session.rollback()
        raise
    finally:
        writing.reset(token)


@contextmanager
def reads_only() -> Iterator[None]:
    """Make transactions inside read-only, except those of `write_transaction`; on SQLite they then block nobody."""
    db.session.rollback()
    token = writing.set(False)
    try:
        yield
    finally:
        if db.session().in_transaction():  # otherwise the state of the last commit would be read again
            db.session.rollback()
        writing.reset(token)


_ACTIONS, _DUE, _MARKS = "after_commit", "after_commit_due", "after_commit_marks"


def after_commit(action: Callable[[], object]) -> None:
    """Call `action` after the current transaction is committed, in order, unless rolled back; its errors are logged."""
    db.session.info.setdefault(_ACTIONS, []).append(action)


def pending_actions(session: Session) -> list[Callable[[], object]]:
    """Return the actions waiting for the session's commit."""
    return list(session.info.get(_ACTIONS, ()))


@event.listens_for(db.session, "after_commit")
def _on_commit(session: Session) -> None:
    if session.in_nested_transaction():  # a released SAVEPOINT is not a commit
        return
    session.info.pop(_MARKS, None)
    session.info[_DUE] = session.info.pop(_ACTIONS, ())


@event.listens_for(db.session, "after_transaction_end")
def _on_end(session: Session, transaction: SessionTransaction) -> None:
    """Run what is due, now that the connection has been returned: some of it calls remote servers."""
    if transaction.parent is not None:
        return
    for action in session.info.pop(_DUE, ()):
        try:
            action()
        except Exception:
            log.exception("an action after a commit failed")


@event.listens_for(db.session, "after_transaction_create")
def _on_begin(session: Session, transaction: SessionTransaction) -> None:
    if transaction.nested:
        session.info.setdefault(_MARKS, {})[transaction] = len(session.info.get(_ACTIONS, ()))


@event.listens_for(db.session, "after_rollback")
def _on_rollback(session: Session) -> None:
    """Discard actions registered since the beginning of the transaction or SAVEPOINT."""
    savepoint = session.get_nested_transaction()
    before = session.info.get(_MARKS, {}).pop(savepoint, 0)
    del session.info.get(_ACTIONS, [])[before:]
    if savepoint is None:
        session.info.pop(_MARKS, None)


def init_sessions(app: Flask) -> None:
    """Return each request's session, whatever state its connection is in: the next request gets a new one."""

    @app.teardown_appcontext
    def _close_session(_error: BaseException | None) -> None:
        try:
            db.session.remove()
        except Exception as error:  # the connection died before it could be rolled back
            log.warning("a session could not be closed", extra={"error": type(error).__name__})
            try:
                db.session().invalidate()
            except Exception:
                log.exception("a session could not be dropped")
            db.session.registry.clear()
