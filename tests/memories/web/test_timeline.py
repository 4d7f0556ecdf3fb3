"""Memories along time: what is counted when, what replaced what, and how much of it a page holds."""

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from flask import Flask

from testkit.memory_rows import fill_memories
from testkit.people import Person
from tests.support.queries import change_row, count_queries
from webapp.db.base import add_row, write_transaction
from webapp.memories.models import Memory
from webapp.memories.showing.timeline import MAX_ROWS, Period, timeline_of

OSLO = ZoneInfo("Europe/Oslo")


@pytest.fixture
def remember(app: Flask, user: Person) -> Callable[..., int]:
    """`remember(content, began, ended, …)`: a memory with these dates; its id."""

    def make(content: str, began: datetime, ended: datetime | None = None, **fields: Any) -> int:
        with app.app_context(), write_transaction():
            times = {"valid_from": began, "valid_to": ended}
            same = {"user_id": user.user_id, "memory_type": "fact", "statement_hash": content}
            return add_row(Memory(content=content, **times, **(same | fields))).memory_id

    return make


def moment(year: int, month: int = 6, day: int = 15, hour: int = 12) -> datetime:
    return datetime(year, month, day, hour, tzinfo=UTC)


def test_what_replaced_what_is_one_row_with_its_spans(app, user, remember):
    oslo = remember("Lives in Oslo", moment(2024))
    bath = remember("Lives in Bath", moment(2023), moment(2024), superseded_by_id=oslo)
    bristol = remember("Lives in Bristol", moment(2022), moment(2023), superseded_by_id=bath)
    tea = remember("Likes tea", moment(2021))
    milk = remember("Likes milk", moment(2021, 7), moment(2021, 8), superseded_by_id=tea)  # which was right after all
    with app.app_context():
        found = timeline_of(user.user_id, UTC)
    assert [[span.memory_id for span in row] for row in found.rows] == [[bristol, bath, oslo], [milk, tea]]
    moved = found.rows[0]
    assert [span.ended for span in moved] == [moment(2023), moment(2024), None]
    for before, after in zip(moved, moved[1:], strict=False):
        assert before.start + before.width == pytest.approx(after.start, abs=0.2), "the next begins where one ends"
    assert moved[-1].start + moved[-1].width == pytest.approx(1_000)


def test_months_are_the_readers_and_a_period_shows_what_happened_in_it(app, user, remember):
    new_year = remember("Began the year", moment(2024, 12, 31, 23))  # in Oslo it is January
    remember("Of another year", moment(2023))
    ended = remember("Ended in January", moment(2022), moment(2025, 1, 20))
    with app.app_context():
        found = timeline_of(user.user_id, OSLO, Period(2025, 1))
        nothing = timeline_of(user.user_id, OSLO, Period(2024, 12))
        year = timeline_of(user.user_id, OSLO, Period(2025))
    assert {span.memory_id for row in found.rows for span in row} == {new_year, ended}
    assert not nothing.rows and len(year.rows) == 2
    bars = {(bar.period.year, bar.period.month): (bar.learned, bar.ended) for bar in found.bars}
    assert bars[2025, 1] == (1, 1) and bars[2024, 12] == (0, 0) and bars[2022, 6] == (1, 0)


def test_of_many_years_each_bar_is_one(app, user, remember):
    for year in (2001, 2001, 2010):
        remember(f"In {year}", moment(year))
    with app.app_context():
        bars = timeline_of(user.user_id, UTC).bars
    assert (bars[0].period, bars[0].learned, bars[0].learned_height) == (Period(2001), 2, 100)
    assert len(bars) == datetime.now(UTC).year - 2000


def test_only_what_is_ones_own_and_in_use(app, user, make_user, remember):
    remember("Put away", moment(2024), is_archived=True)
    remember("In doubt", moment(2024), needs_review=True)
    remember("Of a space", moment(2024), space_id=1)
    seen = remember("A preference", moment(2024), memory_type="preference")
    remember("A fact", moment(2024))
    other = make_user().user_id
    with app.app_context():
        found = timeline_of(user.user_id, UTC, None, "preference")
        assert [[span.memory_id for span in row] for row in found.rows] == [[seen]]
        assert len(timeline_of(user.user_id, UTC).rows) == 2
        others = timeline_of(other, UTC)
    assert not others.rows and not others.bars


def test_a_circle_of_replacements_ends(app, user, remember):
    one = remember("One", moment(2023))
    other = remember("Other", moment(2024), superseded_by_id=one)
    change_row(app, Memory, one, superseded_by_id=other)
    with app.app_context():
        assert sum(len(row) for row in timeline_of(user.user_id, UTC).rows) == 2


def test_the_chart_of_a_first_month_is_that_of_a_year(app, user, remember):
    remember("Likes tea", datetime.now(UTC))
    with app.app_context():
        bars = timeline_of(user.user_id, UTC).bars
    assert [bar.learned for bar in bars] == [0] * 11 + [1]
    assert bars[0].period != bars[-1].period


def test_the_page_narrows_by_links_and_survives_odd_ones(client, remember, browser):
    assert re.search('Nothing to show yet<.*"/memories/new"', browser.get("/memories/timeline").text, re.S)
    number = remember("Lives in <Oslo>", moment(2024))
    remember("Likes tea", moment(2024, 7), moment(2024, 8), superseded_by_id=remember("Likes tea", moment(2024, 8)))
    page = browser.get("/memories/timeline").text
    assert f'href="/memories/{number}"' in page and "Lives in &lt;Oslo&gt;" in page and "June 2024" in page
    assert "/memories/timeline?year=2024&amp;month=6" in page and page.count("Likes tea") == 1
    assert "Nothing was learned" in browser.get("/memories/timeline?year=2023").text
    for odd in ("year=x", "year=99999999", "year=-1", "year=2024&month=99", "kind=%00", "month=3", "year=1970"):
        assert browser.get(f"/memories/timeline?{odd}").status_code == 200, odd
    client.delete(f"/api/memories/{number}")
    assert "Oslo" not in browser.get("/memories/timeline").text, "what is forgotten leaves it"


def test_of_a_thousand_a_page_is_as_small_as_of_a_hundred(app, user, browser):
    with app.app_context():
        fill_memories(user.user_id, 1_000, model="m", width=4)
    browser.get("/memories/timeline")
    with app.app_context(), count_queries() as queries:
        answer = browser.get("/memories/timeline")
    assert len(answer.data) < 150_000
    assert len(re.findall('class="timeline-when"', answer.text)) == MAX_ROWS
    assert sum(query.startswith("SELECT") for query in queries) <= 6, queries


def test_periods_have_bounds_where_clocks_change():
    began, ended = Period(2026, 3).bounds(OSLO)
    assert ended - began == timedelta(days=31, hours=-1)
    assert Period(2025, 12).bounds(UTC)[1] == Period(2026).bounds(UTC)[0] == moment(2026, 1, 1, 0)
