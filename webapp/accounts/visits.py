"""Visits of a user or a token, recorded now and then: once the answer is sent, so that nobody waits for that."""

import logging
from collections.abc import Callable
from functools import partial

from flask import Flask, Response, g
from sqlalchemy.exc import SQLAlchemyError

from webapp.db.base import write_transaction
from webapp.extensions import this_app

log = logging.getLogger(__name__)


def init_visits(app: Flask) -> None:
    """Have a request's `g.note_use` called, if it has set one, in a transaction of its own."""

    @app.after_request
    def _note_visit(response: Response) -> Response:
        if visit := g.get("note_use"):
            record = partial(_record, this_app(), visit)
            if response.direct_passthrough:  # a file, of whose end no response is told
                record()
            else:
                response.call_on_close(record)
        return response


def _record(app: Flask, visit: Callable[[], None]) -> None:
    try:
        with app.app_context(), write_transaction():
            visit()
    except SQLAlchemyError as error:  # the next request records it
        log.warning("a visit was not recorded", extra={"error": type(error).__name__})
