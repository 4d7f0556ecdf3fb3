"""What settings come to that are not given, or given only in part."""

import pytest

from webapp.config import Settings


@pytest.mark.parametrize(
    ("environ", "seconds"),
    [
        ({}, 60),
        ({"MODEL_FIRST_TOKEN_TIMEOUT": "20"}, 20),
        ({"MODEL_REQUEST_TIMEOUT": "900"}, 900),
        ({"MODEL_REQUEST_TIMEOUT": "30"}, 60),
        ({"MODEL_REQUEST_TIMEOUT": "900", "MODEL_FIRST_TOKEN_TIMEOUT": "20"}, 20),
    ],
)
def test_a_silent_model_is_waited_for_longer_only_where_that_is_said(environ: dict[str, str], seconds: float) -> None:
    assert Settings.from_env({"SECRET_KEY": "x" * 64, **environ}).model.first_token_timeout == seconds
