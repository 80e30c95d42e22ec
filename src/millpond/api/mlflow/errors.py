"""Our errors as MLflow's clients expect them: `error_code` and `message`."""

from __future__ import annotations

import json
from collections.abc import Mapping

from starlette.responses import Response

from millpond.errors import (
    BadRequest,
    Conflict,
    Forbidden,
    Incomplete,
    Invalid,
    MillError,
    NameTaken,
    NotFound,
    NotSignedIn,
    TooLarge,
    TooMany,
    Unavailable,
)


class NotOffered(MillError):
    """Millpond does not offer this part of MLflow's API."""

    code, status = "not_offered", 501


# The first that fits; with the status that MLflow's own server would give.
_CODES: Mapping[type[MillError], tuple[str, int]] = {
    NotOffered: ("NOT_IMPLEMENTED", 501),
    NotSignedIn: ("UNAUTHENTICATED", 401),
    Forbidden: ("PERMISSION_DENIED", 403),
    NotFound: ("RESOURCE_DOES_NOT_EXIST", 404),
    NameTaken: ("RESOURCE_ALREADY_EXISTS", 400),
    Conflict: ("INVALID_STATE", 409),
    TooLarge: ("INVALID_PARAMETER_VALUE", 413),
    Incomplete: ("INVALID_PARAMETER_VALUE", 400),
    Invalid: ("INVALID_PARAMETER_VALUE", 400),
    BadRequest: ("INVALID_PARAMETER_VALUE", 400),
    TooMany: ("REQUEST_LIMIT_EXCEEDED", 429),
    Unavailable: ("TEMPORARILY_UNAVAILABLE", 503),
}

# What scripts compare texts with.
_NOT_FOUND = {
    "run": "Run with id={} not found.",
    "logged model": "Logged model with ID '{}' not found.",
    "experiment": "No Experiment with id={} exists.",
}


def respond(error: MillError) -> Response:
    code, status = next((found for kind, found in _CODES.items() if isinstance(error, kind)), ("INTERNAL_ERROR", 500))
    words = _NOT_FOUND.get(str(error.details.get("noun"))) if isinstance(error, NotFound) else None
    message = words.format(error.details.get("name")) if words else error.message
    message = f"{message} {error.hint}" if error.hint else message
    headers = {"WWW-Authenticate": "Basic"} if status == 401 else None
    return answer(code, message, status, headers)


def not_offered(name: str) -> Response:
    return answer("NOT_IMPLEMENTED", f"Millpond does not offer {name} of MLflow's API.", 501)


def answer(code: str, message: str, status: int, headers: Mapping[str, str] | None = None) -> Response:
    content = json.dumps({"error_code": code, "message": message})
    return Response(content, status, headers, "application/json")
