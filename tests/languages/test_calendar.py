"""Dates in every language of the interface."""

from __future__ import annotations

from datetime import date, timedelta

import pytest

from webapp.languages import LANGUAGES, calendar

TODAY = date(2026, 11, 23)


@pytest.mark.parametrize("code", LANGUAGES)
def test_every_day_of_two_years_has_a_heading_and_they_follow_one_another(
    code: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(calendar, "_", str)  # "Today" and "Yesterday" are texts of the catalog, which needs a request
    headings = [calendar.day_heading(TODAY - timedelta(days=days), TODAY, code) for days in range(730)]
    assert all(headings)
    changes = [one for one, before in zip(headings, [None, *headings], strict=False) if one != before]
    assert len(changes) == len(set(changes)) > 24


@pytest.mark.parametrize(
    ("code", "month", "earlier"),
    [("de", "Oktober", "März 2025"), ("fr", "Octobre", "Mars 2025"), ("zh", "十月", "2025年3月")],
)
def test_months_are_named_with_the_year_where_it_is_another(code: str, month: str, earlier: str) -> None:
    assert calendar.day_heading(date(2026, 10, 2), TODAY, code) == month
    assert calendar.day_heading(date(2025, 3, 1), TODAY, code) == earlier
