"""The texts of the e-mails about accounts."""

from dataclasses import dataclass

from webapp.i18n.request_language import gettext as _, ngettext

JOIN, KNOWN, RESET, VERIFY = "join", "known", "reset", "verify"
KINDS = (JOIN, KNOWN, RESET, VERIFY)
HOURS = {JOIN: 72, KNOWN: 72, RESET: 1, VERIFY: 72}
"""How long the link in a mail of each kind can be used."""
PATHS = {JOIN: "/join", KNOWN: "/login", RESET: "/reset-password", VERIFY: "/verify-email"}


@dataclass(frozen=True, slots=True)
class Text:
    """A subject and a body."""

    subject: str
    body: str


def compose(kind: str, site: str, token: str, invited_by: str = "") -> Text:
    """Return the mail of this kind, with a link to the site, in the current language."""
    link = f"{site.rstrip('/')}{PATHS[kind]}" + ("" if kind == KNOWN else f"?token={token}")
    subject, before, after = _texts_around_link(kind, site, invited_by)
    until = ""
    if kind != KNOWN:
        until = ngettext(
            "The link works once, for %(num)s hour.", "The link works once, for %(num)s hours.", HOURS[kind]
        )
        until += "\n\n"  # a paragraph: not every language puts a space between sentences
    return Text(subject, f"{before}\n\n{link}\n\n{until}{after}\n")


def _texts_around_link(kind: str, site: str, invited_by: str) -> tuple[str, str, str]:
    """Return the subject, and the texts before and after the link."""
    if kind == JOIN:
        before = (
            _("%(name)s invites you to an account on %(site)s. Choose a password here:", name=invited_by, site=site)
            if invited_by
            else _("Somebody, presumably you, asked for an account on %(site)s. Choose a password here:", site=site)
        )
        return _("Your account on Commonplace"), before, _("If you do not want an account, ignore this e-mail.")
    if kind == KNOWN:
        return (
            _("You already have an account on Commonplace"),
            _(
                "Somebody, presumably you, asked for an account on %(site)s with this address. You already have one. "
                "Sign in here:",
                site=site,
            ),
            _("If you have forgotten your password, choose a new one there. If it was not you, ignore this e-mail."),
        )
    if kind == RESET:
        return (
            _("A new password for Commonplace"),
            _("Somebody, presumably you, asked for a new password on %(site)s. Choose one here:", site=site),
            _("If it was not you, ignore this e-mail: your password stays as it is."),
        )
    return (
        _("Confirm your e-mail address"),
        _("Confirm here that this is your address on %(site)s:", site=site),
        _("If you did not ask for this, ignore this e-mail."),
    )
