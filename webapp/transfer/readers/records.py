"""The one loop of all readers of conversations: one bad record, or a file that was cut off, costs only itself."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from webapp.i18n.marks import N_
from webapp.transfer.content import Part, Unreadable, text_or_none
from webapp.transfer.sources import ImportRefused, Upload

UNKNOWN = N_("it is not in a form that is known of this program")


def read_records(
    upload: Upload,
    names: Iterable[str],
    is_record: Callable[[Any], bool],
    convert: Callable[[Any], Iterable[Part]],
) -> Iterator[Part]:
    """Read the conversations of some members; those that cannot be read are named with the reason.

    `convert` returns the parts in a record. It raises ValueError with a reason, or anything else for a record that is
    not as the program writes it.
    """
    for name in names:
        yield from convert_records(name, upload.records(name, is_record), convert)


def convert_records(name: str, records: Iterable[Any], convert: Callable[[Any], Iterable[Part]]) -> Iterator[Part]:
    """Do the same with the records of one member."""
    try:
        for number, item in enumerate(records, 1):
            try:
                parts = list(convert(item))
            except Exception as error:  # whatever is wrong with one, the others are still read
                reason = str(error) if isinstance(error, ValueError) else UNKNOWN
                parts = [Unreadable(_place(item, name, number), reason)]
            yield from parts
    except ImportRefused:
        raise
    except ValueError as error:
        yield Unreadable(name, str(error))


def _place(item: Any, name: str, number: int) -> str:
    title = text_or_none(item.get("title") or item.get("name")) if isinstance(item, dict) else None
    return f"“{title}”" if title else f"{name}, conversation {number}"
