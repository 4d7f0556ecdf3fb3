"""The parts of accounts that the factory wires: identity, other ways to sign in, mail, and the pages."""

from flask import Blueprint, Flask

from webapp.accounts import auth
from webapp.accounts.groups import init_groups
from webapp.accounts.language_pages import blueprint as language_pages
from webapp.accounts.mail_pages import blueprint as mail_pages
from webapp.accounts.mail_pages import init_mail
from webapp.accounts.oidc_pages import blueprint as oidc_pages
from webapp.accounts.oidc_pages import init_oidc
from webapp.accounts.passkey_pages import blueprint as passkey_pages
from webapp.accounts.password_check_pages import blueprint as proving_pages
from webapp.accounts.settings_pages import blueprint as accounts_pages
from webapp.config import Settings

PAGES: tuple[Blueprint, ...] = (accounts_pages, proving_pages, passkey_pages, mail_pages, oidc_pages, language_pages)


def init_accounts(app: Flask, settings: Settings) -> None:
    """Decide about every request before its view runs, and set up the provider and mail."""
    auth.init_auth(app)
    init_oidc(app, settings)
    init_mail(app, settings)
    init_groups()
