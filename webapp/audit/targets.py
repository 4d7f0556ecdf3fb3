"""The targets that events name, in the reader's language; one with words in it needs a line in THINGS."""

import re

from webapp.accounts.scopes import SCOPE_LABELS
from webapp.audit.actions import Action
from webapp.i18n.marks import N_, NN_
from webapp.i18n.request_language import gettext, ngettext, values_in
from webapp.network import outbound

Forms = tuple[str | tuple[str, str], ...]
"""Texts as they were recorded, with `%(number)s`, `%(name)s`, `%(reason)s` and the like for what varies; or the two
forms of a text about a number of things, with `%(num)s`."""

THINGS: dict[str, Forms] = {
    Action.SIGNED_IN: N_(("%(browser)s on %(system)s", "Unknown browser")),
    Action.SESSION_ENDED: (NN_("%(num)s session", "%(num)s sessions"),),
    Action.RECOVERY_CODE_USED: (NN_("%(num)s left", "%(num)s left"),),
    Action.TOKEN_REVOKED: N_(("all tokens", "token %(number)s")),
    Action.ROLE_CHANGED: (N_("admin"), "no admin any more"),
    Action.DELETION_ASKED: (NN_("in %(num)s day", "in %(num)s days"),),
    Action.PROGRAM_CONNECTED: ("%(name)s: %(reason)s",),
    Action.PROGRAM_DISCONNECTED: ("%(name)s: %(reason)s",),
    Action.WEBHOOK_DISABLED: ("%(name)s: %(reason)s",),
    Action.ADMIN_LOOKED: (
        "memories",
        "digests",
        N_("conversation %(number)s"),
        N_("messages of conversation %(number)s"),
        N_("digest of conversation %(number)s"),
        N_("prompt on conversation %(number)s"),
        N_("reply %(number)s"),
    ),
    Action.ADMIN_CHANGED: (N_("point reset"),),
    Action.MEMORIES_READ: (
        NN_("%(num)s memory", "%(num)s memories"),
        NN_("%(num)s passage", "%(num)s passages"),
        N_("the profile"),
        N_("search results"),
        N_("the list of spaces"),
        N_("space %(number)s"),
    ),
    Action.MEMORIES_CHANGED: (
        NN_("%(num)s memory added", "%(num)s memories added"),
        NN_("%(num)s memory changed", "%(num)s memories changed"),
        NN_("%(num)s memory proposed", "%(num)s memories proposed"),
        NN_("%(num)s forgotten", "%(num)s forgotten"),
        N_("some forgotten"),
    ),
    Action.EXPORT_MADE: (
        "account",
        "memories",
        "conversation",
        NN_("%(num)s conversation", "%(num)s conversations"),
    ),
    Action.EXPORT_DOWNLOADED: ("account", "memories", "conversation"),
    Action.SHARE_CREATED: (N_("conversation %(number)s"),),
    Action.SHARE_REVOKED: (N_("conversation %(number)s"),),
    Action.SPACE_JOINED: (N_("space %(number)s"),),
    Action.SPACE_LEFT: (N_("space %(number)s"),),
}

_SHOWN_AS = N_(
    {
        "account": "the whole account",
        "conversation": "a conversation",
        "digests": "the digests",
        "memories": "the memories",
        "no admin any more": "no longer an admin",
        "the account is stopped": "the account is deactivated",
        "its secret cannot be read any more; make a new one": "its secret can no longer be read; create a new one",
    }
)
"""What is shown for texts recorded in other words; the recorded ones never change, as events are compared by them."""

REASONS: Forms = (
    N_("a code was used twice"),
    N_("a token was used twice"),
    "the account is stopped",
    N_("the token that made it has ended"),
    "its secret cannot be read any more; make a new one",
    N_("It answered %(number)s."),
    N_("it failed for two days. %(reason)s"),
    *outbound.REASONS,
)
_RIGHTS = {words[:1].lower() + words[1:]: words for words in SCOPE_LABELS.values()}


def describe_target(action: str, target: str) -> str:
    """Return what an event of this action names, in the reader's language; unknown texts stay as recorded."""
    forms = THINGS.get(action, ())
    if whole := _translate(target, forms):
        return whole
    parts = [_translate(part, forms) for part in target.split(", ")]
    return gettext(", ").join(parts) if all(parts) else target


def reason(text: str) -> str:
    """Return why something ended, in the reader's language; unknown reasons stay as recorded."""
    return _translate(text, REASONS) or text


def conversation_of(action: str, target: str) -> int | None:
    """Return the id of the person's conversation that an event names; None if it names none."""
    if action not in (Action.ADMIN_LOOKED, Action.SHARE_CREATED, Action.SHARE_REVOKED):
        return None
    match = re.fullmatch(r"(?:.* )?conversation (\d{1,18})", target)
    return int(match[1]) if match else None


def _translate(target: str, forms: Forms) -> str:
    """Return a text in the reader's language; empty if it matches none of these forms."""
    for form in forms:
        for text in (form,) if isinstance(form, str) else form:
            if (values := values_in(text, target)) is None:
                continue
            if not isinstance(form, str):
                return ngettext(*form, int(values["num"]))
            if "reason" in values:
                if not (why := _why(values["reason"])):
                    continue
                values["reason"] = why
            return gettext(_SHOWN_AS.get(form, form), **values)
    return ""


def _why(text: str) -> str:
    rights = [_RIGHTS.get(part) for part in text.split(", ")]
    if all(rights):
        return gettext(", ").join(gettext(right) for right in rights if right)
    return _translate(text, REASONS)
