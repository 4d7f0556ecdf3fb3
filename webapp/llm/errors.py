"""Errors of models, in words a user can act on; a provider's reason is shortened, without URLs and keys."""

import re
from typing import Any, ClassVar

from .error_bodies import clean_reason, code_for_log, error_fields, parse_retry_after, wait_in

_REASON_INTRO = " The model server says: “"


def split_reason(detail: str) -> tuple[str, str]:
    """Return a detail without the reason at its end, and the reason without a full stop; empty if there is none."""
    before, _, reason = detail.partition(_REASON_INTRO)
    return before, reason.removesuffix("”").removesuffix(".")


class ModelError(Exception):
    """A model call failed; `detail` tells the user what to do, `code` is stable, `retryable` says whether trying helps.

    `reason` is the provider's own, quoted at the end of the detail; `retry_after` is in seconds; `status` and
    `provider_code` are for logs; `answer` is the completion that was paid for and is of no use, if there was one.
    """

    code: ClassVar[str] = "model_unavailable"
    default_detail: ClassVar[str] = "The model could not be reached. Try again in a moment."
    default_retryable: ClassVar[bool] = True

    def __init__(
        self,
        detail: str | None = None,
        *,
        retryable: bool | None = None,
        retry_after: float | None = None,
        status: int | None = None,
        provider_code: str | None = None,
        reason: str = "",
    ) -> None:
        self.detail = (detail or self.default_detail) + (f"{_REASON_INTRO}{reason}”" if reason else "")
        self.retryable = self.default_retryable if retryable is None else retryable
        self.retry_after = retry_after
        self.status = status
        self.provider_code = provider_code
        self.answer: Any = None
        # Without the reason, which may quote what was sent: RQ keeps the text of an exception, and logs do.
        super().__init__(f"{self.code}: {detail or self.default_detail}")


class ModelUnavailable(ModelError):
    """The server cannot be reached, is overloaded, or answers with an error of some other kind."""


class ModelSilent(ModelUnavailable):
    """The server has sent nothing for as long as one waits."""

    default_detail = "The model did not answer in time. Try again in a moment."


class MissingKey(ModelError):
    """No API key is set and the server requires one."""

    code = "missing_key"
    default_detail = (
        "The model server requires an API key. Enter one for the connection, or set OPENAI_API_KEY, or "
        "OPENAI_BASE_URL for your own server."
    )
    default_retryable = False


class NoModel(ModelError):
    """No model is connected: the screen tour is all there is."""

    code = "no_model"
    default_detail = "No language model is connected. An administrator connects one under Administration, Models."
    default_retryable = False


class Unauthorized(ModelError):
    """The server does not accept the key."""

    code = "unauthorized"
    default_detail = (
        "The model server did not accept the API key. Check the connection’s key, or OPENAI_API_KEY, and what "
        "it may be used for."
    )
    default_retryable = False


class RateLimited(ModelError):
    """Too many requests, or the quota is used up."""

    code = "rate_limited"
    default_detail = "The model server is receiving too many requests. Wait a moment and try again."


class ContextTooLong(ModelError):
    """The prompt is longer than the model can read."""

    code = "context_too_long"
    default_detail = (
        "This is longer than the model can read. Shorten the message, or choose a model with a larger context."
    )
    default_retryable = False


class ModelNotFound(ModelError):
    """The server does not have that model, or the URL is not an OpenAI-compatible API."""

    code = "model_not_found"
    default_detail = (
        "The model server does not have this model. Check the model's name and the address of the connection, "
        "or OPENAI_BASE_URL."
    )
    default_retryable = False


class RefusedByModel(ModelError):
    """The model or a content filter declined to answer."""

    code = "refused"
    default_detail = "The model declined to answer this. Rephrase the message and try again."
    default_retryable = False


class MalformedOutput(ModelError):
    """The answer is invalid, or does not have the requested form."""

    code = "malformed_output"
    default_detail = "The model's answer could not be read. Try again, or choose another model."


class CutOffAnswer(MalformedOutput):
    """The answer reached its length limit; `text` is the part that arrived."""

    default_detail = "The model's answer was cut off before its end. Allow more tokens for it."

    def __init__(self, text: str = "") -> None:
        super().__init__()
        self.text = text


class InterruptedAnswer(ModelError):
    """The answer stopped before its end."""

    code = "interrupted"
    default_detail = "The connection to the model broke off in the middle of the answer. Try again."


_CONTEXT_CODES = {"context_length_exceeded", "context_window_exceeded", "string_above_max_length", "request_too_large"}
_CONTEXT_WORDS = (
    "context length",
    "context_length",
    "context window",
    "context size",
    "context limit",
    "maximum context",
    "prompt is too long",
    "exceeds the available context",
    "input is too long",
    "reduce the length",
    "maximum prompt length",
    "maximum model length",
    "model token limit",
    "max_new_tokens` must be",
    "range of input length",
)
_CONTEXT_FORM = re.compile(
    r"(?:prompt|input)\b[^.;]{0,40}exceeds? (?:the )?(?:max|model)|less than \d{1,9} tokens"
    r"|too many tokens(?!, please wait)"
)
_REFUSAL_CODES = {"content_filter", "content_policy_violation", "responsibleaipolicyviolation", "safety"}
_QUOTA_CODES = {"insufficient_quota", "billing_hard_limit_reached", "billing_not_active"}
_KEY_CODES = {"invalid_api_key", "authentication_error", "permission_denied", "permission_error"}
_MODEL_CODES = {"model_not_found", "model_not_available", "unknown_model"}
_RATE_CODES = {"rate_limit_exceeded", "rate_limit_error", "requests", "tokens", "too_many_requests"}
_BAD_REQUEST_CODES = {"invalid_request_error", "bad_request"}


def classify_payload(
    payload: object, *, status: int | None = None, retry_after: float | None = None, has_key: bool = True
) -> ModelError:
    """Classify an error body, from an HTTP answer (with its status) or from the middle of a stream (without)."""
    message, codes, inner_status = error_fields(payload)
    status = status or inner_status
    retry_after = wait_in(payload) if retry_after is None else retry_after
    text = message.lower()
    common: dict[str, Any] = {"status": status, "provider_code": code_for_log(codes)}
    quoted = common | {"reason": clean_reason(message)}
    if NoModel.code in codes:
        return NoModel(**common)
    if codes & _CONTEXT_CODES or status == 413 or (status != 429 and _is_too_long(text)):
        return ContextTooLong(**common)
    if codes & _REFUSAL_CODES:
        return RefusedByModel(**quoted)
    if codes & _QUOTA_CODES or status == 402:
        detail = (
            "The quota of the model’s API key is used up. Choose another model, or ask an administrator to check the "
            "plan and billing with the provider."
        )
        return RateLimited(detail, retryable=False, **quoted)
    if codes & _KEY_CODES or status in (401, 403):
        details = quoted if status == 403 else common  # what may be meant besides the key: the country, the content
        return Unauthorized(**details) if has_key else MissingKey(**details)
    if codes & _MODEL_CODES or status == 404:
        return ModelNotFound(**quoted)
    if status == 429 or codes & _RATE_CODES:
        return RateLimited(retry_after=retry_after, **quoted)
    bad_request = status is not None and 300 <= status < 500 and status not in (408, 409, 425)
    if bad_request or (status is None and codes & _BAD_REQUEST_CODES):
        detail = "The model server did not accept the request. Check that the model and the address fit each other."
        return ModelUnavailable(detail, retryable=False, **quoted)
    detail = "The model server answered with an error. Try again in a moment."
    return ModelUnavailable(detail, retry_after=retry_after, **quoted)


def _is_too_long(text: str) -> bool:
    return any(words in text for words in _CONTEXT_WORDS) or _CONTEXT_FORM.search(text) is not None


_CONNECT_TIMEOUTS = {"ConnectTimeout", "ConnectionTimeoutError"}
"""httpx's and aiohttp's."""


def classify_exception(exc: BaseException, *, has_started: bool = False, has_key: bool = True) -> ModelError:
    """Return a `ModelError` for any exception of the SDK or an HTTP library, by attributes and type names alone."""
    if isinstance(exc, ModelError):
        return exc
    response = getattr(exc, "response", None)
    status = getattr(exc, "status_code", None)
    if response is not None and isinstance(status, int):
        body = getattr(exc, "body", None)
        payload = body if body is not None else getattr(exc, "message", "")
        return classify_payload(
            payload, status=status, retry_after=parse_retry_after(response.headers), has_key=has_key
        )
    if has_started:
        return InterruptedAnswer()
    # Why the SDK gave up, its cause says. Whoever could not be reached in time was not silent.
    cause = exc.__cause__ or exc
    was_reached = _CONNECT_TIMEOUTS.isdisjoint({type(exc).__name__, type(cause).__name__})
    if was_reached and (isinstance(cause, TimeoutError) or "Timeout" in type(cause).__name__):
        return ModelSilent()
    if isinstance(exc, ValueError) and not isinstance(exc, OSError):  # Python's errors of certificates are both
        return MalformedOutput()
    if type(exc).__name__ == "MissingCredentialsError" or "api_key" in str(exc):
        return MissingKey()
    return ModelUnavailable()
