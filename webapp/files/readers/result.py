"""The result of a process that reads or draws a file: pages, the ways to say what a file holds, or an error."""

import json
import re
import resource
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from webapp.i18n.marks import N_

MEMORY = 1024**3
ROWS_A_PAGE = 200
_JOINERS = re.compile("[\u00ad\u200b\u2060\ufeff]")
_HYPHENATED = re.compile(r"(?<=\w)[\u2010-](?:\r\n|\n)(?=[a-zà-ÿ])")


class Unreadable(ValueError):
    """A file cannot be read or drawn; the message says why, to people."""


def write_result(name: str, make: Callable[[], object], too_large: str) -> None:
    """Write what is made of a file as `{name: …}`, or `{"error": …}`, having limited this process's memory."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    try:
        answer = {name: make()}
    except Unreadable as error:
        answer = {"error": str(error)}
    except MemoryError:
        answer = {"error": too_large}
    except Exception:  # anything a library raises for a broken file
        answer = {"error": N_("The file is damaged, or not what its name says.")}
    sys.stdout.write(json.dumps(answer))


@dataclass
class Pages:
    """The pages of a file as text, and how many things of a kind were left out."""

    texts: list[str]
    left_out: Counter[str] = field(default_factory=Counter)

    def note(self) -> str:
        """Return a line about what was left out; empty if nothing was."""
        parts = [f"{count} {name}{'' if count == 1 else 's'}" for name, count in self.left_out.items() if count]
        return f"[Not read: {', '.join(parts)}]" if parts else ""


def whole_words(text: str) -> str:
    """Return a text whose words are not interrupted: by soft hyphens, zero-width spaces, or the end of a line."""
    return _HYPHENATED.sub("", _JOINERS.sub("", text)).replace("\u2011", "-")


def whole_number(text: str | None, default: int) -> int:
    """Return the number that a text is; another for anything else."""
    return int(text) if text and text.removeprefix("-").isdecimal() else default


def row_text(cells: Iterable[str]) -> str:
    """Return a row of a table on one line."""
    return " | ".join(" ".join(cell.split()) for cell in cells)


def table_pages(title: str, rows: Sequence[Sequence[str]]) -> list[str]:
    """Return rows as pages of ROWS_A_PAGE, each headed by the first row."""
    rows = [row for row in rows if any(cell.strip() for cell in row)]
    if not rows:
        return []
    head, rest = row_text(rows[0]), rows[1:] or [[]]
    pages = []
    for start in range(0, len(rest), ROWS_A_PAGE):
        lines = [row_text(row) for row in rest[start : start + ROWS_A_PAGE] if row]
        pages.append("\n".join([line for line in (title, head) if line] + lines))
    return pages
