"""What tests of retrieval and of summaries share: conversations written straight into the tables, at their dates."""

from collections.abc import Callable, Sequence
from datetime import timedelta

import pytest
from flask import Flask

from tests.support.dialogue import START, Dialogue, write_dialogue


@pytest.fixture
def tell(app: Flask) -> Callable[..., Dialogue]:
    """`tell(person, [(role, text), ...], day=0, title=…, is_temporary=False)`: a conversation that was had."""

    def make(person, lines: Sequence[tuple[str, str]], *, day: int = 0, title: str = "A talk", **fields) -> Dialogue:
        with app.app_context():
            return write_dialogue(person.user_id, lines, START + timedelta(days=day), title=title, **fields)

    return make
