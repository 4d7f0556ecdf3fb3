"""The calendar of each language, from Babel's files."""

import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from babel.localedata import locale_identifiers, resolve_locale_filename


def own_calendars() -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield each language with what its own file says, which may name another one's words in place of its own.

    Babel's functions would keep 136 MB of all languages, and write the names of one into what others inherit.
    """
    for identifier in locale_identifiers():
        if "_" not in identifier:
            yield identifier, pickle.loads(Path(resolve_locale_filename(identifier)).read_bytes())  # noqa: S301 - Babel's own
