"""The common parts of readers of conversations: the loop over records, files of messages, and documents beside them."""

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice, takewhile
from typing import Any

from webapp.files.picture import read_data_url
from webapp.i18n.marks import N_
from webapp.llm.dialects import THOUGHTS, any_of
from webapp.llm.reply_markup import answer_and_thought
from webapp.transfer.archives import BrokenMember, ImportRefused
from webapp.transfer.content import Part, ReadFile, Unreadable
from webapp.transfer.field_values import text_or_none
from webapp.transfer.sources import DAMAGED, Upload

UNKNOWN = N_("it is not in a form that is known of this program")


def read_records(
    upload: Upload,
    names: Iterable[str],
    is_record: Callable[[Any], bool],
    convert: Callable[[Any], Iterable[Part]],
) -> Iterator[Part]:
    """Read the conversations of some members, naming those that `convert` cannot.

    That returns the parts in a record, and raises ValueError with a reason, or anything else for a foreign record.
    """
    for name in names:
        yield from convert_records(name, upload.records(name, is_record), convert)


def convert_records(name: str, records: Iterable[Any], convert: Callable[[Any], Iterable[Part]]) -> Iterator[Part]:
    """Do the same with the records of one member."""
    try:
        for number, item in enumerate(records, 1):
            try:
                parts = list(convert(item))
            except Exception as error:  # whatever is wrong with one, the others are still read
                reason = str(error) if isinstance(error, ValueError) else UNKNOWN
                parts = [Unreadable(_place(item, name, number), reason)]
            yield from parts
    except BrokenMember:
        yield Unreadable(name, DAMAGED)
    except ImportRefused:
        raise
    except ValueError as error:
        yield Unreadable(name, str(error))


@dataclass
class RecordReader:
    """Reads the records in an upload's JSON that `is_record` knows: `convert` returns the parts in one, as above."""

    name: str
    label: str
    is_record: Callable[[Any], bool]
    convert: Callable[[Any], Iterable[Part]]

    def looks_like(self, upload: Upload) -> bool:
        """Return whether such a record is in it."""
        return upload.has_record(upload.json_names, self.is_record)

    def read(self, upload: Upload) -> Iterator[Part]:
        """Yield what the records hold."""
        yield from read_records(upload, upload.json_names, self.is_record, self.convert)


def _place(item: Any, name: str, number: int) -> str:
    title = text_or_none(item.get("title") or item.get("name")) if isinstance(item, dict) else None
    return f"“{title}”" if title else f"{name}, part {number}"


_POINTER = re.compile(r"file[-_][A-Za-z0-9_-]+")


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


def picture_of(part: dict[str, Any]) -> ReadFile | None:
    """Return the picture whose bytes are in a part of a message, as OpenAI, Anthropic or Google write it."""
    image = part.get("image_url") or part.get("image")
    source = next(filter(None, map(as_dict, map(part.get, ("source", "inlineData", "inline_data")))), {})
    kind = source.get("media_type") or source.get("mimeType") or source.get("mime_type")
    url = as_dict(image).get("url") if isinstance(image, dict) else image or part.get("url")
    picture = read_data_url(f"data:{kind};base64,{source.get('data')}" if kind else url)
    return ReadFile(text_or_none(part.get("name")) or f"picture.{picture[0]}", data=picture[1]) if picture else None


def text_file(text: Any, name: Any) -> ReadFile | None:
    """Return the text extracted from a file, as a text file with its name; None if there is none."""
    words = text_or_none(text)
    if words is None:
        return None
    title = text_or_none(name) or "attachment"
    return ReadFile(title if title.lower().endswith((".txt", ".md", ".csv")) else f"{title}.txt", data=words.encode())


_THOUGHT = re.compile(rf"\s*(?:{any_of(THOUGHTS)})", re.IGNORECASE)
_FENCED_THOUGHT = re.compile(r"\s*:::thinking\n(.*?)\n:::\s*", re.DOTALL)


def split_thought(text: str) -> tuple[str, str]:
    """Return a reply without the thought that it begins with, and that thought: between a model's marks, or fenced."""
    if match := _FENCED_THOUGHT.match(text):
        return text[match.end() :], match[1].strip()
    if _THOUGHT.match(text):
        reply, thought = answer_and_thought(text)
        return reply.strip(), thought.strip()
    return text, ""


def as_list(value: Any) -> list[Any]:
    """Return a list; an empty one for anything else."""
    return value if isinstance(value, list) else []


def as_dict(value: Any) -> dict[str, Any]:
    """Return an object; an empty one for anything else."""
    return value if isinstance(value, dict) else {}


_LITERAL = re.compile(r"\\(.)", re.DOTALL)
_MATCH_ALL = (".*", "(?s).*", "[\\s\\S]*")
_FENCE = re.compile(r"`{3,}")
_PROSE = ("", "document", "markdown", "md", "txt", "text")


@dataclass
class _Document:
    title: str = ""
    language: str = ""
    text: str = ""


@dataclass
class SideDocuments:
    """The documents of one conversation by their key, as far as it has come."""

    _by_key: dict[str, _Document] = field(default_factory=dict)

    def write(self, key: str, text: str, title: str = "", language: str = "") -> str:
        """Give a document a text; returns it as it is shown, in Markdown."""
        previous = self._by_key.get(key, _Document())
        document = _Document(title or previous.title or key.rpartition("/")[2], language or previous.language, text)
        self._by_key[key] = document
        return _markdown(document)

    def replace(self, key: str, old: str, new: str, *, replace_all: bool = False) -> str | None:
        """Replace some words of a document; returns it as it is shown, None if they are not in it."""
        previous = self._by_key.get(key)
        if previous is None or not old or old not in previous.text:
            return None
        previous.text = previous.text.replace(old, new) if replace_all else previous.text.replace(old, new, 1)
        return _markdown(previous)

    def substitute(self, key: str, pattern: str, new: str, *, replace_all: bool = False) -> str | None:
        """Replace what a pattern stands for, if it is the whole text or literal: others' patterns are not run."""
        if pattern in _MATCH_ALL:
            return self.write(key, new)
        return self.replace(key, _LITERAL.sub(r"\1", pattern), new, replace_all=replace_all)

    def latest(self) -> str:
        """Return the key of the document written last; empty if there is none."""
        return next(reversed(self._by_key), "")


def _markdown(document: _Document) -> str:
    head = f"**{document.title}**\n\n" if document.title else ""
    if document.language.lower() in _PROSE:
        return head + document.text
    longest = max((len(run) for run in _FENCE.findall(document.text)), default=2)
    fence = "`" * max(3, longest + 1)
    return f"{head}{fence}{document.language}\n{document.text}\n{fence}"
