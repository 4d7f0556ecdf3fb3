"""Emptying the database between tests, fast: MariaDB does it by a procedure, which it need not parse again."""

from sqlalchemy import Engine, MetaData

from webapp.db.base import expect_writes

KEPT = frozenset({"memory_grades"})
"""Tables filled once for all tests: the scripted model has passed the exam."""


def define_emptying(engine: Engine, metadata: MetaData) -> None:
    """Give a new database its procedure; SQLite has none."""
    if engine.dialect.name == "sqlite":
        return
    each = "".join(f"IF {_exists(name)} THEN DELETE FROM {name}; END IF; " for name in _names(engine, metadata))
    with engine.begin() as connection:
        connection.exec_driver_sql(
            "CREATE PROCEDURE empty_tables() BEGIN"
            " DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN SET SESSION foreign_key_checks = 1; RESIGNAL; END;"
            f" SET SESSION foreign_key_checks = 0; {each} SET SESSION foreign_key_checks = 1; END"
        )


def empty_tables(engine: Engine, metadata: MetaData) -> None:
    """Delete every row of every table but some. Everything goes, so the order of the tables must not matter."""
    expect_writes()  # on SQLite, the work of a turn may still be in the middle of a transaction of its own
    with engine.begin() as connection:
        if engine.dialect.name != "sqlite":
            connection.exec_driver_sql("CALL empty_tables()")
            return
        connection.exec_driver_sql("PRAGMA defer_foreign_keys = ON")  # to the commit, when all is gone
        names = _names(engine, metadata)
        filled = " UNION ALL ".join(f"SELECT '{name}' WHERE {_exists(name)}" for name in names)
        for name in connection.exec_driver_sql(filled).scalars().all():
            connection.exec_driver_sql(f"DELETE FROM {name}")


def _names(engine: Engine, metadata: MetaData) -> list[str]:
    quote = engine.dialect.identifier_preparer.quote
    return [quote(name) for name in metadata.tables if name not in KEPT]


def _exists(name: str) -> str:
    return f"EXISTS (SELECT 1 FROM {name})"
