"""JSON endpoints of portraits."""

from __future__ import annotations

from pydantic import BaseModel, Field

from webapp.accounts.auth import current_user_id
from webapp.db.base import db
from webapp.http.json_api import Answer, api_blueprint
from webapp.http.validation import Id, Instant
from webapp.memories.portrait import service
from webapp.memories.portrait.service import PortraitView

blueprint = api_blueprint("portrait_api", __name__, tag="Memories", access="user")


class SentenceOut(BaseModel):
    text: str
    memory_ids: list[int] = Field(description="The memories it rests on, each in use and as it was then.")
    is_new: bool = Field(description="The portrait before did not have it.")


class PortraitOut(BaseModel):
    sentences: list[SentenceOut]
    gone: list[SentenceOut] = Field(description="Sentences of the portrait before that this one has not.")
    made_at: Instant | None
    is_current: bool = Field(description="No memory it is made from has changed since.")
    is_coming: bool = Field(description="It is being written.")
    problem: str | None = Field(description="Why the last one was not written.")

    @classmethod
    def of(cls, view: PortraitView) -> PortraitOut:
        return cls.model_validate(view, from_attributes=True)


class PortraitQuery(BaseModel):
    space_id: Id | None = Field(None, description="Of a space of yours, whose owner has to have switched it on.")


@blueprint.get("/memories/portrait", responses={200: PortraitOut, 204: None})
def read_portrait(query: PortraitQuery) -> Answer:
    """Return your portrait in prose, or a space's, each sentence with the memories it rests on; 204 without one."""
    view = service.portrait_of(current_user_id(), query.space_id)
    if not view.sentences and not view.problem:
        return "", 204
    return PortraitOut.of(view)


@blueprint.post("/memories/portrait", status=202)
def write_portrait(query: PortraitQuery) -> PortraitOut:
    """Have it written anew; a worker does so."""
    service.ask_for_portrait(current_user_id(), query.space_id)
    db.session.commit()
    return PortraitOut.of(service.portrait_of(current_user_id(), query.space_id))
