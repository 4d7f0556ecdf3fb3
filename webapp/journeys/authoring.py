"""Journeys written in the browser or over the API: drafts, versions, publishing, rolling back, archiving.

A journey without an owner is for everyone and managed by the admins; one from a file is changed there.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Select, delete, false, or_, select

from webapp.accounts.models import User
from webapp.accounts.signals import account_deleted
from webapp.db.base import add_row, count_rows, db, get_or_raise, now
from webapp.errors import Conflict, Forbidden, Invalid, NotFound, require
from webapp.extensions import app_settings
from webapp.i18n import SOURCE
from webapp.journeys.assessment_merge import PointState
from webapp.journeys.definitions import MAX_SLUG, JourneyBody, definition_in, definition_of, fixture_of, unused_slug
from webapp.journeys.guidance import directive
from webapp.journeys.journey_files import JourneyFixture, digest_of, write_journey, write_points
from webapp.journeys.models import ConversationPoint, Journey, JourneyVersion
from webapp.journeys.point_views import PointView
from webapp.journeys.points import points_of
from webapp.llm.errors import ModelError
from webapp.providers.clients import completions

MAX_OWN = 50
PREVIEW_TOKENS = 400


@dataclass(frozen=True, slots=True)
class EditableJourney:
    """A journey as its author sees it: its row, the current definition (the draft, if there is one), its versions."""

    journey: Journey
    definition: dict[str, Any]
    versions: Sequence[JourneyVersion]

    @property
    def status(self) -> str:
        """draft (never published), published or archived."""
        if not self.journey.is_archived:
            return "published"
        return "archived" if self.journey.published_version or self.journey.source == "file" else "draft"


def own_journeys(user_id: int) -> Sequence[Journey]:
    """Return the journeys a user may change: their own and, for admins, those of the installation."""
    conditions = [Journey.owner_id == user_id]
    if get_or_raise(User, user_id).is_admin:
        conditions.append(Journey.owner_id.is_(None))
    return db.session.scalars(
        select(Journey).where(or_(*conditions)).order_by(Journey.is_archived, Journey.title)
    ).all()


def get_editable(user_id: int, slug: str, *, lock: bool = False) -> EditableJourney:
    """Return a journey with its draft and versions, for those who may change it. Raises NotFound, Forbidden."""
    statement = select(Journey).where(Journey.slug == slug)
    row = db.session.scalar(statement.with_for_update() if lock else statement)
    if row is None or row.owner_id not in (None, user_id):
        raise NotFound("There is no such journey.")
    if row.owner_id is None and not get_or_raise(User, user_id).is_admin:
        if row.is_archived:
            raise NotFound("There is no such journey.")
        raise Forbidden("Only administrators can change journeys for everyone. Duplicate it to make your own.")
    versions = db.session.scalars(
        select(JourneyVersion).where(JourneyVersion.journey_id == row.journey_id).order_by(JourneyVersion.number.desc())
    ).all()
    return EditableJourney(row, row.draft or definition_of(fixture_of(row, points_of(row.journey_id))), versions)


def create_draft(user_id: int, body: JourneyBody, *, is_private: bool) -> EditableJourney:
    """Create a journey, which nobody else sees before it is published. Raises Conflict, Invalid."""
    owner_id = user_id if is_private or not get_or_raise(User, user_id).is_admin else None
    if owner_id is not None and count_rows(Journey.owner_id == owner_id) >= MAX_OWN:
        raise Conflict("You can have up to %(max_own)s journeys of your own. Delete one first.", max_own=MAX_OWN)
    fixture = body.complete()
    slug = free_slug(fixture.slug)  # first: what takes it from here on is a conflict, too
    if body.slug is not None:
        holder = db.session.scalar(select(Journey).where(Journey.slug == fixture.slug))
        if holder is not None and holder.owner_id in (None, user_id):
            raise Conflict("There is already a journey with this slug.")
    definition = {**definition_of(fixture), "slug": slug}
    row = Journey(
        slug=slug,
        **fixture.model_dump(exclude={"slug", "points"}),
        position=1_000,
        source_hash="",
        is_archived=True,
        owner_id=owner_id,
        source="editor",
        draft=definition,
    )
    add_row(row)
    return EditableJourney(row, definition, [])


def free_slug(base: str) -> str:
    """Return the slug or a free variant of it, without revealing that another user has a journey of that name."""
    alike = Journey.slug.startswith(base[:MAX_SLUG], autoescape=True)
    return unused_slug(base, set(db.session.scalars(select(Journey.slug).where(alike))))


def save_draft(user_id: int, slug: str, body: JourneyBody) -> EditableJourney:
    """Change the draft of a journey; what is published stays. Raises NotFound, Forbidden, Conflict, Invalid."""
    work = get_editable(user_id, slug, lock=True)
    if work.journey.source == "file":
        raise Conflict("This journey is kept in a file. Change it there, or duplicate it to change the copy here.")
    if body.slug not in (None, slug):
        raise Invalid.field("slug", "cannot be changed; duplicate the journey instead")
    definition = {**definition_of(body.complete()), "slug": slug}
    work.journey.draft, work.journey.updated_at = definition, now()
    if work.journey.published_version is None:
        work.journey.title, work.journey.description = definition["title"], definition["description"]
    db.session.flush()
    return EditableJourney(work.journey, definition, work.versions)


def publish(user_id: int, slug: str, number: int | None = None) -> EditableJourney:
    """Publish the draft, or an earlier version, as a new version. Raises NotFound, Forbidden, Conflict."""
    work = get_editable(user_id, slug, lock=True)
    row, definition = work.journey, work.journey.draft
    if number is not None:
        versions = {version.number: version.definition for version in work.versions}
        definition = require(versions.get(number), "There is no such version.")
    elif definition is not None:
        number = 1 + max((version.number for version in work.versions), default=0)
        db.session.add(
            JourneyVersion(journey_id=row.journey_id, number=number, definition=definition, author_id=user_id)
        )
    else:  # it was archived
        if work.status == "draft":
            raise Conflict("There is nothing to publish.")
        row.is_archived, row.updated_at = False, now()
        db.session.flush()
        return get_editable(user_id, slug)
    fixture = JourneyFixture.model_validate(definition)
    write_journey(row, fixture, digest_of(fixture), row.position)
    write_points(row, fixture.points)
    row.published_version, row.draft, row.is_archived = number, None, False
    db.session.flush()
    return get_editable(user_id, slug)


def duplicate(user_id: int, slug: str, *, is_private: bool = True, language: str = SOURCE) -> EditableJourney:
    """Copy a visible journey, in `language`, into a draft of the user's own. Raises NotFound, Conflict."""
    row = visible_journey(user_id, slug)
    if row is None:
        definition = get_editable(user_id, slug).definition
    else:
        definition = definition_of(fixture_of(row, points_of(row.journey_id)))
        if row.source == "file":
            definition = definition_in(definition, language)
    copy = {**definition, "slug": None, "title": f"{definition['title'][:240]} (copy)"}
    return create_draft(user_id, JourneyBody.model_validate(copy), is_private=is_private)


def archive(user_id: int, slug: str) -> None:
    """Withdraw a journey from new conversations; an unpublished draft is deleted. Raises NotFound, Forbidden."""
    row = get_editable(user_id, slug, lock=True).journey
    if row.source == "editor" and row.published_version is None:
        db.session.delete(row)
    else:
        row.is_archived, row.updated_at = True, now()
    db.session.flush()


def visible_journeys(user_id: int) -> Select[Journey]:
    """Return the journeys available to a user."""
    is_theirs = or_(Journey.owner_id.is_(None), Journey.owner_id == user_id)
    return select(Journey).where(Journey.is_archived == false(), is_theirs)


def visible_journey(user_id: int, slug: str) -> Journey | None:
    """Return a journey available to a user."""
    return db.session.scalar(visible_journeys(user_id).where(Journey.slug == slug))


@account_deleted.connect
def _account_deleted(_sender: object, *, user_id: int) -> None:
    """Delete the journeys that belong to a user alone."""
    db.session.execute(delete(Journey).where(Journey.owner_id == user_id))


@dataclass(frozen=True, slots=True)
class TrialResult:
    """The request for the first point, and the answer, or an `error`."""

    prompt: str
    question: str
    model: str
    error: str = ""


def preview_opening(definition: Mapping[str, Any]) -> TrialResult:
    """Return the model's opening of a definition's first point. The caller must hold no database connection."""
    point = ConversationPoint(**definition["points"][0])
    task = directive(PointView(point, PointState(), [], now()))
    model = app_settings().chat_model or None
    messages = [{"role": "system", "content": definition["system_prompt"]}, {"role": "user", "content": task}]
    try:
        answer = completions().complete_text(messages, model=model, max_tokens=PREVIEW_TOKENS)
    except ModelError as error:
        return TrialResult(task, "", model or "", error.detail)
    return TrialResult(task, answer.text, answer.model)
