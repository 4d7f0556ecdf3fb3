"""A ZIP of Markdown notes: each becomes a document in a space named after the file or, if it is short, a memory."""

import re
from collections.abc import Iterator
from pathlib import PurePosixPath

from webapp.transfer.content import Part, ReadMemory, ReadProject
from webapp.transfer.sources import ImportRefused, Upload

_FRONT = re.compile(r"\A---\n.*?\n---\n", re.DOTALL)
_LONGEST = 2 * 1024**2
_SHORT = 300


class Notes:
    """Reads a folder of Markdown files."""

    name, label = "notes", "Markdown notes"

    def looks_like(self, upload: Upload) -> bool:
        """Return whether most of the ZIP's files are Markdown or text."""
        if not upload.is_archive:
            return False
        texts = _texts(upload)
        return bool(texts) and len(texts) * 2 >= len(upload.names)

    def read(self, upload: Upload) -> Iterator[Part]:
        """Short notes of one line as memories, the others as documents in one project named after the file."""
        documents = []
        for name in _texts(upload):
            try:
                text = _FRONT.sub("", upload.text(name, _LONGEST)).strip()
            except ImportRefused:
                continue
            if text and "\n" not in text and len(text) <= _SHORT:
                yield ReadMemory(re.sub(r"^#+\s*", "", text))
            elif text:
                documents.append((str(PurePosixPath(name).with_suffix(""))[-200:], text))
        if documents:
            title = PurePosixPath(upload.filename).stem or "Notes"
            yield ReadProject(f"notes:{title}", title, "Markdown notes", "", documents)


def _texts(upload: Upload) -> list[str]:
    return sorted(name for name in upload.names if name.lower().endswith((".md", ".markdown", ".txt")))
