"""All replies to somebody, a portion at a time."""

from collections.abc import Callable

import pytest
from flask import Flask

from testkit.people import Person
from tests.conversations.rows import add_conversation, add_messages
from webapp.conversations import current_messages


@pytest.mark.parametrize("size", [1, 2, 3, 4, 100])
def test_every_reply_of_theirs_comes_once_in_order(
    app: Flask, make_user: Callable[..., Person], monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    monkeypatch.setattr(current_messages, "PORTION", size)
    user, other = make_user(), make_user(email="other@example.com")
    mine = [add_conversation(app, user.user_id) for _ in range(2)]
    theirs = add_conversation(app, other.user_id)
    replies = []
    for conversation_id in (mine[1], theirs, mine[0]):
        ids = add_messages(app, conversation_id, 4)
        replies += ids[1::2] if conversation_id != theirs else []
    with app.app_context():
        found = list(current_messages.replies_of(user.user_id))
        assert [number for some in found for number in some] == replies
        assert {len(some) for some in found[:-1]} <= {size}
        assert len(found[-1]) <= size


def test_somebody_without_replies_has_no_portions(app: Flask, user: Person) -> None:
    add_conversation(app, user.user_id)
    with app.app_context():
        assert list(current_messages.replies_of(user.user_id)) == []
