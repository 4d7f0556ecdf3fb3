"""The reasons why a connection does not work, explained to the person who set it up; pure."""

from __future__ import annotations

from webapp.i18n.marks import N_
from webapp.llm.errors import ModelError, classify_exception

NOT_SPOKEN = N_(
    "Something is answering at this address, but not like an OpenAI-compatible server. Most addresses end in /v1."
)
NOBODY = N_(
    "Nothing is answering at this address. Check the address, and that the server is running and can be reached "
    "from here."
)
NO_PICTURES = N_("This model does not support pictures.")
_WORDS = N_(
    {
        "unauthorized": "The server did not accept the key. Check the key and what it may be used for.",
        "missing_key": "This server needs a key. Enter one under Connection.",
        "model_not_found": "The server does not have this model.",
    }
)


def error_text(exc: Exception) -> str:
    """Return what went wrong; never the server's own text, which may contain keys."""
    error = classify_exception(exc)
    if error.code == "model_unavailable" and error.status is None and not isinstance(exc, ModelError):
        kind = type(exc).__name__
        if "Timeout" in kind:
            return error.detail
        return NOBODY if "Connect" in kind else NOT_SPOKEN
    return _WORDS.get(error.code, error.detail)


def model_list_error_text(exc: Exception) -> str:
    """The same for the list of models: a URL without one does not belong to such a server."""
    return NOT_SPOKEN if classify_exception(exc).code in ("model_not_found", "malformed_output") else error_text(exc)


def picture_error_text(exc: Exception) -> str:
    """The same for a picture: a refused request means a refused picture."""
    status = classify_exception(exc).status
    return NO_PICTURES if status in (400, 404, 415, 422, 500, 501) else error_text(exc)
