"""The reasons why a server or search failed, kept in English, in the reader's language: a line here for each."""

from webapp.i18n.marks import N_
from webapp.i18n.request_language import translate_stored

TEXTS: tuple[str, ...] = N_(
    (
        "The engine did not answer in time.",
        "The engine answered but found nothing for a common word.",
        "It works. First of %(number)s found: %(address)s",
        "No search engine is set up; addresses that people write are read.",
        "This is not an address.",
        "The address must begin with %(scheme)s or %(other)s.",
        "The address must have neither a password nor a fragment.",
        "This is not a host name.",
        "The token or key for %(name)s has characters that cannot be sent.",
        "The answer is compressed in a way that is not known here.",
        "The answer is broken.",
        "The answer is larger than %(number)s MB.",
        "%(name)s refused: it does not say why",
        "%(name)s refused: %(reason)s",
        "%(name)s needs a token.",
        "%(name)s did not accept the token.",
        "%(name)s did not answer in time.",
        "%(name)s could not be reached.",
        "The connection to %(name)s broke off.",
        "%(name)s is not known.",
        "%(name)s is an address inside the network. Those are not opened.",
        "%(name)s redirects too many times.",
        "%(name)s redirects to another address.",
        "%(name)s answered with an error (%(number)s).",
        "%(name)s answered with something that is not JSON.",
        "%(name)s answered in a way that is not understood.",
        "%(name)s asked a question back, which cannot be answered here.",
        "%(name)s does not speak any version of the protocol that is known here.",
    )
)
"""In the order in which they are tried: a name may hold anything."""


def translate_result(text: str) -> str:
    """Return what came of trying something out, in the reader's language; as it is where nobody knows it."""
    return translate_stored(text, TEXTS) or text
