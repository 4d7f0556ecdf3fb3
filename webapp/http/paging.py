"""Keyset paging: what a list is asked for, its pages, and cursors that lead on in that list alone."""

import base64
import binascii
import json
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from hashlib import blake2b
from typing import Any, Generic, Self, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from webapp.errors import Invalid
from webapp.http.validation import Whole, encodable

T = TypeVar("T")
U = TypeVar("U")

MAX_CURSOR_LENGTH = 800
"""A key may contain a name of 100 characters, of four bytes each."""
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MAX_INTEGER = 2**63
_MARK_BYTES = 6


class PageQuery(BaseModel):
    """The paging parameters of every list."""

    model_config = ConfigDict(extra="ignore")

    limit: Whole = Field(20, ge=1, le=100, description="How many to return.")
    cursor: str | None = Field(
        None,
        max_length=MAX_CURSOR_LENGTH,
        description="`next_cursor` of the previous page; only the same list with the same filters takes it.",
    )


class Page(Generic[T]):
    """One page of a keyset-paged list."""

    def __init__(self, items: Sequence[T], next_cursor: str | None):
        self.items = list(items)
        self.next_cursor = next_cursor

    def map(self, show: Callable[[T], U]) -> "Page[U]":
        """Return the page with each of its items as something else."""
        return Page([show(item) for item in self.items], self.next_cursor)


class ListOut(BaseModel):
    """The response with a page of a list, whose items are in the field that each kind adds."""

    next_cursor: str | None

    @classmethod
    def of(cls, page: Page[Any]) -> Self:
        """Return a page of such items."""
        field = next(name for name in cls.model_fields if name != "next_cursor")
        return cls(**{field: page.items, "next_cursor": page.next_cursor})


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
        return encodable(part)
    return EPOCH + timedelta(microseconds=part) if kind is datetime and isinstance(part, int) else part
