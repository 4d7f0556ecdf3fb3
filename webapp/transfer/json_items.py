"""The items of JSON arrays from a parser's events, one at a time; pure."""

from collections.abc import Collection, Iterable, Iterator
from itertools import chain
from typing import Any

import ijson

from webapp.transfer.archives import ImportRefused

MAX_DEPTH = 5_000
"""How deeply lists and objects may be nested; a reply in a tree of messages takes two levels."""
MAX_ITEM = 512 * 1024**2
"""The most bytes of memory, roughly, that one item of a JSON array may take."""
_BEGINS, _ENDS = ("start_map", "start_array"), ("end_map", "end_array")


def items_of(events: Iterable[tuple[str, Any]]) -> Iterator[Any]:
    """Yield an array's items from a parser's events, in bounded memory. Raises ImportRefused if too deep or large."""
    depth = weight = 0
    is_array = False
    item = ijson.ObjectBuilder()
    for event, value in events:
        if event in _ENDS:
            depth -= 1
        if depth == 0:
            is_array = event == "start_array"
        elif is_array:
            item.event(event, value)
            weight += 64 + (len(value) if isinstance(value, str) else 0)
        if event in _BEGINS:
            depth += 1
        elif is_array and depth == 1:
            yield item.value
            item, weight = ijson.ObjectBuilder(), 0
        if depth > MAX_DEPTH or weight > MAX_ITEM:
            raise ImportRefused("Something in this file is larger, or nested deeper, than a conversation can be.")


def items_under(keys: Collection[str], events: Iterator[tuple[str, Any]]) -> Iterator[tuple[str, Any]]:
    """Yield the items of the arrays under some keys of an object, and of the objects that stand under such keys."""
    depth = wrappers = 0
    key = ""
    for event, value in events:
        if event == "map_key":
            key = value
        elif event == "start_array" and depth == wrappers and key in keys:
            for item in items_of(chain([(event, value)], _rest_of_value(events))):
                yield key, item
            continue
        elif event == "start_map" and depth == wrappers and (not depth or key in keys):
            wrappers += 1
        depth += (event in _BEGINS) - (event in _ENDS)
        wrappers = min(wrappers, depth)


def _rest_of_value(events: Iterator[tuple[str, Any]]) -> Iterator[tuple[str, Any]]:
    """Yield the events of a value that has begun, taken from those of what it is in."""
    depth = 1
    for event, value in events:
        yield event, value
        depth += (event in _BEGINS) - (event in _ENDS)
        if not depth:
            return
