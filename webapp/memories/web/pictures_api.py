"""JSON endpoints of memory as a whole: the portrait, the timeline, and the picture of people and things."""

from datetime import UTC, date, datetime, time, timedelta

from pydantic import BaseModel, ConfigDict, Field

from webapp.accounts.auth import current_user_id
from webapp.errors import Invalid
from webapp.extensions import this_app
from webapp.http.json_api import Answer, api_blueprint
from webapp.http.validation import AwareTime, Day, Id, Instant
from webapp.i18n.request_language import language_of
from webapp.memories.portrait import service
from webapp.memories.portrait.service import SentenceOut
from webapp.memories.showing.name_map import MAX_NAMES, links_of, names_shown
from webapp.memories.showing.timeline import rows_between
from webapp.rendering import reader_zone

blueprint = api_blueprint("pictures_api", __name__, tag="Memories", access="user")


class TimelineQuery(BaseModel):
    model_config = ConfigDict(populate_by_name=True)

    first: Day | AwareTime | None = Field(None, alias="from", description="Only what began or ended from then on.")
    last: Day | AwareTime | None = Field(None, alias="to", description="And before then, or until the end of a day.")


class TimelineMemoryOut(BaseModel):
    memory_id: int
    content: str
    began: Instant = Field(description="When it began to hold, or was said or learned.")
    ended: Instant | None = Field(description="When it ended or was replaced; null while it holds.")


class RowOut(BaseModel):
    memory_ids: list[int]
    spans: list[TimelineMemoryOut] = Field(description="Memories of which each replaced the one before, oldest first.")


class TimelineOut(BaseModel):
    rows: list[RowOut]
    left_out: int = Field(description="How many rows more there are: narrow the time to see them.")


class MapQuery(BaseModel):
    limit: int = Field(MAX_NAMES, ge=1, le=100)


class NodeOut(BaseModel):
    name: str
    count: int = Field(description="How many memories mention it.")
    memory_ids: list[int]


class LinkOut(BaseModel):
    names: tuple[str, str]
    count: int = Field(description="How many memories mention both.")
    memory_ids: list[int]


class MapOut(BaseModel):
    nodes: list[NodeOut] = Field(description="Who and what your memories name, the most mentioned first.")
    links: list[LinkOut] = Field(description="What stands in the same memories, the most frequent first.")
    left_out: int


@blueprint.get("/memories/timeline")
def read_timeline(query: TimelineQuery) -> TimelineOut:
    """Return what was learned, held and replaced, latest first."""
    begin, end = _moment(query.first), _moment(query.last, days=1)
    if begin and end and begin >= end and query.first != query.last:
        raise Invalid.field("to", "comes before the first day")
    rows, left_out = rows_between(current_user_id(), begin, end)
    spans = [
        RowOut(
            memory_ids=[span.memory_id for span in row],
            spans=[TimelineMemoryOut.model_validate(span, from_attributes=True) for span in row],
        )
        for row in rows
    ]
    return TimelineOut(rows=spans, left_out=left_out)


@blueprint.get("/memories/map")
def read_map(query: MapQuery) -> MapOut:
    """Return the people and things that your memories name, and what they name together."""
    names, left_out = names_shown(current_user_id(), language_of(this_app()).code, query.limit)
    nodes = [NodeOut(name=name.label, count=len(name.memory_ids), memory_ids=list(name.memory_ids)) for name in names]
    links = []
    for link in links_of(names):
        one, other = names[link.one], names[link.other]
        shared = sorted(set(one.memory_ids).intersection(other.memory_ids))
        links.append(LinkOut(names=(one.label, other.label), count=link.shared, memory_ids=shared))
    return MapOut(nodes=nodes, links=links, left_out=left_out)


def _moment(value: date | datetime | None, *, days: int = 0) -> datetime | None:
    """Return a time, of a day its beginning, or that of the day so many days later, where the reader is."""
    if value is None or isinstance(value, datetime):
        return value
    try:
        return datetime.combine(value + timedelta(days=days), time(), reader_zone()).astimezone(UTC)
    except OverflowError:
        return None


class PortraitOut(BaseModel):
    sentences: list[SentenceOut]
    gone: list[SentenceOut] = Field(description="Sentences of the portrait before that this one has not.")
    made_at: Instant | None
    is_current: bool = Field(description="No memory it is made from has changed since.")
    is_coming: bool = Field(description="It is being written.")
    problem: str | None = Field(description="Why the last one was not written.")


class PortraitQuery(BaseModel):
    space_id: Id | None = Field(None, description="Of a space of yours, whose owner has to have switched it on.")


@blueprint.get("/memories/portrait", responses={200: PortraitOut, 204: None})
def read_portrait(query: PortraitQuery) -> Answer:
    """Return your portrait in prose, or a space's, each sentence with the memories it rests on; 204 without one."""
    view = service.portrait_of(current_user_id(), query.space_id)
    if not view.sentences and not view.problem:
        return "", 204
    return PortraitOut.model_validate(view, from_attributes=True)


@blueprint.post("/memories/portrait", status=202)
def write_portrait(query: PortraitQuery) -> PortraitOut:
    """Request a new portrait, which a worker writes."""
    service.ask_for_portrait(current_user_id(), query.space_id)
    return PortraitOut.model_validate(service.portrait_of(current_user_id(), query.space_id), from_attributes=True)
