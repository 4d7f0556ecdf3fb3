"""JSON endpoints of portraits."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from pydantic import BaseModel, Field

from webapp.accounts.auth import current_user_id, login_required
from webapp.db.base import db
from webapp.http.validation import Instant
from webapp.http.views import ViewResult, api_blueprint
from webapp.memories.portrait import service
from webapp.memories.portrait.service import PortraitView
from webapp.spaces.schemas import SpacePath

blueprint = api_blueprint("portrait_api", __name__, tag="Memories")


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
        return cls.model_validate(
            {
                "sentences": [asdict(item) for item in view.sentences],
                "gone": [asdict(item) for item in view.gone],
                **{name: getattr(view, name) for name in ("made_at", "is_current", "is_coming", "problem")},
            }
        )


@blueprint.get("/memories/portrait", responses={200: PortraitOut})
@login_required
def read_portrait() -> dict[str, Any]:
    """Return your portrait in prose, each sentence with the memories it rests on."""
    return PortraitOut.of(service.portrait_of(current_user_id())).model_dump(mode="json")


@blueprint.post("/memories/portrait", responses={202: PortraitOut})
@login_required
def write_portrait() -> ViewResult:
    """Have it written anew; a worker does so."""
    service.ask_for_portrait(current_user_id())
    db.session.commit()
    return PortraitOut.of(service.portrait_of(current_user_id())).model_dump(mode="json"), 202


@blueprint.get("/spaces/<int:space_id>/portrait", responses={200: PortraitOut})
@login_required(scope="memory")
def read_portrait_of_space(path: SpacePath) -> dict[str, Any]:
    """Return what is shared in a space of yours in prose, each sentence with the memories it rests on."""
    return PortraitOut.of(service.portrait_of_space(current_user_id(), path.space_id)).model_dump(mode="json")


@blueprint.post("/spaces/<int:space_id>/portrait", responses={202: PortraitOut})
@login_required(scope="memory")
def write_portrait_of_space(path: SpacePath) -> ViewResult:
    """Have it written anew; a worker does so. The owner of the space has to have switched it on."""
    service.ask_for_portrait_of_space(current_user_id(), path.space_id)
    db.session.commit()
    return PortraitOut.of(service.portrait_of_space(current_user_id(), path.space_id)).model_dump(mode="json"), 202
