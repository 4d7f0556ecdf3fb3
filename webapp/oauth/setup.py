"""Adding OAuth to the application."""

from flask import Flask

from webapp.accounts.access_kinds import Kind, add_kind
from webapp.i18n.marks import N_
from webapp.oauth import service
from webapp.oauth.api import speak_oauth


def init_oauth(app: Flask) -> None:
    """Give the endpoints the form of their errors, and say that programs get into accounts."""
    speak_oauth(app)
    add_kind("programs", Kind(N_("Other programs"), _names, service.disconnect_all))


def _names(user_id: int) -> list[str]:
    return [client.name for _grant, client, _token in service.list_grants(user_id)]
