"""Keyset paging: pages of lists along their sort keys, and cursors that lead on in that list alone."""

import base64
import binascii
import json
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from hashlib import blake2b
from typing import Any, TypeVar

from sqlalchemy import ColumnElement, Row, Select, and_, or_
from sqlalchemy.orm import InstrumentedAttribute

from webapp.db.base import db
from webapp.errors import Invalid
from webapp.http.validation import Page, PageQuery, check_storable

T = TypeVar("T")

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MAX_INTEGER = 2**63
_MARK_BYTES = 6


class Keyset:
    """The order of one list, for one query: makes its cursors, and takes only these.

    `name` is the list, `scope` whose it is, `types` those of its sort key: int, float, str or datetime. A cursor is the
    last row's sort key behind a mark of these and the query's filters.
    """

    def __init__(self, name: str, query: PageQuery, *types: type, scope: Any = None):
        self.query = query
        self._types = types
        filters = query.model_dump(mode="json", exclude={"limit", "cursor"})
        identity = json.dumps([name, scope, filters], sort_keys=True, separators=(",", ":"))
        self._mark = blake2b(identity.encode(), digest_size=_MARK_BYTES).hexdigest()

    def page(self, rows: Sequence[T], key: Callable[[T], tuple[Any, ...]]) -> Page[T]:
        """Return a page from limit + 1 fetched rows: the surplus row says that there is a next page."""
        items = rows[: self.query.limit]
        has_more = len(rows) > len(items)
        return Page(items, self.cursor(*key(items[-1])) if has_more and items else None)

    def page_of(self, rows: Sequence[T], key: Callable[[T], tuple[Any, ...]]) -> Page[T]:
        """Return a page of a list so short that all its rows are read, sorted by this key. Raises Invalid."""
        after = self.position() if self.query.cursor else ()
        return self.page([row for row in rows if key(row) > after][: self.query.limit + 1], key)

    def cursor(self, *key: str | int | float | datetime) -> str:
        """Return the cursor of the row with this sort key."""
        packed = json.dumps([self._mark, *map(_plain, key)], separators=(",", ":"), ensure_ascii=False)
        return base64.urlsafe_b64encode(packed.encode()).decode().rstrip("=")

    def position(self) -> tuple[Any, ...]:
        """Return the sort key in the query's cursor. Raises Invalid for one that this list did not make."""
        try:
            cursor = self.query.cursor or ""
            mark, *key = json.loads(base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
            if mark != self._mark:
                raise ValueError
            return tuple(_unpack_part(part, kind) for part, kind in zip(key, self._types, strict=True))
        except (binascii.Error, ValueError, TypeError, OverflowError, RecursionError):
            raise Invalid.field("cursor", "is not a cursor of this list") from None


def _plain(part: str | int | float | datetime) -> str | int | float:
    return round((part - EPOCH) / timedelta(microseconds=1)) if isinstance(part, datetime) else part


def _unpack_part(part: object, kind: type) -> Any:
    """Return a part of a key as it was before it was packed. Raises ValueError, OverflowError for a forged one."""
    if type(part) is not (int if kind is datetime else kind):
        raise ValueError
    if isinstance(part, int) and abs(part) >= _MAX_INTEGER:  # no column holds it
        raise ValueError
    if isinstance(part, str):
        return check_storable(part)
    return EPOCH + timedelta(microseconds=part) if kind is datetime and isinstance(part, int) else part


def read_page(
    name: str,
    query: PageQuery,
    statement: Select[*tuple[Any, ...]],
    *key: InstrumentedAttribute[Any],
    scope: Any = None,
    newest_first: bool = True,
) -> Page[Row[*tuple[Any, ...]]]:
    """Return a page of a list (see Keyset): the selected rows, which end with their key. Raises Invalid."""
    keyset = Keyset(name, query, *(column.type.python_type for column in key), scope=scope)
    if query.cursor:
        statement = statement.where(comes_after(key, keyset.position(), newest_first=newest_first))
    order = [column.desc() if newest_first else column.asc() for column in key]
    page = statement.add_columns(*key).order_by(None).order_by(*order).limit(query.limit + 1)
    return keyset.page(db.session.execute(page).all(), lambda row: tuple(row[-len(key) :]))


def read_rows(
    name: str, query: PageQuery, statement: Select[T], *key: InstrumentedAttribute[Any], **options: Any
) -> Page[T]:
    """Return a page of what alone is selected, as `read_page` does."""
    return read_page(name, query, statement, *key, **options).map(lambda row: row[0])


def comes_after(
    key: Sequence[InstrumentedAttribute[Any]], position: Sequence[Any], *, newest_first: bool = True
) -> ColumnElement[bool]:
    """Return the condition for rows that come after a position: by the first column, then by the others."""
    column, value = key[0], position[0]
    later: ColumnElement[bool] = column < value if newest_first else column > value
    if len(key) == 1:
        return later
    # The bound by itself is where databases begin to read.
    bound = column <= value if newest_first else column >= value
    return and_(bound, or_(later, comes_after(key[1:], position[1:], newest_first=newest_first)))
