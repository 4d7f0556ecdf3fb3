"""The journey of a conversation by its slug, since journeys are a later domain."""

from sqlalchemy import Boolean, Integer, String, column, false, or_, select, table

from webapp.db.base import db

JOURNEYS = table(
    "journeys",
    column("journey_id", Integer),
    column("slug", String),
    column("title", String),
    column("is_archived", Boolean),
    column("owner_id", Integer),
)


def find_journey(slug: str, user_id: int) -> tuple[int, str] | None:
    """Return the id and title of a journey available to a user."""
    row = db.session.execute(
        select(JOURNEYS.c.journey_id, JOURNEYS.c.title).where(
            JOURNEYS.c.slug == slug,
            JOURNEYS.c.is_archived == false(),
            or_(JOURNEYS.c.owner_id.is_(None), JOURNEYS.c.owner_id == user_id),
        )
    ).one_or_none()
    return (row.journey_id, row.title) if row else None


def journey_id_of(slug: str) -> int | None:
    """Return the id of a journey, whether or not it is still published."""
    return db.session.scalar(select(JOURNEYS.c.journey_id).where(JOURNEYS.c.slug == slug))


def slug_of(journey_id: int | None) -> str | None:
    """Return the slug of a journey; None for None. Looked up once per session and id."""
    if journey_id is None:
        return None
    cache: dict[int, str | None] = db.session.info.setdefault("journey_slugs", {})
    if journey_id not in cache:
        cache[journey_id] = db.session.scalar(select(JOURNEYS.c.slug).where(JOURNEYS.c.journey_id == journey_id))
    return cache[journey_id]
