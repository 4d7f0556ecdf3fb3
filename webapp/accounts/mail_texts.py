"""What the e-mails about accounts say."""

from __future__ import annotations

from dataclasses import dataclass

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
    """The mail of this kind, with a link to the site."""
    link = f"{site.rstrip('/')}{PATHS[kind]}" + ("" if kind == KNOWN else f"?token={token}")
    who = f"{invited_by} invites you to" if invited_by else "Somebody, presumably you, asked for"
    subject, before, after = {
        JOIN: (
            "Your account on Commonplace",
            f"{who} an account on {site}. Choose a password here:",
            "If you do not want an account, ignore this e-mail.",
        ),
        KNOWN: (
            "You already have an account on Commonplace",
            f"{who} an account on {site} with this address. You already have one. Sign in here:",
            "If you have forgotten your password, choose a new one there. If it was not you, ignore this e-mail.",
        ),
        RESET: (
            "A new password for Commonplace",
            f"Somebody, presumably you, asked for a new password on {site}. Choose one here:",
            "If it was not you, ignore this e-mail: your password stays as it is.",
        ),
        VERIFY: (
            "Confirm your e-mail address",
            f"Confirm here that this is your address on {site}:",
            "If you did not ask for this, ignore this e-mail.",
        ),
    }[kind]
    hours = HOURS[kind]
    until = "" if kind == KNOWN else f" The link works once, for {hours} hour{'' if hours == 1 else 's'}."
    return Text(subject, f"{before}\n\n{link}\n\n{after}{until}\n")
