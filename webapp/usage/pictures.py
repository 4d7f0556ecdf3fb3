"""Usage as pictures: tokens and cost of each day beside the day's limit, and what used most."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta

from webapp.charts import Columns, Part, stacked, stacked_columns
from webapp.usage.schemas import QuotaState, UsageLine, UsageReport

SERIES = ("chat", "memory", "schedules")
"""In the order of `UsageLine.parts`."""


@dataclass(frozen=True, slots=True)
class Pictures:
    """Columns for each day from `first` to `last`; `cost` is None where no price is known."""

    first: date
    last: date
    tokens: Columns
    cost: Columns | None


def daily_columns(report: UsageReport, first: date, last: date) -> Pictures:
    """Return the days of a report by day, those without usage included, with the limits for a day."""
    lines = {line.key: line for line in report.usage}
    days = [(first + timedelta(days=number)).isoformat() for number in range((last - first).days + 1)]
    limit = next((state for state in report.quotas if state.period == "day"), None)
    tokens = [lines[day].parts if day in lines else (0, 0, 0) for day in days]
    dollars = [[(lines[day].dollars or 0.0) if day in lines else 0.0] for day in days]
    has_price = any(line.dollars is not None for line in report.usage)
    return Pictures(
        first=first,
        last=last,
        tokens=stacked_columns(days, tokens, SERIES, limit.tokens if limit else None),
        cost=stacked_columns(days, dollars, ["cost"], limit.dollars if limit else None) if has_price else None,
    )


def bars(lines: Sequence[UsageLine]) -> list[list[Part]]:
    """Return a bar for each line, of what is in it, beside the line that used most."""
    most = max((line.tokens for line in lines), default=0)
    return [stacked(line.parts, SERIES, most) for line in lines]


def limit_bar(state: QuotaState) -> list[Part]:
    """Return a bar of the part of a limit that is used, full at the limit."""
    share = min(1.0, state.share)
    return stacked([share], ["over" if share >= 1 else "chat"], 1)
