"""Feedback on replies: counts for admins, drawn by day, model and prompt version, and the replies they may read."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta

from flask import render_template

from webapp.accounts.auth import writes
from webapp.conversations import feedback
from webapp.conversations.schemas import WORDS, FeedbackCount
from webapp.db.base import db, now
from webapp.http.validation import PageQuery
from webapp.http.views import PageBlueprint, ViewResult, requested_cursor
from webapp.i18n.request_language import translate
from webapp.usage.charts import Columns, Part, stack, stacked_columns

blueprint = PageBlueprint("admin_feedback", __name__, access="admin")

DAYS = 30
PAGE_SIZE = 20
SERIES = ("good", "bad")


@dataclass(frozen=True, slots=True)
class RatingRow:
    """The ratings of replies of one model with one version of the prompt, and the bar that shows them."""

    model: str | None
    prompt_version: str | None
    up: int
    down: int
    parts: Sequence[Part]

    @property
    def share(self) -> int:
        """Return how many out of a hundred were good."""
        return round(100 * self.up / (self.up + self.down))


@blueprint.get("/admin/feedback")
@writes  # every look is recorded
def index() -> ViewResult:
    """Counts by day, model and prompt version; below them the replies that people agreed to share."""
    page = feedback.readable(PageQuery(limit=PAGE_SIZE, cursor=requested_cursor()))
    counts, today = feedback.counts(DAYS), now().date()
    answer = render_template(
        "admin/feedback.html",
        counts=counts,
        days=daily_columns(counts, today),
        ends=(today - timedelta(days=DAYS - 1), today),
        rated=by_model(counts),
        readable=page.items,
        next_cursor=page.next_cursor,
        words={reason: translate(word) for words in WORDS.values() for reason, word in words.items()},
        date_of=date.fromisoformat,
    )
    db.session.commit()
    return answer


def daily_columns(counts: Sequence[FeedbackCount], today: date) -> Columns:
    """Good and bad ratings of each of the last days, those without any included."""
    days = [(today - timedelta(days=number)).isoformat() for number in reversed(range(DAYS))]
    totals: dict[str, list[int]] = {day: [0, 0] for day in days}
    for line in counts:
        if line.day in totals:  # the oldest hours counted are of a day before
            totals[line.day][0] += line.up
            totals[line.day][1] += line.down
    return stacked_columns(days, list(totals.values()), SERIES)


def by_model(counts: Sequence[FeedbackCount]) -> list[RatingRow]:
    """Ratings by model and prompt version, those with the most first; each bar stands beside the longest."""
    totals: dict[tuple[str | None, str | None], list[int]] = defaultdict(lambda: [0, 0])
    for line in counts:
        totals[line.model, line.prompt_version][0] += line.up
        totals[line.model, line.prompt_version][1] += line.down
    maximum = max(map(sum, totals.values()), default=0)
    rated = [RatingRow(*key, up, down, stack((up, down), SERIES, maximum)) for key, (up, down) in totals.items()]
    return sorted(rated, key=lambda line: (-line.up - line.down, line.model or "", line.prompt_version or ""))
