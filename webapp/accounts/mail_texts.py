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
            "If you do not want an account, do nothing.",
        ),
        KNOWN: (
            "You already have an account on Commonplace",
            f"{who} an account on {site} with this address. There is one already. Sign in:",
            "If you forgot your password, the page helps you to a new one. If it was not you, do nothing.",
        ),
        RESET: (
            "A new password for Commonplace",
            f"Somebody, presumably you, asked for a new password on {site}. Choose one here:",
            "If it was not you, do nothing: your password stays as it is.",
        ),
        VERIFY: (
            "Confirm your e-mail address",
            f"Confirm here that this is your address on {site}:",
            "If you know nothing of it, do nothing.",
        ),
    }[kind]
    hours = HOURS[kind]
    until = "" if kind == KNOWN else f" The link works once, for {hours} hour{'' if hours == 1 else 's'}."
    return Text(subject, f"{before}\n\n{link}\n\n{after}{until}\n")
