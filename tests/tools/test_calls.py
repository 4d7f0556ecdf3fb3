"""The arguments of a call, in whatever form a model server sends them."""

import pytest

from webapp.tools.calls import parse_arguments


@pytest.mark.parametrize(
    ("sent", "meant"),
    [
        ('{"cups": 2}', {"cups": 2}),
        ("", {}),
        ('{"cups": 2}{"cups": 2}', {"cups": 2}),
        ('{}{"cups": 2}', {"cups": 2}),
        ('{"cups": 2}{}', {"cups": 2}),
        ('```json\n{"tea": "Earl\nGrey"}\n```', {"tea": "Earl\nGrey"}),
        ("{'cups': 2,}", {"cups": 2}),
        ('"{\\"cups\\": 2}"', {"cups": 2}),
        ('[{"cups": 2}]', {"cups": 2}),
        ('{"cups": 2}<|im_end|>', {"cups": 2}),
        ('{"cups": 2', {}),
        ("null", {}),
        ("[" * 100_000, {}),
    ],
)
def test_arguments_are_read_as_they_were_meant(sent, meant):
    assert parse_arguments(sent) == meant
