"""The parts of accounts that the factory wires: identity, other ways to sign in, and mail."""

from flask import Flask

from webapp.accounts import auth
from webapp.accounts.mail_pages import init_mail
from webapp.accounts.oidc_pages import init_oidc
from webapp.config import Settings


def init_accounts(app: Flask, settings: Settings) -> None:
    """Decide about every request before its view runs, and set up the provider and mail."""
    auth.init_auth(app)
    init_oidc(app, settings)
    init_mail(app, settings)
