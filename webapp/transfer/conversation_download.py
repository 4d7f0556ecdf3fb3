"""Selected conversations as an immediate download: one as a Markdown file, several as a ZIP of such files."""

import io
import tempfile
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, suppress
from itertools import chain, islice
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
    texts = _texts(user_id, ids)
    first = list(islice(texts, 2))
    if not first:
        raise NotFound("There is no such conversation.")
    if len(first) == 1:
        _, stem, content = first[0]
        audit.record(user_id, Action.EXPORT_MADE, "conversation", detail={"count": 1})
        return f"{stem}.md", "text/markdown", io.BytesIO(content)
    with ExitStack() as opened:
        file = opened.enter_context(tempfile.SpooledTemporaryFile(MAX_IN_MEMORY))
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
            for conversation_id, stem, content in chain(first, texts):
                archive.writestr(f"{stem} ({conversation_id}).md", content)
            count = len(archive.namelist())
        opened.pop_all()  # the response closes it
    audit.record(user_id, Action.EXPORT_MADE, f"{count} conversations", detail={"count": count})
    file.seek(0)
    return f"conversations-{today_of(user_id)}.zip", "application/zip", file


def _texts(user_id: int, ids: Sequence[int]) -> Iterator[tuple[int, str, bytes]]:
    """Yield id, name and text of each conversation that there is. Raises Invalid if they are too long together."""
    size = 0
    for conversation_id in dict.fromkeys(ids):
        with suppress(NotFound):
            stem, content = conversation_as(user_id, conversation_id, "markdown")
            size += len(content)
            if size > MAX_BYTES:
                raise Invalid("That is too many for one file. Export your whole account instead.")
            yield conversation_id, stem, content
