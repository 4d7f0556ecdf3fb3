"""Selected conversations as an immediate download: one as a Markdown file, several as a ZIP of such files."""

import io
import tempfile
import zipfile
from collections.abc import Sequence
from typing import IO

from webapp.accounts.service import today_of
from webapp.audit import service as audit
from webapp.audit.actions import Action
from webapp.errors import Invalid, NotFound
from webapp.transfer.export_jobs import conversation_as

MAX_BYTES = 50_000_000
"""The most bytes to write at once; for more, there is the export of the account."""
MAX_IN_MEMORY = 1_000_000
"""The most bytes of the file to hold in memory; a longer one is an unnamed file on disk until it is sent."""


def write_chosen(user_id: int, ids: Sequence[int]) -> tuple[str, str, IO[bytes]]:
    """Return name, type and contents of a file with the user's of these conversations. Raises Invalid, NotFound."""
    if not ids:
        raise Invalid("Select at least one conversation.")
    file: IO[bytes] = tempfile.SpooledTemporaryFile(MAX_IN_MEMORY)  # noqa: SIM115  (the response closes it)
    try:
        names = _write(file, user_id, ids)
        if not names:
            raise NotFound("There is no such conversation.")
        title = "conversation" if len(names) == 1 else f"{len(names)} conversations"
        audit.record(user_id, Action.EXPORT_MADE, title, detail={"count": len(names)})
        if len(names) == 1:
            ((name, item),) = names.items()
            with file, zipfile.ZipFile(file) as archive:
                return item, "text/markdown", io.BytesIO(archive.read(name))
    except BaseException:
        file.close()
        raise
    file.seek(0)
    return f"conversations-{today_of(user_id)}.zip", "application/zip", file


def _write(file: IO[bytes], user_id: int, ids: Sequence[int]) -> dict[str, str]:
    """Write the archive; returns the names of its files, each with the name it would have alone."""
    names: dict[str, str] = {}
    size = 0
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for conversation_id in dict.fromkeys(ids):
            try:
                stem, content = conversation_as(user_id, conversation_id, "markdown")
            except NotFound:
                continue
            size += len(content)
            if size > MAX_BYTES:
                raise Invalid("That is too many for one file. Export your whole account instead.")
            name = f"{stem} ({conversation_id}).md"
            archive.writestr(name, content)
            names[name] = f"{stem}.md"
    return names
