"""A person's choices for the model of a conversation: temperature, length, effort, additional instructions."""

from typing import Any

from flask import redirect, render_template, request, url_for

from webapp.accounts.auth import current_user_id
from webapp.chat.pages import conversation_url
from webapp.conversations.models import Conversation
from webapp.conversations.schemas import ConversationChanges
from webapp.conversations.service import get_conversation, update_conversation
from webapp.db.base import db
from webapp.errors import Invalid
from webapp.extensions import app_settings
from webapp.http.forms import validate
from webapp.http.views import PageBlueprint, ViewResult, wants_partial
from webapp.i18n.marks import N_
from webapp.i18n.request_language import gettext as _
from webapp.llm.settings import Target
from webapp.parameters import Parameters
from webapp.providers.clients import completions
from webapp.providers.model_choice import model_menu, remember_parameters, remembered_parameters, target_of

blueprint = PageBlueprint("parameter_pages", __name__, access="user")

WRONG = N_(
    {
        "temperature": "A number from 0 to 2.",
        "max_tokens": "A whole number from 16 to 1,000,000.",
        "reasoning_effort": "One of the choices.",
        "system": "At most 4,000 characters.",
        "once": "Instructions apply to the whole conversation: save them, or leave them as they are.",
    }
)
"""What is shown beside a field that cannot be read, by its name."""
FIELDS = ("temperature", "max_tokens", "reasoning_effort", "system")
EFFORT_NAMES = N_(
    {"none": "none", "minimal": "minimal", "low": "low", "medium": "medium", "high": "high", "xhigh": "very high"}
)


def own_parameters(conversation: Conversation | None) -> Parameters:
    """Return the parameters of a conversation, or of the next one."""
    return Parameters.of(conversation.parameters) if conversation else remembered_parameters()


def parameters_url(conversation: Conversation | None) -> str:
    """Return the URL where they are changed."""
    return url_for("parameter_pages.show", conversation_id=conversation.conversation_id if conversation else None)


def parameter_summary(parameters: Parameters) -> str:
    """Return what is chosen, in a few words; empty if nothing is."""
    phrases = []
    if parameters.temperature is not None:
        phrases.append(_("temperature %(number)s", number=f"{parameters.temperature:g}"))
    if parameters.max_tokens is not None:
        phrases.append(_("at most %(count)s tokens", count=parameters.max_tokens))
    if parameters.reasoning_effort is not None:
        phrases.append(_("reasoning effort %(effort)s", effort=_(EFFORT_NAMES[parameters.reasoning_effort])))
    if parameters.system:
        phrases.append(_("added instructions"))
    return ", ".join(phrases)


@blueprint.get("/c/<int:conversation_id>/parameters")
@blueprint.get("/models/parameters")
def show(conversation_id: int | None = None) -> ViewResult:
    """Return what was chosen in a conversation, or what the next one begins with."""
    return _render_parameters(_chosen_for(conversation_id))


@blueprint.post("/c/<int:conversation_id>/parameters")
@blueprint.post("/models/parameters")
def choose(conversation_id: int | None = None) -> ViewResult:
    """Choose for a conversation, or for the next one, or go back to the defaults."""
    conversation = _chosen_for(conversation_id)
    before = own_parameters(conversation)
    try:
        parameters = _read_parameters(before)
        if request.form.keys() & {"once", "not_once"} and wants_partial():  # nothing is stored
            return _render_parameters(conversation, once=_changed_parameters(parameters, before))
    except Invalid as error:
        return _render_parameters(conversation, _field_errors(error)), 422
    next_url = url_for("conversations_pages.new")
    if conversation is not None:
        next_url = conversation_url(conversation.conversation_id)
        changes = ConversationChanges(parameters=parameters)
        conversation = update_conversation(current_user_id(), conversation.conversation_id, changes)
    remember_parameters(parameters)
    db.session.commit()
    return _render_parameters(conversation, parameters=parameters) if wants_partial() else redirect(next_url, 303)


def _chosen_for(conversation_id: int | None) -> Conversation | None:
    return get_conversation(current_user_id(), conversation_id) if conversation_id is not None else None


def _read_parameters(before: Parameters) -> Parameters:
    """Return what the form says, with what only the API sets; an empty field is the default. Raises Invalid."""
    if "reset" in request.form:
        return Parameters()
    values: dict[str, Any] = {name: value for name in FIELDS if (value := request.form.get(name, "").strip())}
    if "temperature" in values:
        values["temperature"] = values["temperature"].replace(",", ".")
    return validate(Parameters, {"top_p": before.top_p, **values})


def _changed_parameters(parameters: Parameters, before: Parameters) -> Parameters:
    """Return what differs, for the next message only. Raises Invalid for instructions, which a message cannot have."""
    if "not_once" in request.form:
        return Parameters()
    if parameters.system != before.system and (parameters.system or before.system):
        raise Invalid.field("once", WRONG["once"])
    other = {name: value for name, value in parameters.non_empty.items() if value != getattr(before, name)}
    return Parameters(**other)


def _field_errors(error: Invalid) -> dict[str, str]:
    wrong = [str(item["loc"][-1]) for item in error.errors or ()]
    errors = {name: _(words) for name, words in WRONG.items() if name in wrong}
    return {"system" if name == "once" else name: words for name, words in errors.items()}


def _render_parameters(
    conversation: Conversation | None,
    errors: dict[str, str] | None = None,
    parameters: Parameters | None = None,
    once: Parameters | None = None,
) -> str:
    target = _target(conversation)
    unsupported, defaults = set[str](), Parameters()
    if target is not None:
        accepts, model_key = completions().capabilities.accepts, (target.settings.base_url, target.model)
        unsupported = {name for name in ("temperature", "reasoning_effort") if not accepts(*model_key, name)}
        defaults = Parameters.of(target.parameters)
    return render_template(
        "providers/_parameters.html" if wants_partial() else "providers/parameters.html",
        conversation=conversation,
        chosen=parameters or own_parameters(conversation),
        once=once,
        defaults=defaults,
        unsupported=unsupported,
        efforts=list(EFFORT_NAMES.items()),
        typed=request.form if errors else {},
        partial_line=request.method == "POST" and not errors,
        longest_reply=app_settings().reply_tokens,
        errors=errors or {},
    )


def _target(conversation: Conversation | None) -> Target | None:
    """Return the model that answers in a conversation, or in the next one."""
    model_id = conversation.model if conversation else request.args.get("model") or model_menu().begins_with
    return target_of(model_id)


blueprint.add_globals(
    own_parameters=own_parameters, parameters_in_words=parameter_summary, parameters_url=parameters_url
)
