"""The model's task when the assistant opens a point."""

from dataclasses import dataclass

from webapp.conversations import messages
from webapp.conversations.models import Conversation, Message
from webapp.journeys.guidance import directive
from webapp.journeys.points import journey_view
from webapp.memories.prompt.profile import profile_values
from webapp.prompts import service as prompts
from webapp.prompts.values import fill_for


@dataclass(frozen=True, slots=True)
class Opening:
    """A turn that opens a point: `text` for the model, `record` as stored, `about` to retrieve for, the `label`."""

    text: str
    record: str
    about: str
    label: str


def opening_of(conversation: Conversation, reply: Message, *, remembers: bool) -> Opening | None:
    """Return the task of a reply that opens a point, from the point's current guidance; None for any other reply."""
    slug = messages.point_opened_by(reply)
    if slug is None or conversation.journey_id is None:
        return None
    view = journey_view(conversation.user_id, conversation.journey_id, conversation).view(slug)
    if view is None:
        return None
    profile = profile_values(conversation.user_id) if remembers else {}
    prompt = prompts.active("assistant_initiated")
    return Opening(
        text=_fill(conversation, prompt.text, directive(view, profile)),
        record=_fill(conversation, prompt.text, directive(view, knows=False)),
        about=f"{view.point.title} {view.point.description}",
        label=prompt.label,
    )


def _fill(conversation: Conversation, template: str, task: str) -> str:
    return fill_for(conversation, template, texts={"POINT": task})
