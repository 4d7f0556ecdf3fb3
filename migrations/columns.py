"""What migrations write tables with: a copy of the application's column types as they were, and never imported from it.

The models move on; a migration says for good what a table was. Add here what a new migration needs, change nothing.
"""

from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import mysql
from sqlalchemy.engine import Dialect
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.expression import FunctionElement
from sqlalchemy.types import TypeDecorator, TypeEngine


class Timestamp(TypeDecorator[Any]):
    """A UTC instant with microseconds: TIMESTAMP(6) on MySQL, naive UTC text on SQLite."""

    impl = sa.DateTime
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        """The column type of this database."""
        is_mysql = dialect.name in ("mysql", "mariadb")
        return dialect.type_descriptor(mysql.TIMESTAMP(fsp=6) if is_mysql else sa.DateTime())


class Key(TypeDecorator[str]):
    """A string compared byte by byte: e-mail addresses, hashes, keys."""

    impl = sa.String
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[str]:
        """The column type of this database."""
        length = self.impl_instance.length
        if dialect.name in ("mysql", "mariadb"):
            return dialect.type_descriptor(mysql.VARCHAR(length, charset="utf8mb4", collation="utf8mb4_bin"))
        return dialect.type_descriptor(sa.String(length))


def one_of(*values: str, name: str) -> sa.Enum:
    """An ENUM on MySQL, a checked string on SQLite."""
    return sa.Enum(*values, name=name, create_constraint=True, validate_strings=True)


class current_timestamp(FunctionElement[Any]):
    """The database's clock with the precision of Timestamp, for server defaults."""

    type = sa.DateTime()
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


CURRENT_FACT = "fact_key IS NOT NULL AND valid_to IS NULL AND is_archived = 0 AND needs_review = 0"


class current_slot(sa.ColumnElement[str]):
    """The key of a fact while it is current, else NULL."""

    inherit_cache = True


@compiles(current_slot)
def _current_slot(element: current_slot, compiler: SQLCompiler, **kw: Any) -> str:
    return f"CASE WHEN {CURRENT_FACT} THEN coalesce(category, '') || ':' || fact_key END"


@compiles(current_slot, "mysql")
@compiles(current_slot, "mariadb")
def _current_slot_mysql(element: current_slot, compiler: SQLCompiler, **kw: Any) -> str:
    return f"CASE WHEN {CURRENT_FACT} THEN concat(coalesce(category, ''), ':', fact_key) END"
