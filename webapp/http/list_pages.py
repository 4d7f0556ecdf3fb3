"""Pages of lists, read from the database along their sort keys."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import ColumnElement, Row, Select, and_, or_
from sqlalchemy.orm import InstrumentedAttribute

from webapp.db.base import db
from webapp.http.paging import Keyset, Page


def read_page(
    keyset: Keyset, statement: Select[*tuple[Any, ...]], *key: InstrumentedAttribute[Any], newest_first: bool = True
) -> Page[Row[*tuple[Any, ...]]]:
    """Return a page of the selected rows, which end with their key. Raises Invalid for a foreign cursor."""
    if keyset.query.cursor:
        statement = statement.where(_comes_after(key, keyset.position(), newest_first=newest_first))
    order = [column.desc() if newest_first else column.asc() for column in key]
    page = statement.add_columns(*key).order_by(None).order_by(*order).limit(keyset.query.limit + 1)
    return keyset.page(db.session.execute(page).all(), lambda row: tuple(row[-len(key) :]))


def _comes_after(
    key: Sequence[InstrumentedAttribute[Any]], position: Sequence[Any], *, newest_first: bool
) -> ColumnElement[bool]:
    """Return the condition for rows that come after a position: by the first column, then by the others."""
    column, value = key[0], position[0]
    later: ColumnElement[bool] = column < value if newest_first else column > value
    if len(key) == 1:
        return later
    return or_(later, and_(column == value, _comes_after(key[1:], position[1:], newest_first=newest_first)))
