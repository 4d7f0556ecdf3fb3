"""Dates in every language of the interface."""

from datetime import UTC, date, datetime, timedelta, timezone

import pytest

from webapp.i18n import LANGUAGES, date_texts

TODAY = date(2026, 11, 23)


def test_a_list_is_divided_into_days_then_weeks_then_months(monkeypatch):
    monkeypatch.setattr(date_texts, "_", str)
    # -1: a clock that runs ahead
    days = {"Today": (-1, 0), "Yesterday": (1,), "Previous 7 days": (2, 7), "Previous 30 days": (8, 30)}
    for heading, ago in (days | {"October": (31,), "November 2025": (365,)}).items():
        assert {date_texts.list_heading(TODAY - timedelta(days=each), TODAY, "en") for each in ago} == {heading}


@pytest.mark.parametrize("today", [TODAY, date(2026, 3, 3), date(2026, 1, 1)])
@pytest.mark.parametrize("code", LANGUAGES)
def test_every_day_of_two_years_has_a_heading_and_they_follow_one_another(code, today, monkeypatch):
    monkeypatch.setattr(date_texts, "_", str)  # "Today" and "Yesterday" are texts of the catalog, which needs a request
    headings = [date_texts.list_heading(today - timedelta(days=days), today, code) for days in range(730)]
    assert all(headings)
    changes = [one for one, before in zip(headings, [None, *headings], strict=False) if one != before]
    assert len(changes) == len(set(changes)) > 24


@pytest.mark.cases("code", "month", "earlier")
def test_months_are_named_with_the_year_where_it_is_another(code, month, earlier):
    assert date_texts.list_heading(date(2026, 10, 2), TODAY, code) == month
    assert date_texts.list_heading(date(2025, 3, 1), TODAY, code) == earlier


def test_days_and_months_have_names_in_every_language():
    assert all(len(date_texts.day_and_month_names(code)) >= 19 for code in LANGUAGES)
    assert {"May", "Sunday"} <= date_texts.day_and_month_names("en")
    assert {"März", "Sonntag"} <= date_texts.day_and_month_names("de")
    assert {"مارس", "الأحد"} <= date_texts.day_and_month_names("ar")


def test_a_moment_has_the_day_of_its_time_zone():
    moment = datetime(2026, 5, 31, 23, tzinfo=UTC)
    there = moment.astimezone(timezone(timedelta(hours=2)))
    assert [date_texts.full_date(at, "en") for at in (moment, there)] == ["31 May 2026", "1 June 2026"]
