"""How a call is kept with a reply."""

import pytest

from webapp.tools.calls import storable


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ("a\x00b\x00\x00c", "abc"),
        (r"if (c == '\u0000') {", r"if (c == '\u0000') {"),
        ("\\\\\x00\\u0000", r"\\\u0000"),
        ("half \ud83d of one", "half ? of one"),
    ],
)
def test_a_record_can_be_stored_whatever_a_tool_or_a_model_says(said: str, kept: str) -> None:
    assert storable({"output": {"text": said}, "n": [said]}) == {"output": {"text": kept}, "n": [kept]}
