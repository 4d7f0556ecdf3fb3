"""The way a person's models count tokens, learned from what they reported for recent replies; needs no tokenizer."""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import select

from webapp.db.base import db
from webapp.usage.models import REPLIES, UsageRecord

LAST = 40
MAX_SAMPLE = 1_000
"""Of the newest records: if no server reports anything, the search would never end."""
DEFAULT_FACTOR = 0.8
"""Estimates are too high; for English this is about the right factor. It is used until a model has reported."""
PRIOR_WEIGHT = 5e-4
"""How much the usual factor weighs against one reply."""


@dataclass(frozen=True, slots=True)
class Weights:
    """Tokens as a share of our estimate and of the length: models differ in what letters and symbols cost."""

    estimate: float = DEFAULT_FACTOR
    character: float = 0.0

    def tokens(self, estimated: int, characters: int) -> int:
        """Return how many tokens a model will count; whatever was learned, 0.4 to 1.3 times the estimate."""
        if not characters:
            return round(estimated * DEFAULT_FACTOR)
        price = self.estimate * estimated + self.character * characters
        return round(min(1.3 * estimated, max(0.4 * estimated, price)))


def fit_weights(seen: Sequence[tuple[int, int, int]]) -> Weights:
    """Return the weights, close to the usual ones, that best explain counts of (counted, estimated, characters)."""
    rows = [(e / counted, c / 4 / counted) for counted, e, c in seen if 0.2 * e < counted < 1.6 * e]
    if not rows:
        return Weights()
    a, b, d = (sum(x[i] * x[j] for x in rows) for i, j in ((0, 0), (0, 1), (1, 1)))
    right = [sum(x[i] for x in rows) for i in (0, 1)]
    a, d = a + PRIOR_WEIGHT, d + PRIOR_WEIGHT
    right[0] += PRIOR_WEIGHT * DEFAULT_FACTOR
    whole = a * d - b * b
    return Weights((right[0] * d - right[1] * b) / whole, (right[1] * a - right[0] * b) / whole / 4)


def weights_of(user_id: int) -> Weights:
    """Return the weights learned from a person's recent replies, or from everybody's if they have none."""
    for newest in (
        select(UsageRecord).where(UsageRecord.user_id == user_id).order_by(UsageRecord.created_at.desc()),
        select(UsageRecord).order_by(UsageRecord.usage_id.desc()),
    ):
        newest_rows = newest.limit(MAX_SAMPLE).subquery().c
        statement = select(newest_rows.input_tokens, newest_rows.estimated_tokens, newest_rows.characters).where(
            newest_rows.kind.in_(REPLIES),
            newest_rows.is_estimated.is_(False),
            newest_rows.estimated_tokens > 0,
            newest_rows.characters > 0,
            newest_rows.input_tokens > 0,
        )
        result = db.session.execute(statement.order_by(newest_rows.usage_id.desc()).limit(LAST))
        rows = [(input_count, price or 0, length or 0) for input_count, price, length in result]
        if rows:
            return fit_weights(rows)
    return Weights()
