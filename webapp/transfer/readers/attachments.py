"""Files that exports have for their messages: members named after an id, data URLs, and extracted text."""

from __future__ import annotations

import base64
import re
from typing import Any

from webapp.transfer.content import ReadFile, text_or_none
from webapp.transfer.sources import Upload

_ID = re.compile(r"^(file[-_][A-Za-z0-9]+)")
_POINTER = re.compile(r"^(?:file-service|sediment)://(file[-_][A-Za-z0-9]+)")
_DATA = re.compile(r"^data:image/(png|jpeg|gif|webp);base64,", re.IGNORECASE)
MOST_DATA = 64 * 1024**2


class Assets:
    """The members of a ChatGPT export that are files of messages, by id."""

    def __init__(self, upload: Upload) -> None:
        self._members: dict[str, str] = {}
        for name in upload.names if upload.is_archive else ():
            found = _ID.match(name.rpartition("/")[2])
            if found and not name.lower().endswith(".json"):
                self._members.setdefault(found[1], name)

    def of(self, content: dict[str, Any], metadata: dict[str, Any]) -> list[ReadFile]:
        """The files of a message that are in the export: pictures in its content, then its attachments."""
        attached = [item for item in metadata.get("attachments") or () if isinstance(item, dict)]
        names = {str(item.get("id")): text_or_none(item.get("name")) for item in attached}
        parts = content.get("parts") if isinstance(content.get("parts"), list) else []
        ids = [_POINTER.match(str(part.get("asset_pointer") or "")) for part in parts or () if isinstance(part, dict)]
        wanted = [found[1] for found in ids if found] + [str(item.get("id")) for item in attached]
        files = []
        for key in dict.fromkeys(wanted):
            member = self._members.get(key)
            if member is not None:
                rest = member.rpartition("/")[2][len(key) :].lstrip("-_")
                files.append(ReadFile(names.get(key) or (rest if "." in rest.strip(".") else f"file{rest}"), member))
        return files


def picture_from_url(url: Any, name: Any = None) -> ReadFile | None:
    """The picture in a data URL; None for any other URL."""
    if not isinstance(url, str) or len(url) > MOST_DATA or not (found := _DATA.match(url)):
        return None
    try:
        data = base64.b64decode(url[found.end() :], validate=True)
    except ValueError:
        return None
    return ReadFile(text_or_none(name) or f"picture.{found[1].lower()}", data=data)


def text_file(text: Any, name: Any) -> ReadFile | None:
    """The text extracted from a file, as a text file with its name; None if there is none."""
    said = text_or_none(text)
    if said is None:
        return None
    title = text_or_none(name) or "attachment"
    return ReadFile(title if title.lower().endswith((".txt", ".md", ".csv")) else f"{title}.txt", data=said.encode())


def as_list(value: Any) -> list[Any]:
    """A list; an empty one for anything else."""
    return value if isinstance(value, list) else []


def as_dict(value: Any) -> dict[str, Any]:
    """An object; an empty one for anything else."""
    return value if isinstance(value, dict) else {}
