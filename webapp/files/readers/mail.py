"""E-mails, mailboxes, and what is in them."""

import email
import email.policy
import re
from collections import Counter
from collections.abc import Iterator
from email.header import decode_header
from email.message import Message
from typing import Any

from webapp.files.readers.page import text_of_html
from webapp.files.readers.result import Pages
from webapp.files.readers.text import decode_as

_HEADS = ("From", "To", "Cc", "Date", "Subject")
_SLIGHT = 200
"""A plain part with fewer characters than this gives way to an HTML part that says much more: it only says that."""
_START = re.compile(rb"(?:\A|\n\r?\n)(?=From \S{1,300} [^\r\n]{0,60}\d\d:\d\d[^\r\n]{0,60} \d{4}\r?\n)")
_UNSEEN = ("text/css", "text/javascript")


def read_mail(data: bytes) -> Pages:
    """Read a message with all its parts, messages within it included."""
    left_out = Counter[str]()
    data = data.removeprefix(b"\xef\xbb\xbf")
    size, _, rest = data.partition(b"\n")
    data = rest[: int(size)] if size.strip().isdigit() else data  # Apple's .emlx
    return Pages(["\n".join(_lines(email.message_from_bytes(data, policy=email.policy.compat32), left_out))], left_out)


def read_mailbox(data: bytes) -> Pages:
    """Read the messages of an mbox file, a page each."""
    left_out = Counter[str]()
    texts = []
    for part in _START.split(data):
        if part.strip():
            raw = part.split(b"\n", 1)[-1] if part.startswith(b"From ") else part
            texts.append("\n".join(_lines(email.message_from_bytes(raw, policy=email.policy.compat32), left_out)))
    return Pages(texts, left_out)


def _lines(message: Message, left_out: Counter[str]) -> Iterator[str]:
    for name in _HEADS:
        if value := message.get(name):
            yield f"{name}: {_header(value)}"
    yield ""
    yield from _body(message, left_out)


def _body(part: Message, left_out: Counter[str]) -> Iterator[str]:
    kind = part.get_content_type()
    if kind == "message/rfc822":
        yield "\nForwarded message:"
        for inner in part.get_payload():
            yield from _lines(_decode_inner(part, inner), left_out)
    elif kind == "multipart/alternative" and part.is_multipart():
        yield from _body(_best_part(part.get_payload()), left_out)  # type: ignore[arg-type]
    elif part.is_multipart():
        for inner in part.get_payload():
            yield from _body(inner, left_out)  # type: ignore[arg-type]
    elif kind in _UNSEEN and not part.get_filename():
        return
    elif (name := part.get_filename()) and not (kind == "text/plain" and part.get_content_disposition() == "inline"):
        yield f"Attached: {_header(name)}"
        left_out["attachment"] += 1
    elif kind == "text/html":
        yield text_of_html(_text(part))
    elif kind.startswith(("text/", "multipart/")):  # of one without its boundary, the text
        yield _text(part)
    else:
        left_out["attachment"] += 1


def _decode_inner(part: Message, inner: Any) -> Message:
    """Return the message in a part, decoded if it was encoded, as some programs do."""
    if inner.keys() or str(part["Content-Transfer-Encoding"]).lower() != "base64":
        return inner  # type: ignore[no-any-return]
    inner["Content-Transfer-Encoding"] = "base64"
    return email.message_from_bytes(inner.get_payload(decode=True), policy=email.policy.compat32)


def _best_part(parts: list[Message]) -> Message:
    """Return the plain one of several forms of a text, unless it only says that there is another."""
    plain = next((part for part in parts if part.get_content_type() == "text/plain"), None)
    others = [part for part in parts if part is not plain] or parts
    other = next((part for part in others if part.get_content_type() != "text/x-amp-html"), others[0])
    if plain is None:
        return other
    if other.get_content_type() == "text/html" and len(_text(plain)) < _SLIGHT:
        plain_words = set(re.findall(r"\w+", _text(plain).lower()))
        terms = set(re.findall(r"\w+", text_of_html(_text(other)).lower()))
        if not terms <= plain_words and len(plain_words & terms) * 2 < len(terms):
            return other
    return plain


def _text(part: Message) -> str:
    payload: Any = part.get_payload(decode=True) or b""
    return decode_as(bytes(payload), part.get_content_charset() or "utf-8")


def _header(value: Any) -> str:
    """Return a decoded header, even if its declared encoding is wrong."""
    parts = (
        text if isinstance(text, str) else decode_as(text, charset or "utf-8") for text, charset in decode_header(value)
    )
    return " ".join("".join(parts).split())
