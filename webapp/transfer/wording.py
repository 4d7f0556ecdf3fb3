"""The sentences in English that are kept of an import, said again: what was put into them is found by their form."""

from webapp.i18n.marks import N_, say
from webapp.i18n.request_language import values_in

FORMS = N_(
    (
        "“%(name)s” was left out: %(why)s",
        "“%(name)s” in the ZIP is broken.",
        (
            "“%(name)s” in the ZIP is packed in a way that cannot be read here. Unpack it, pack it as an "
            "ordinary ZIP and upload that."
        ),
        "“%(name)s” is longer than %(size)s MB.",
        "The file is larger than %(size)s MB.",
        "You already have %(most_files)s files. Delete some first.",
        "%(name)s, conversation %(number)s",
        "%(name)s, line %(number)s",
        "memory %(number)s",
        "line %(number)s",
    )
)


def as_sentence(text: str) -> str:
    """Return a kept text as the sentence it was made from; the text itself if nothing was put into it."""
    for form in FORMS:
        if (values := values_in(form, text)) is not None:
            return say(form, **{name: as_sentence(value) if name == "why" else value for name, value in values.items()})
    return say(text) if "%" not in text else text
