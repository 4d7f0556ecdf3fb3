"""Journeys from their files: all are checked before any is written; what users have said is never touched."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import AfterValidator, Field, ValidationError, field_validator
from sqlalchemy import delete, select
from yaml.constructor import ConstructorError

from webapp.db.base import db, now
from webapp.errors import DomainError
from webapp.extensions import app_settings
from webapp.http.validation import Input, Lines, not_blank
from webapp.journeys.models import ConversationPoint, Journey, PointVectors

FIXTURES = Path(__file__).resolve().parent / "fixtures"
MAX_FILE_BYTES = 1_000_000
MAX_DIGITS = 100

Slug = Annotated[str, Field(pattern=r"^[a-z0-9]+(?:-[a-z0-9]+)*$", max_length=100)]
Words = Annotated[Lines, AfterValidator(not_blank)]
Title = Annotated[Words, Field(max_length=255)]
Text = Annotated[Words, Field(max_length=10_000)]
Item = Annotated[Words, Field(max_length=500)]
Items = Annotated[list[Item], Field(min_length=1, max_length=50)]


class PointFixture(Input):
    """A conversation point as a file describes it."""

    slug: Slug
    title: Title
    description: Text
    curiosity_prompt: Text
    system_message_template: Text
    elicitation_goals: Items
    example_questions: Items
    completion_criteria: Items
    suggested_questions: list[Item] = Field(default_factory=list, max_length=10)
    semantic_keywords: Items
    confidence_threshold: float = Field(0.7, ge=0.1, le=1.0, strict=False)
    keeps: Literal["days", "weeks", "months", "years", "always"] | None = None


class JourneyFixture(Input):
    """A journey as a file describes it; its points come in the order in which they are shown."""

    slug: Slug
    title: Title
    description: Text
    system_prompt: Text
    front_page: Title | None = None
    points: list[PointFixture] = Field(min_length=1, max_length=100)

    @field_validator("points")
    @classmethod
    def _each_slug_once(cls, points: list[PointFixture]) -> list[PointFixture]:
        slugs = [point.slug for point in points if point.slug]
        duplicates = sorted({slug for slug in slugs if slugs.count(slug) > 1})
        if duplicates:
            raise ValueError(f"more than one point has the slug {', '.join(duplicates)}")
        return points


class _Loader(yaml.SafeLoader):
    """YAML in which no few characters take long: whole numbers are no longer than people write them, and there are no
    merge keys, which multiply."""

    def flatten_mapping(self, node: yaml.MappingNode) -> None:
        for key, _value in node.value:
            if key.tag == "tag:yaml.org,2002:merge":
                raise ConstructorError(problem="“<<” cannot be used here", problem_mark=key.start_mark)

    def construct_whole(self, node: yaml.ScalarNode) -> int:
        if len(node.value) > MAX_DIGITS:
            raise ConstructorError(problem="a number is too long", problem_mark=node.start_mark)
        return self.construct_yaml_int(node)


_Loader.add_constructor("tag:yaml.org,2002:int", _Loader.construct_whole)


def load_yaml(text: str | bytes) -> Any:
    """Return what a text in YAML holds; errors are those of the library."""
    return yaml.load(text, _Loader)  # noqa: S506 - a safe one


class FixtureError(DomainError):
    """Files that cannot be loaded; `problems` has a line for each problem, with file and path."""

    title = "The journeys cannot be loaded"

    def __init__(self, problems: Sequence[str]):
        super().__init__("\n".join(problems))
        self.problems = list(problems)


@dataclass(frozen=True)
class LoadResult:
    """The result of loading, as slugs; points as `journey/point`."""

    created: list[str]
    updated: list[str]
    unchanged: list[str]
    differing: list[str]
    archived: list[str]


def folders() -> list[Path]:
    """Return where journeys come from: the shipped ones, and the folder with the installation's own."""
    folder = app_settings().journeys_folder
    return [FIXTURES, *([folder] if folder is not None else [])]


def read_fixtures(*folders: Path) -> list[tuple[JourneyFixture, str]]:
    """Return the journeys in folders, by file name, with a hash of each. Raises FixtureError naming file and path."""
    fixtures: list[tuple[JourneyFixture, str]] = []
    lines: list[str] = []
    files = [path for folder in folders or (FIXTURES,) for path in _files(folder)]
    paths: dict[str, str] = {}
    for path in files:
        try:
            fixture, digest = _read(path)
        except FixtureError as error:
            lines += error.problems
            continue
        if fixture.slug in paths:
            lines.append(f"{path.name}: slug: {fixture.slug} is the slug of {paths[fixture.slug]} too")
        paths[fixture.slug] = path.name
        fixtures.append((fixture, digest))
    if lines:
        raise FixtureError(lines)
    return fixtures


def _files(folder: Path) -> list[Path]:
    paths = sorted(path for form in ("json", "yaml", "yml") for path in folder.glob(f"*.{form}"))
    if not paths:
        raise FixtureError([f"{folder}: there is no JSON file"])
    return paths


def _read(path: Path) -> tuple[JourneyFixture, str]:
    raw = path.read_bytes()
    if len(raw) > MAX_FILE_BYTES:
        raise FixtureError([f"{path.name}: is larger than {MAX_FILE_BYTES:,} bytes"])
    try:
        data = json.loads(raw) if path.suffix == ".json" else load_yaml(raw)
    except yaml.YAMLError as error:
        raise FixtureError([f"{path.name}: {' '.join(str(error).split())[:300]}"]) from None
    except json.JSONDecodeError as error:
        raise FixtureError([f"{path.name}: line {error.lineno}, column {error.colno}: {error.msg}"]) from None
    except (ValueError, RecursionError):
        raise FixtureError([f"{path.name}: is not JSON in UTF-8"]) from None
    try:
        fixture = JourneyFixture.model_validate(data)
    except ValidationError as error:
        raise FixtureError([f"{path.name}: {line}" for line in problems(error, "the file")]) from None
    return fixture, digest_of(fixture)


def digest_of(fixture: JourneyFixture) -> str:
    """Return a hash that changes with anything in a journey."""
    return hashlib.sha256(fixture.model_dump_json(exclude_none=True).encode()).hexdigest()


def problems(error: ValidationError, whole: str = "the journey") -> list[str]:
    """Return a line for each problem, with its path such as points[2].elicitation_goals[0]."""
    lines = []
    for item in error.errors():
        path = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in item["loc"]).lstrip(".")
        lines.append(f"{path or whole}: {str(item['msg']).removeprefix('Value error, ')}")
    return lines


def load_journeys(*folders: Path, force: bool = False) -> LoadResult:
    """Add new journeys from the files; with `force`, update and archive, too. Raises FixtureError before all."""
    fixtures = read_fixtures(*folders)
    rows = {row.slug: row for row in db.session.scalars(select(Journey).with_for_update())}
    created, updated, unchanged, differing, archived = [], [], [], [], []
    for position, (fixture, digest) in enumerate(fixtures):
        row = rows.pop(fixture.slug, None)
        if row is None:
            row = Journey(slug=fixture.slug)
            db.session.add(row)
            created.append(fixture.slug)
        elif row.source != "file":
            differing.append(fixture.slug)  # written in the application: a file of the same name does not replace it
            continue
        elif row.source_hash == digest and row.position == position and not row.is_archived:
            unchanged.append(fixture.slug)
            continue
        elif not force:
            differing.append(fixture.slug)
            continue
        else:
            updated.append(fixture.slug)
        write_journey(row, fixture, digest, position)
        archived += [f"{fixture.slug}/{slug}" for slug in write_points(row, fixture.points)]
    if force:
        for row in rows.values():
            if not row.is_archived and row.source == "file":
                row.is_archived = True
                row.updated_at = now()
                archived.append(row.slug)
    db.session.flush()
    return LoadResult(created, updated, unchanged, differing, archived)


def write_journey(row: Journey, fixture: JourneyFixture, digest: str, position: int) -> None:
    """Write a journey without its points; it is published from then on."""
    row.title, row.description, row.system_prompt = fixture.title, fixture.description, fixture.system_prompt
    row.front_page = fixture.front_page
    row.source_hash, row.position, row.is_archived, row.updated_at = digest, position, False, now()
    db.session.flush()


def write_points(journey: Journey, fixtures: Sequence[PointFixture]) -> list[str]:
    """Write a journey's points in order; returns the slugs of those that were archived."""
    rows = db.session.scalars(select(ConversationPoint).where(ConversationPoint.journey_id == journey.journey_id))
    existing = {row.slug: row for row in rows}
    for position, fixture in enumerate(fixtures):
        row = existing.pop(fixture.slug, None)
        if row is None:
            row = ConversationPoint(journey_id=journey.journey_id)
            db.session.add(row)
        for name, value in fixture.model_dump().items():
            setattr(row, name, value)
        row.position, row.is_archived, row.updated_at = position, False, now()
    obsolete = [row for row in existing.values() if not row.is_archived]
    for row in obsolete:
        row.is_archived, row.updated_at = True, now()
    of_journey = select(ConversationPoint.point_id).where(ConversationPoint.journey_id == journey.journey_id)
    db.session.execute(delete(PointVectors).where(PointVectors.point_id.in_(of_journey)))  # they are owed again
    return [row.slug for row in obsolete]
