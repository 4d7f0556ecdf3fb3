"""Endpoints for programs: a view takes and returns models, and the OpenAPI description says what they are."""

import re
from collections.abc import Callable
from functools import cache, partial, wraps
from http import HTTPStatus
from typing import Any, get_type_hints

from flask import Response, current_app, request
from flask_openapi3 import APIBlueprint, Tag
from flask_openapi3.utils import parse_parameters
from pydantic import BaseModel, create_model

from webapp.db.base import db
from webapp.http.views import Access, ViewResult

Responses = dict[str | int | HTTPStatus, type[BaseModel] | dict[Any, Any] | None]
"""An endpoint's answers by status: a model, or a description as in OpenAPI."""

Answer = ViewResult | BaseModel | tuple[BaseModel, int]
"""What a view with several answers may return."""

_IN_RULE = re.compile(r"<(?:[^<>:]+:)?([^<>]+)>")


class Problem(BaseModel):
    """An RFC 9457 problem."""

    type: str = "about:blank"
    title: str
    status: int
    detail: str = ""
    errors: list[dict[str, Any]] | None = None


class JsonBlueprint(APIBlueprint):
    """A blueprint whose views return models, which are sent as JSON and described as what is answered.

    A view takes each part of its URL as an argument, and what else is sent as `query`, `form` or `body`. None is
    answered with 204, a model with `status`; what it changed is then committed, if it may write.

    Unlike in flask-openapi3, a query's list fields are found once, and a view is described when the description is
    asked for.
    """

    access: Access

    def __init__(self, *given: Any, **options: Any) -> None:
        super().__init__(*given, **options)
        self._undescribed: list[Callable[[], object]] = []

    def describe(self) -> None:
        """Describe every view that is not described yet."""
        while self._undescribed:
            self._undescribed.pop(0)()

    def _collect_openapi_info(self, rule: str, func: Any, **options: Any) -> Any:
        self._undescribed.append(partial(super()._collect_openapi_info, rule, func, **options))
        return parse_parameters(func, doc_ui=False)

    def get(self, rule: str, **options: Any) -> Any:
        return _describe_answer(super().get, rule, **options)

    def post(self, rule: str, **options: Any) -> Any:
        return _describe_answer(super().post, rule, **options)

    def put(self, rule: str, **options: Any) -> Any:
        return _describe_answer(super().put, rule, **options)

    def patch(self, rule: str, **options: Any) -> Any:
        return _describe_answer(super().patch, rule, **options)

    def delete(self, rule: str, **options: Any) -> Any:
        return _describe_answer(super().delete, rule, **options)

    @staticmethod
    def create_view_func(
        func: Any, header: Any, cookie: Any, path: Any, query: Any, form: Any, *rest: Any, **options: Any
    ) -> Any:
        """Return the view with its validation around it, as flask-openapi3 makes it, and its answer as JSON."""
        for model in (query, form):
            if model is not None:
                _plain(model)
                model.model_json_schema = classmethod(_described_once)

        @wraps(func)
        def spread(path: Any = (), **values: Any) -> Any:
            return func(**dict(path), **values)

        view = APIBlueprint.create_view_func(spread, header, cookie, path, query, form, *rest, **options)

        @wraps(view)
        def answer(**values: Any) -> Any:
            result = view(**values)
            if request.method not in ("GET", "HEAD") or getattr(func, "writes", False):
                db.session.commit()
            return _as_json(result, func.status)

        return answer


def success_status() -> int:
    """Return the status with which the view of this request answers if it succeeds."""
    return int(getattr(current_app.view_functions[request.endpoint or ""], "status", 200))


def _describe_answer(
    route: Callable[..., Any], rule: str, *, status: int = 200, responses: Responses | None = None, **options: Any
) -> Callable[[Any], Any]:
    """Return the decorator of a route that answers with what its view says it returns."""

    def decorate(view: Any) -> Any:
        hints = get_type_hints(view, include_extras=True)
        if names := _IN_RULE.findall(rule):  # flask-openapi3 wants them in a model
            fields: dict[str, Any] = {name: hints[name] for name in names}
            view.__annotations__ = {**hints, "path": create_model("Path", **fields)}
        model = hints["return"]
        view.status = 204 if model is type(None) else status
        answers = responses or {view.status: None if view.status == 204 else model}
        return route(rule, responses=answers, **options)(view)

    return decorate


def _as_json(result: Any, status: int) -> Any:
    """Return what Flask makes a response of: a model as JSON, alone or with its own status; anything else as it is."""
    if result is None:
        return "", 204
    if isinstance(result, tuple) and isinstance(result[0], BaseModel):
        result, status = result
    if isinstance(result, BaseModel):
        return Response(result.model_dump_json(), status, mimetype="application/json")
    return result


def _described_once(model: type[BaseModel], *args: Any, **options: Any) -> dict[str, Any]:
    return _describe(model, *args, **options) if args or options else _plain(model)


# Pydantic's own: a model whose parent describes once would inherit that otherwise, and be described as its parent.
_describe: Callable[..., dict[str, Any]] = BaseModel.model_json_schema.__func__  # type: ignore[attr-defined]
_plain = cache(_describe)


def api_blueprint(name: str, import_name: str, *, tag: str, access: Access, url_prefix: str = "/api") -> APIBlueprint:
    """Return a JSON blueprint, each of whose endpoints can give the problems of webapp/openapi/document.py."""
    blueprint = JsonBlueprint(
        name,
        import_name,
        url_prefix=url_prefix,
        abp_tags=[Tag(name=tag)],
        abp_security=[{"token": []}, {"session": []}],
        operation_id_callback=lambda *, name, **_: name,
    )
    blueprint.access = access
    return blueprint
