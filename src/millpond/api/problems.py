"""Every error of the API as an RFC 9457 problem document with a stable code, a message and a hint."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response

from millpond.errors import BadRequest, Forbidden, Invalid, MillError, NotFound, NotSignedIn, TooLarge, TooMany
from millpond.wire.base import Problem, written_path

MEDIA_TYPE = "application/problem+json"
# What FastAPI and Starlette raise by themselves, as errors of ours.
_BY_STATUS: Mapping[int, type[MillError]] = {
    cls.status: cls for cls in (BadRequest, NotSignedIn, Forbidden, NotFound, TooLarge, Invalid)
}
# Documents the answer of every operation that fails, whatever its status.
RESPONSES: dict[int | str, dict[str, Any]] = {
    "default": {
        "description": "A problem",
        "content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}},
    }
}


def install(app: FastAPI) -> None:
    app.add_exception_handler(MillError, _mill_error)
    app.add_exception_handler(HTTPException, _http_error)
    app.add_exception_handler(RequestValidationError, _validation_error)


def respond(request_id: str, error: MillError, *, status: int | None = None) -> Response:
    code = status or error.status
    problem = Problem(
        title=HTTPStatus(code).phrase,
        status=code,
        code=error.code,
        detail=error.message,
        hint=error.hint,
        request_id=request_id,
        details=error.details,
    )
    # Not by pydantic: what somebody sent may be quoted, and half a character cannot be written as UTF-8.
    content = json.dumps(problem.model_dump(mode="json"))
    return Response(content, status_code=code, media_type=MEDIA_TYPE, headers=_headers(error))


def request_id_of(request: Request) -> str:
    return str(request.scope.get("state", {}).get("request_id", ""))


async def _mill_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, MillError)
    return respond(request_id_of(request), error)


async def _http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    request_id = request_id_of(request)
    if error.status_code == HTTPStatus.NOT_FOUND:
        return respond(request_id, NotFound(f"Not found: {request.url.path!r}"))
    if error.status_code == HTTPStatus.METHOD_NOT_ALLOWED:
        answer = BadRequest(f"{request.method} is not supported at {request.url.path!r}.")
        response = respond(request_id, answer, status=error.status_code)
        response.headers.update(error.headers or {})
        return response
    cls = _BY_STATUS.get(error.status_code, BadRequest if error.status_code < 500 else MillError)
    return respond(request_id, cls(str(error.detail)), status=error.status_code)


async def _validation_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    found = error.errors()
    if any(item["type"] == "json_invalid" for item in found) or _has_other_body(request, found):
        return respond(request_id_of(request), BadRequest("The request body is not JSON."))
    # What was sent stays out of the answer: it may hold a password.
    fields = [{"field": written_path(item["loc"][1:]), "message": item["msg"]} for item in found]
    told = "; ".join(f"{item['field'] or 'body'}: {item['message']}" for item in fields)
    return respond(request_id_of(request), Invalid(f"Invalid request: {told}.", fields=fields))


def _has_other_body(request: Request, found: Sequence[Any]) -> bool:
    """Whether the body as a whole was refused because it did not say that it is JSON."""
    is_json = request.headers.get("content-type", "").partition(";")[0].strip().endswith("json")
    return not is_json and any(item["loc"] == ("body",) and item["type"] != "missing" for item in found)


def _headers(error: MillError) -> dict[str, str]:
    if isinstance(error, NotSignedIn):
        return {"WWW-Authenticate": "Bearer"}
    if isinstance(error, TooMany) and "retry_after_seconds" in error.details:
        return {"Retry-After": str(error.details["retry_after_seconds"])}
    return {}
