"""Visits of a user or a token, recorded now and then; nobody waits for that before the first words of a stream."""

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
    def _wait_for_stream(response: Response) -> Response:
        waits = response.is_streamed and not response.direct_passthrough  # of a file's end no response is told
        if waits and (visit := g.pop("note_use", None)):
            response.call_on_close(partial(_record_in, this_app(), visit))
        return response

    @app.teardown_request
    def _note_visit(_error: BaseException | None) -> None:
        if visit := g.pop("note_use", None):
            _record(visit)


def _record_in(app: Flask, visit: Callable[[], None]) -> None:
    with app.app_context():
        _record(visit)


def _record(visit: Callable[[], None]) -> None:
    try:
        with write_transaction():
            visit()
    except SQLAlchemyError as error:  # the next request records it
        log.warning("a visit was not recorded", extra={"error": type(error).__name__})
