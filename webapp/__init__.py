"""Commonplace: a chat workspace whose assistant remembers."""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from flask import Flask

    from webapp.config import Settings


def create_app(settings: Settings | None = None, *, serving: bool = True) -> Flask:
    """Return the application, wired from `settings` (default: the environment); without `serving` it has no routes."""
    collects = gc.isenabled()
    gc.disable()  # hardly anything that is loaded is garbage, and looking for it was a quarter of the start
    try:
        # Imported here, not above, so that the screen tour and the launcher, which live in this package, do
        # not load the web framework and the database layer into processes that have no use for them.
        from webapp.shell.factory import build

        app = build(settings)
        if serving:
            from webapp.shell.routes import register

            register(app)
    finally:
        if collects:
            gc.enable()
    return app
