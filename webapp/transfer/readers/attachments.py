"""Files that exports have for their messages: members named after an id, data URLs, and extracted text."""

import base64
import re
from bisect import bisect_left
from itertools import islice, takewhile
from typing import Any

from webapp.transfer.content import ReadFile, text_or_none
from webapp.transfer.sources import Upload

_POINTER = re.compile(r"file[-_][A-Za-z0-9_-]+")
_DATA = re.compile(r"^data:image/(png|jpeg|gif|webp);base64,", re.IGNORECASE)
MOST_DATA = 64 * 1024**2


class Assets:
    """The members of a ChatGPT export that are files of messages: their names begin with the file's id."""

    def __init__(self, upload: Upload) -> None:
        self._members = {
            name.rpartition("/")[2]: name
            for name in reversed(upload.names if upload.is_archive else ())
            if not name.lower().endswith((".json", ".html"))
        }
        self._ordered = sorted(self._members)

    def of(self, content: dict[str, Any], metadata: dict[str, Any]) -> tuple[list[ReadFile], list[str]]:
        """Return the files of a message that are in the export, and the names of the others, empty where it has none:
        pictures in its content, what code made, then its attachments."""
        attached = [item for item in as_list(metadata.get("attachments")) if isinstance(item, dict)]
        names = {str(item.get("id")): text_or_none(item.get("name")) for item in attached}
        outputs = as_list(as_dict(metadata.get("aggregate_result")).get("messages"))
        pointers = [as_dict(part).get("asset_pointer") for part in as_list(content.get("parts"))]
        pointers += [as_dict(output).get("image_url") for output in outputs]
        references = [groups[-1] for pointer in pointers if (groups := _POINTER.findall(str(pointer or "")))]
        references += [str(item.get("id")) for item in attached]
        files, missing = [], []
        for key in dict.fromkeys(references):
            base = self._base(key)
            if base is None:
                missing.append(names.get(key) or "")
                continue
            rest = base[len(key) :].lstrip("-_")
            title = names.get(key) or (rest if "." in rest.strip(".") else f"file{rest}")
            files.append(ReadFile(title, self._members[base]))
        return files, missing

    def _base(self, key: str) -> str | None:
        """Return the name, without folders, of the member with an id."""
        following = islice(self._ordered, bisect_left(self._ordered, key), None)
        matches = takewhile(lambda base: base.startswith(key), following)
        return next((base for base in matches if not base[len(key) : len(key) + 1].isalnum()), None)


def picture_from_url(url: Any, name: Any = None) -> ReadFile | None:
    """Return the picture in a data URL; None for any other URL."""
    if not isinstance(url, str) or len(url) > MOST_DATA or not (match := _DATA.match(url)):
        return None
    try:
        data = base64.b64decode(url[match.end() :], validate=True)
    except ValueError:
        return None
    return ReadFile(text_or_none(name) or f"picture.{match[1].lower()}", data=data)


def text_file(text: Any, name: Any) -> ReadFile | None:
    """Return the text extracted from a file, as a text file with its name; None if there is none."""
    words = text_or_none(text)
    if words is None:
        return None
    title = text_or_none(name) or "attachment"
    return ReadFile(title if title.lower().endswith((".txt", ".md", ".csv")) else f"{title}.txt", data=words.encode())


def as_list(value: Any) -> list[Any]:
    """Return a list; an empty one for anything else."""
    return value if isinstance(value, list) else []


def as_dict(value: Any) -> dict[str, Any]:
    """Return an object; an empty one for anything else."""
    return value if isinstance(value, dict) else {}
