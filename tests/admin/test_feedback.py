"""Ratings as admins see them: by day, by model and prompt version, drawn and in tables, and at what cost."""

from collections.abc import Callable
from datetime import date, timedelta

import pytest
from flask import Flask

from testkit.people import Person
from tests.support.queries import count_queries
from webapp.admin.feedback import DAYS, by_model, daily_columns
from webapp.conversations.models import Conversation, Message, MessageFeedback
from webapp.conversations.schemas import FeedbackCount
from webapp.db.base import add_row, db, now, write_transaction

TODAY = date(2026, 3, 31)


def votes(day: str, up: int, down: int, model: str | None = "m", version: str | None = "chat@1") -> FeedbackCount:
    return FeedbackCount(day=day, model=model, prompt_version=version, up=up, down=down)


def test_days_without_ratings_are_drawn_too_and_earlier_ones_are_not():
    chart = daily_columns([votes("2026-03-31", 3, 1), votes("2026-03-31", 1, 0, "n"), votes("2026-03-01", 9, 9)], TODAY)
    assert [column.label for column in chart.columns[:1] + chart.columns[-1:]] == ["2026-03-02", "2026-03-31"]
    assert len(chart.columns) == DAYS and chart.ticks == (5, 2.5, 0)
    assert list(chart.columns[-1].values) == [4, 1] and sum(column.total for column in chart.columns) == 5


def test_models_and_versions_stand_by_how_often_they_were_rated():
    rated = by_model(
        [
            votes("2026-03-31", 1, 0, "n", None),
            votes("2026-03-30", 2, 1),
            votes("2026-03-29", 4, 1),
            votes("2026-03-29", 0, 4, version="chat@2"),
            votes("2026-03-28", 0, 1, None, None),
        ]
    )
    assert [(line.model, line.prompt_version, line.up, line.down, line.share) for line in rated] == [
        ("m", "chat@1", 6, 2, 75),
        ("m", "chat@2", 0, 4, 0),
        (None, None, 0, 1, 0),
        ("n", None, 1, 0, 100),
    ]
    assert [(part.series, part.size) for part in rated[0].parts] == [("good", 75), ("bad", 25)]
    assert [(part.series, part.size) for part in rated[1].parts] == [("bad", 50)]


@pytest.fixture
def rate(app: Flask, user: Person) -> Callable[..., None]:
    """`rate(rating, days_ago, …)`: a rating of a reply of the user's."""

    def add(rating: str, days_ago: int = 0, model: str = "gpt-x", version: str = "chat@3") -> None:
        with app.app_context(), write_transaction():
            talk = add_row(Conversation(user_id=user.user_id, title="Quokkas"))
            reply = add_row(
                Message(conversation_id=talk.conversation_id, role="assistant", content="Yes.", status="complete")
            )
            db.session.add(
                MessageFeedback(
                    message_id=reply.message_id,
                    user_id=user.user_id,
                    rating=rating,
                    model=model,
                    prompt_version=version,
                    created_at=now() - timedelta(days=days_ago),
                )
            )

    return add


def test_the_page_shows_admins_what_was_rated(rate, admin_browser):
    assert "No feedback yet" in admin_browser.get("/admin/feedback").text
    for rating, days_ago in (("up", 0), ("up", 0), ("up", 3), ("down", 3)):
        rate(rating, days_ago)
    page = admin_browser.get("/admin/feedback").text
    assert page.count('class="chart-hit"') == DAYS
    assert page.count('<rect class="chart-good" x=') == 2 + 1 and page.count('<rect class="chart-bad" x=') == 1 + 1
    assert "<td>3</td><td>1</td><td>75 %</td>" in page and "chat@3" in page


def test_its_statements_do_not_grow_with_the_ratings(app, rate, admin_browser):
    sent = []
    for size in (3, 60):
        for number in range(size):
            rate("up" if number % 3 else "down", number % 29, model=f"m-{number % 5}")
        admin_browser.get("/admin/feedback")
        with app.app_context(), count_queries() as statements:
            assert admin_browser.get("/admin/feedback").status_code == 200
        sent.append(sum(statement.startswith("SELECT") for statement in statements))
    assert sent == [5, 5]
