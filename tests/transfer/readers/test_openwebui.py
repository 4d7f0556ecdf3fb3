"""What Open WebUI folds in a reply: nested, left open by a broken stream, or written by a person."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webapp.transfer.readers.openwebui import without_details

THOUGHT = '<details type="reasoning" done="true"><summary>Thought</summary>\n'


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("Answer", ("Answer", "", 0)),
        (f"{THOUGHT}> use <details>x</details>\n</details>\nAnswer", ("Answer", "use <details>x</details>", 0)),
        (f"{THOUGHT}> one\n</details>\nA\n{THOUGHT}> two\n</details>\nB", ("A\n\nB", "one\n\ntwo", 0)),
        ('<details type="reasoning" done="false">\n<summary>Thinking…</summary>\n> hm\n> so\nAnswer', ("Answer", "hm\nso", 0)),  # noqa: E501
        ('<details type="tool_calls" name="calc" result="&quot;4&quot;">\n<summary>Ran</summary>\n</details>\nAnswer', ("Answer", "", 1)),  # noqa: E501
        ('<details type="code_interpreter">\n```python\nprint(1)\n```\n</details>\nAnswer', ("Answer", "", 1)),
        ("<details><summary>More</summary>Mine</details>", ("<details><summary>More</summary>Mine</details>", "", 0)),
        ('Open <details type="reasoning">', ("Open", "", 0)),
    ],
)  # fmt: skip
def test_what_is_folded_is_taken_out(content, expected):
    assert without_details(content) == expected


@given(st.lists(st.sampled_from([THOUGHT, "</details>", "<details>", "> a\n", "text\n", "<"]), max_size=12))
def test_any_order_of_marks_ends(pieces):
    shown, _, steps = without_details("".join(pieces))
    assert '<details type="reasoning"' not in shown and steps == 0
