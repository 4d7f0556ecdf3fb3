"""Columns and their types, alike on MySQL, MariaDB and SQLite."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, cast

from sqlalchemy import DateTime, Dialect, Enum, ForeignKey, String, Text
from sqlalchemy.dialects import mysql
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.orm import MappedColumn, mapped_column
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.expression import FunctionElement
from sqlalchemy.types import TypeDecorator, TypeEngine

from webapp.db.base import now

LONG_TEXT = Text().with_variant(mysql.MEDIUMTEXT(), "mysql", "mariadb")
"""A text of more than the 65,535 bytes that TEXT holds on MySQL and MariaDB."""


class Timestamp(TypeDecorator[datetime]):
    """A UTC instant with microseconds: TIMESTAMP(6) on MySQL, naive UTC text on SQLite, aware in Python."""

    impl = DateTime().with_variant(mysql.TIMESTAMP(fsp=6), "mysql", "mariadb")
    cache_ok = True

    @property
    def python_type(self) -> type[datetime]:
        return datetime

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        return None if value is None else value.astimezone(UTC).replace(tzinfo=None)

    def result_processor(self, dialect: Dialect, coltype: object) -> Callable[[Any], datetime | None]:
        # Not `process_result_value`, one more call for each of the hundreds of values that a reply reads.
        read: Callable[[Any], Any] = self.impl_instance.result_processor(dialect, coltype) or (lambda value: value)
        return lambda value: None if value is None else read(value).replace(tzinfo=UTC)


class Key(TypeDecorator[str]):
    """A string compared byte by byte: e-mail addresses, hashes, keys. In MySQL's default collations '🎉' = '👍'."""

    impl = String
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[str]:
        length = cast(String, self.impl_instance).length
        if dialect.name in ("mysql", "mariadb"):
            return dialect.type_descriptor(mysql.VARCHAR(length, charset="utf8mb4", collation="utf8mb4_bin"))
        return dialect.type_descriptor(String(length))


def set_at(**options: Any) -> MappedColumn[Any]:
    """Return a column for a moment that is the present one if nothing else is said, here or in SQL."""
    return mapped_column(Timestamp, default=now, server_default=current_timestamp(), **options)


def belongs_to(key: str, **options: Any) -> MappedColumn[Any]:
    """Return a column for the key of the row that this one is deleted with."""
    return mapped_column(ForeignKey(key, ondelete="CASCADE"), **options)


def refers_to(key: str, **options: Any) -> MappedColumn[Any]:
    """Return a column for the key of another row, emptied when that is deleted."""
    return mapped_column(ForeignKey(key, ondelete="SET NULL"), **options)


def one_of(*values: str, name: str) -> Enum:
    """Return an ENUM on MySQL, a checked string on SQLite."""
    return Enum(*values, name=name, create_constraint=True, validate_strings=True)


class current_timestamp(FunctionElement[Any]):
    """The database's clock with the precision of Timestamp, for server defaults."""

    type = DateTime()
    inherit_cache = True

    def __init__(self, on_update: bool = False) -> None:
        super().__init__()
        self.on_update = on_update


@compiles(current_timestamp)
def _current_timestamp(element: current_timestamp, compiler: SQLCompiler, **kw: Any) -> str:
    return "CURRENT_TIMESTAMP"


@compiles(current_timestamp, "mysql")
@compiles(current_timestamp, "mariadb")
def _current_timestamp_mysql(element: current_timestamp, compiler: SQLCompiler, **kw: Any) -> str:
    return "CURRENT_TIMESTAMP(6) ON UPDATE CURRENT_TIMESTAMP(6)" if element.on_update else "CURRENT_TIMESTAMP(6)"
