"""One module per format; `recognise` finds the reader for an upload."""

from webapp.transfer.archives import ImportRefused
from webapp.transfer.content import Reader
from webapp.transfer.json_text import MAX_SAMPLE
from webapp.transfer.readers.chatgpt import ChatGPT
from webapp.transfer.readers.claude import Claude
from webapp.transfer.readers.commonplace import Commonplace
from webapp.transfer.readers.gemini import Gemini
from webapp.transfer.readers.grok import Grok
from webapp.transfer.readers.lists import Mem0, Mem0Markdown, MemoryGraph, Notes, OwnMemories, Portable
from webapp.transfer.readers.openwebui import OpenWebUI
from webapp.transfer.readers.pasted_list import PastedList
from webapp.transfer.readers.sharegpt import LibreChat, ShareGPT
from webapp.transfer.sources import Upload

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
        LibreChat(),
        ShareGPT(),
        Mem0(),
        Mem0Markdown(),
        OwnMemories(),
        MemoryGraph(),
        Notes(),
        PastedList(),
    )
}
"""By name; the ones that recognise their format most reliably come first."""


def recognise(upload: Upload, format_name: str | None = None) -> Reader:
    """Return the reader for an upload, or the one named. Raises ImportRefused if none fits."""
    if format_name:
        return READERS[format_name]
    for reader in READERS.values():
        if reader.looks_like(upload):
            return reader
    names = upload.json_names[:MAX_SAMPLE] if upload.is_archive else upload.names
    if not upload.names or any(upload.peek(name).strip() in ("", "[]", "{}", "null") for name in names):
        raise ImportRefused("There is nothing in this file that could be imported.")
    if any(map(upload.is_damaged, upload.json_names[:MAX_SAMPLE])):
        raise ImportRefused("The file is damaged, or was not uploaded whole.")
    raise ImportRefused(
        "This is not an export that Commonplace recognises: ChatGPT, Claude, Gemini, Grok, Open WebUI, LibreChat, "
        "ShareGPT, mem0, a list of messages or memories, Markdown notes, or one of its own."
    )
