"""One module per format; `recognise` finds the reader for an upload."""

from webapp.files import kinds
from webapp.i18n.marks import N_
from webapp.transfer.archives import ImportRefused
from webapp.transfer.content import Reader
from webapp.transfer.json_text import MAX_SAMPLE
from webapp.transfer.readers.chatgpt import ChatGPT
from webapp.transfer.readers.claude import Claude
from webapp.transfer.readers.commonplace import Commonplace
from webapp.transfer.readers.gemini import Gemini
from webapp.transfer.readers.grok import Grok
from webapp.transfer.readers.lists import MEM0, MEMORY_GRAPH, OWN_MEMORIES, Mem0Markdown, Notes, Portable
from webapp.transfer.readers.openwebui import OpenWebUI
from webapp.transfer.readers.pasted_list import PastedList
from webapp.transfer.readers.sharegpt import LIBRECHAT, ShareGPT
from webapp.transfer.readers.transcripts import is_transcript
from webapp.transfer.readers.turns import is_between_people
from webapp.transfer.sources import JSONS, PAGES, TABLES, TEXTS, Upload

READERS: dict[str, Reader] = {
    reader.name: reader
    for reader in (
        Commonplace(),
        Portable(),
        ChatGPT(),
        Claude(),
        Gemini(),
        Grok(),
        OpenWebUI(),
        LIBRECHAT,
        ShareGPT(),
        MEM0,
        Mem0Markdown(),
        OWN_MEMORIES,
        MEMORY_GRAPH,
        Notes(),
        PastedList(),
    )
}
"""By name; the ones that recognise their format most reliably come first."""
_TEXT_KINDS = (kinds.PLAIN, kinds.MARKDOWN, kinds.HTML, kinds.CSV)
OTHER = N_(
    "Only files that end in .json, .jsonl, .md, .txt, .csv or .html are imported, or a ZIP of them. To ask about this "
    "one, attach it to a message."
)


def recognise(upload: Upload, format_name: str | None = None) -> Reader:
    """Return the reader for an upload, or the one named. Raises ImportRefused if none fits."""
    if format_name:
        return READERS[format_name]
    if _is_of_other_kind(upload):
        raise ImportRefused(OTHER)
    for reader in READERS.values():
        if reader.looks_like(upload):
            return reader
    if upload.has_record(upload.json_names, is_between_people) or any(
        is_transcript(upload.peek(name)) for name in upload.names[:MAX_SAMPLE] if name.lower().endswith(TEXTS)
    ):
        raise ImportRefused(
            "Nobody in it is known as an assistant: it seems to be between people. Conversations with an assistant can "
            "be imported, and memories. To ask about other messages, attach them to one of yours."
        )
    names = upload.json_names[:MAX_SAMPLE] if upload.is_archive else upload.names
    if not upload.names or any(upload.peek(name).strip() in ("", "[]", "{}", "null") for name in names):
        raise ImportRefused("There is nothing in this file that could be imported.")
    if any(map(upload.is_damaged, upload.json_names[:MAX_SAMPLE])):
        raise ImportRefused("The file is damaged, or was not uploaded whole.")
    if not (upload.is_archive or upload.filename.lower().endswith((*JSONS, *TABLES, *TEXTS, *PAGES))):
        raise ImportRefused(OTHER)
    raise ImportRefused(
        "This is not an export that Commonplace recognises: ChatGPT, Claude, Gemini, Grok, Open WebUI, LibreChat, "
        "ShareGPT, mem0, a list of messages or memories, Markdown notes, or one of its own."
    )


def _is_of_other_kind(upload: Upload) -> bool:
    """Return whether the first bytes of a single file are those of no text."""
    if upload.is_archive or upload.json_names or not (size := upload.path.stat().st_size):
        return False
    try:
        with upload.path.open("rb") as file:
            return kinds.kind_of(upload.filename, file, size) not in _TEXT_KINDS
    except kinds.FileRejected:
        return True
