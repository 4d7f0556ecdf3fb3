"""Classification of errors, and retry times."""

import pytest

from webapp.llm.error_bodies import parse_retry_after
from webapp.llm.errors import (
    ContextTooLong,
    ModelError,
    RateLimited,
    Unauthorized,
    classify_exception,
    classify_payload,
    split_reason,
)
from webapp.llm.sdk import retry_delay
from webapp.llm.settings import ModelSettings


@pytest.mark.cases("payload", "status", "code", "retryable")
def test_payloads(payload, status, code, retryable):
    error = classify_payload(payload, status=status)
    assert (error.code, error.retryable) == (code, retryable)
    assert error.detail.endswith((".", "”"))


def test_the_reason_is_quoted_without_what_is_private():
    error = classify_payload({"error": {"message": "At capacity:  see https://a.b/c?k=1\n(key sk-12ab)"}}, status=503)
    answered = "The model server answered with an error. Try again in a moment."  # so it was reached
    assert split_reason(error.detail) == (answered, "At capacity: see … (key …")
    assert answered in str(error) and "capacity" not in str(error)
    assert split_reason(classify_payload({"detail": "<h1>502</h1>"}).detail) == (answered, "")


@pytest.mark.cases("payload", "status", "reason")
def test_the_reason_is_found_however_it_is_wrapped(payload, status, reason):
    assert split_reason(classify_payload(payload, status=status).detail)[1] == reason


@pytest.mark.parametrize("kind", [*ModelError.__subclasses__()])
def test_every_kind_speaks_in_a_sentence(kind):
    error = kind()
    assert error.detail[0].isupper()
    assert error.detail.endswith(".")
    assert error.code in str(error)


def test_log_fields_hold_no_free_text():
    error = classify_payload(
        {"error": {"message": "secret", "code": "my secret sentence, long", "type": "server_error"}}
    )
    assert error.provider_code == "server_error"


def test_own_errors_pass_unchanged():
    error = Unauthorized()
    assert classify_exception(error) is error


@pytest.mark.cases("headers", "seconds")
def test_retry_after(headers, seconds):
    assert (classify_payload(headers, status=429).retry_after or parse_retry_after(headers, now=0)) == seconds


def test_delays_grow_are_bounded_and_end():
    settings = ModelSettings(retry_base=1, max_retry_wait=3, max_retries=4)
    delays = [retry_delay(ModelError(), attempt, settings) for attempt in range(5)]
    assert delays[4] is None
    for delay, ceiling in zip(delays[:4], (1, 2, 3, 3), strict=True):
        assert ceiling / 2 <= delay <= ceiling
    assert retry_delay(ContextTooLong(), 0, settings) is None
    assert retry_delay(RateLimited(retry_after=4), 0, settings) is None
    assert 2 <= retry_delay(RateLimited(retry_after=2), 0, settings) <= 2.1


def test_settings_show_no_key_and_want_an_address():
    assert "sk-1" not in repr(ModelSettings(api_key="sk-1", embedding_api_key="sk-12"))
    with pytest.raises(ValueError, match="http"):
        ModelSettings(base_url="localhost:8000")
