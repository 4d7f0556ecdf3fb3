"""Conversations that somebody chose, at once: one as a Markdown file, several as a ZIP of such files."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Sequence

from webapp.audit import service as audit
from webapp.audit.actions import Action
from webapp.database import now
from webapp.errors import Invalid, NotFound
from webapp.transfer.exporting import conversation_as

MOST_BYTES = 50_000_000
"""What is written at once; more is what an export of the account is for."""


def write_chosen(user_id: int, ids: Sequence[int]) -> tuple[str, str, io.BytesIO]:
    """Name, media type and contents (at the beginning) of a file with these conversations of the user's.

    What is not theirs or gone is left out. Raises Invalid where nothing or too much is chosen,
    NotFound where nothing is left.
    """
    if not ids:
        raise Invalid("Select at least one conversation.")
    file = io.BytesIO()
    count = size = 0
    stem = ""
    made = b""
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for conversation_id in dict.fromkeys(ids):
            try:
                stem, made = conversation_as(user_id, conversation_id, "markdown")
            except NotFound:
                continue
            count, size = count + 1, size + len(made)
            if size > MOST_BYTES:
                raise Invalid("These are too many for one file. Export your whole account instead.")
            archive.writestr(f"{stem} ({conversation_id}).md", made)
    if not count:
        raise NotFound("There is no such conversation.")
    audit.record(user_id, Action.EXPORT_MADE, "conversation", detail={"count": count})
    if count == 1:
        file = io.BytesIO(made)
    file.seek(0)
    if count == 1:
        return f"{stem}.md", "text/markdown; charset=utf-8", file
    return f"conversations-{now():%Y-%m-%d}.zip", "application/zip", file
