"""Plain text in any encoding, tables of separated values, notebooks, rich text."""

import codecs
import csv
import io
import json
import re
import unicodedata
from collections import Counter
from contextlib import suppress
from itertools import pairwise

from webapp.files.readers.result import Pages, Unreadable, table_pages, whole_words

_BOMS = (
    (b"\xff\xfe\x00\x00", "utf-32"),
    (b"\x00\x00\xfe\xff", "utf-32"),
    (b"\xef\xbb\xbf", "utf-8-sig"),
    (b"\xff\xfe", "utf-16"),
    (b"\xfe\xff", "utf-16"),
)
_SUPERSETS = {
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "iso-8859-1": "cp1252",
    "ks_c_5601-1987": "cp949",
    "shift_jis": "cp932",
}
"""Encodings that programs really use under the names of smaller ones."""
_NON_TEXT_CATEGORIES = ("Cc", "Cn", "Co", "Cs")
_WITH_ZEROS = ("utf-8", "utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be")
_SAMPLE, _FEW = 200_000, 20_000  # bytes
_SEPARATORS = ",;\t|"
_MAX_BROKEN = 0.01
_MOST, _RUN = 2 / 3, 4
"""The share of other bytes in a text with NULs, or how many are in a row, if they are no halves of its characters."""
_PLAIN = re.compile(r"[ -~\t\r\n\u3001\u3002]")
_WIDE_TEXT = re.compile(r"(?=.*[\u3001\u3002])[\u2010-\u2030\u3000-\u30ff\u4e00-\u9fff\uff00-\uffef]+", re.DOTALL)
"""A text in UTF-16 none of whose bytes is a NUL; half of its commas and full stops is what no other text has."""
_WORD = re.compile(r"[^\W\d_]+")
_SIGN_IN_WORD = re.compile(r"(?<=[a-z])[†‡¤¢£¥¦§¨¬±¶¸|《》“”„](?=\w)", re.IGNORECASE)
_WIDE = r"[\u3040-\u30ff\u4e00-\u9fff\uac00-\ud7a3]"
_LONE = re.compile(rf"(?<=[a-z]){_WIDE}(?=[a-z])")
_TOGETHER = re.compile(rf"{_WIDE}{{2}}")
_SCRIPTS = {"LATIN", "CYRILLIC", "GREEK", "HEBREW", "ARABIC", "THAI"}
_SEP_LINE = re.compile(r"\Asep=(.)\r?\n?", re.IGNORECASE)


def decode(data: bytes) -> str:
    """Return text in whatever encoding it is; a byte that fits none costs one character."""
    return data.decode(encoding_of(data), "replace").removeprefix("\ufeff")


def decode_as(data: bytes, *names: str) -> str:
    """Return text in the first encoding of these names that fits, otherwise in whatever it is in."""
    for name in names:
        with suppress(LookupError, ValueError):
            return data.decode(_SUPERSETS.get(name.lower(), name))
    return decode(data)


def encoding_of(data: bytes) -> str:
    """Return the encoding of a text or of its beginning."""
    for mark, encoding in _BOMS:
        if data.startswith(mark):
            return encoding
    sample = data[:_SAMPLE]
    if b"\0" in sample and (encoding := encoding_with_zeros(sample)):
        return encoding
    if b"\x01" in sample or b"\x02" in sample:
        for encoding in _WITH_ZEROS[1:3]:
            if _WIDE_TEXT.fullmatch(codecs.getincrementaldecoder(encoding)("replace").decode(sample)):
                return encoding
    text = data.decode("utf-8", "replace")
    broken = text.count("\ufffd")
    if not broken and b"\x1b$" not in sample:  # with which Japanese in ASCII begins
        return "utf-8"
    if broken <= max(1, len(text) * _MAX_BROKEN) and broken < sum(not char.isascii() for char in text):
        return "utf-8"
    import chardet  # noqa: PLC0415  # a library is loaded only for its kind of file

    # Of few words it takes one encoding for another; those of DOS and of old Macs are rarer than what it finds of them.
    modern, any_age = (
        chardet.detect(sample, encoding_era=era)["encoding"] or "cp1252"
        for era in (chardet.EncodingEra.MODERN_WEB, chardet.EncodingEra.ALL)
    )
    return min(
        dict.fromkeys((modern, any_age, "cp1252", "mac_roman", "cp850")),
        key=lambda name: (_count_broken(sample, name) > 0, _count_oddities(sample[:_FEW], name)),
    )


def _count_oddities(data: bytes, encoding: str) -> int:
    """Return how many words mix Latin letters with others, have a sign in them, or a capital with an accent after a
    small letter; one for characters of several bytes of which none is a letter."""
    text = data.decode(encoding, "replace")
    words = [word for word in _WORD.findall(text) if not word.isascii()]
    signs = len(_SIGN_IN_WORD.findall(text)) + (0 if _TOGETHER.search(text) else len(_LONE.findall(text)))
    return (
        signs
        + (not words and len(text) < len(data))
        + sum(
            len({unicodedata.name(char, "").partition(" ")[0] for char in word} & _SCRIPTS) > 1
            or any(before.islower() and char.isupper() and not char.isascii() for before, char in pairwise(word))
            for word in words
        )
    )


def encoding_with_zeros(data: bytes) -> str:
    """Return the encoding of a text that holds NULs, or of its beginning; empty if it is no text."""
    for mark, encoding in _BOMS:
        if data.startswith(mark):
            return encoding
    rest = data.replace(b"\0", b"")
    is_apart = len(rest) > len(data) * _MOST or bytes(_RUN) in data  # between texts, or as filling
    few = max(1, len(rest) * _MAX_BROKEN)
    if is_apart and (b"\n" in rest or b"\0\0" not in data) and _count_broken(rest, "utf-8") <= few:
        return "utf-8"
    texts = [encoding for encoding in _WITH_ZEROS if _count_broken(data, encoding) <= few * (encoding == "utf-8")]
    plain = {encoding: len(_PLAIN.findall(data.decode(encoding, "replace"))) for encoding in texts}
    # In a wrong one that is possible, there is not even a space.
    found = max((encoding for encoding in texts if plain[encoding]), key=plain.__getitem__, default="")
    core = data.strip(b"\0")
    if found or not core or b"\0" in core:
        return found
    encoding = encoding_of(core)  # it is filled up to some length
    return encoding if _count_broken(core, encoding) <= len(core) * _MAX_BROKEN else ""


def _count_broken(data: bytes, encoding: str) -> int:
    """Return how many characters are in an encoding that no text has."""
    text = codecs.getincrementaldecoder(encoding)("replace").decode(data)  # whose last character may be cut off
    return sum(
        (unicodedata.category(char) in _NON_TEXT_CATEGORIES and not char.isspace()) or char == "\ufffd" for char in text
    )


def read_text(data: bytes) -> Pages:
    """Read plain text."""
    return Pages([whole_words(page) for page in decode(data).split("\f") if page.strip()])


def read_table(data: bytes) -> Pages:
    """Read separated values."""
    return Pages(table_pages("", table_rows(data)))


def table_rows(data: bytes, separator: str = "") -> list[list[str]]:
    """Return the rows of separated values, whatever separates them, unless that is given, and ends the lines."""
    text = decode(data)
    match = _SEP_LINE.match(text)
    text = text[match.end() :] if match else text
    csv.field_size_limit(len(text) + 1)
    lines = text.splitlines()
    separator = separator or (match[1] if match else _separator(lines[:50]))
    source = text if "\n" in text else "\n".join(lines)
    return list(csv.reader(io.StringIO(source, newline=""), delimiter=separator, skipinitialspace=True))


def _separator(lines: list[str]) -> str:
    """Return the separator that the most lines have equally often."""

    def fit(separator: str) -> tuple[int, int]:
        counts = Counter(len(row) - 1 for row in csv.reader(lines, delimiter=separator) if row)
        count, often = max(counts.items(), key=lambda item: (item[0] > 0, item[1], item[0]), default=(0, 0))
        return (often if count else 0), count

    return max(_SEPARATORS, key=fit)


def read_notebook(data: bytes) -> Pages:
    """Read the cells of a Jupyter notebook with the text of their outputs; pictures are left out."""
    try:
        book = json.loads(decode(data))
        cells = book["cells"] if "cells" in book else [cell for part in book["worksheets"] for cell in part["cells"]]
        texts, left_out = [], Counter[str]()
        for cell in filter(None, cells):
            source = _join_lines(cell.get("source", cell.get("input")))
            texts.append(source if cell.get("cell_type") != "code" else f"```\n{source}\n```")
            for output in filter(None, cell.get("outputs") or ()):
                parts = output.get("data") or {}
                left_out["picture"] += any(kind.startswith("image/") for kind in parts)
                shown = output.get("text") or parts.get("text/plain") or parts.get("text/markdown")
                texts.append(_join_lines(shown or parts.get("text/html")))
                if output.get("ename"):
                    texts.append(f"{output['ename']}: {output.get('evalue')}")
    except (ValueError, KeyError, TypeError, AttributeError):
        raise Unreadable("The notebook is damaged.") from None
    return Pages(["\n\n".join(text for text in texts if text.strip())], left_out)


def _join_lines(lines: object) -> str:
    return "".join(map(str, lines)) if isinstance(lines, list) else str(lines or "")


def read_rich_text(data: bytes) -> Pages:
    """Read RTF."""
    from striprtf.striprtf import rtf_to_text  # noqa: PLC0415

    source = data[data.find(b"{") :].decode("cp1252", "replace")
    text = str(rtf_to_text(source, errors="replace"))  # type: ignore[no-untyped-call]
    return Pages([whole_words(text)], Counter(picture=source.count(r"\pict")))
