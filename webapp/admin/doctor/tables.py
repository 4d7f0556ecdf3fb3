"""A check that the tables are as this version expects them: an interrupted upgrade may have left something out."""

from collections.abc import Iterator

from sqlalchemy import Index, Inspector, inspect
from sqlalchemy.schema import CreateIndex

from webapp.admin.doctor.findings import Finding, fault, ok, warning
from webapp.db.base import db
from webapp.db.migrations import refuse_weak_cascades
from webapp.readiness import readiness

MAX_NAMED = 5


def tables() -> Iterator[Finding]:
    """Missing tables, columns and indexes; for an index, the statement that creates it."""
    if readiness().get("migrations") != "ok":
        return  # `servers` has said so, and something is certain to be missing
    inspector = inspect(db.session.connection())
    if missing := list(_columns(inspector)):
        advice = "Restore the backup from before the upgrade, and upgrade again."
        yield fault("tables", f"missing: {', '.join(missing[:MAX_NAMED])}", advice)
        return
    try:
        refuse_weak_cascades(db.session.connection())
    except RuntimeError as error:
        yield fault("tables", *str(error).split(". "))
    slow = list(_indexes(inspector))
    for index in slow[:MAX_NAMED]:
        statement = " ".join(str(CreateIndex(index).compile(dialect=db.engine.dialect)).split())
        yield warning("tables", f"the index {index.name} is missing, so that some pages are slow", f"Run: {statement};")
    if len(slow) > MAX_NAMED:
        yield warning("tables", f"{len(slow) - MAX_NAMED} more indexes are missing", "Make these, and look again.")
    if not slow:
        yield ok("tables", f"{len(db.metadata.tables)} are as they should be")


def _columns(inspector: Inspector) -> Iterator[str]:
    """Yield the missing tables, and the missing columns of the others."""
    existing = {
        name: {column["name"] for column in columns} for (_, name), columns in inspector.get_multi_columns().items()
    }
    for table in db.metadata.sorted_tables:
        if table.name not in existing:
            yield table.name
        else:
            yield from (
                f"{table.name}.{column.name}" for column in table.columns if column.name not in existing[table.name]
            )


def _indexes(inspector: Inspector) -> Iterator[Index]:
    names = {index["name"] for indexes in inspector.get_multi_indexes().values() for index in indexes}
    for table in db.metadata.sorted_tables:
        yield from sorted(
            (index for index in table.indexes if index.name not in names), key=lambda index: str(index.name)
        )
