"""Answers that are errors: in the server's own words where it is a Millpond server that speaks."""

from __future__ import annotations

from millpond.client.transport import Response
from millpond.errors import Forbidden, MillError, NotFound, NotSignedIn, TooLarge, TooMany, Unavailable, by_code
from millpond.wire.quick.base import Problem

_BY_STATUS: dict[int, type[MillError]] = {
    401: NotSignedIn,
    403: Forbidden,
    404: NotFound,
    413: TooLarge,
    429: TooMany,
    502: Unavailable,
    503: Unavailable,
    504: Unavailable,
}


def problem_of(response: Response) -> MillError:
    """The error a response stands for, with the server's own words where it is a problem document."""
    if not response.headers.get("content-type", "").startswith("application/problem+json"):
        return _foreign_error(response)
    try:
        problem = Problem.model_validate_json(response.content)
    except (ValueError, RecursionError):
        return _foreign_error(response)
    error = by_code(problem.code)(problem.detail, hint=problem.hint)
    # Not by keyword: the server may one day send a detail called "hint" or "message".
    error.details = {**problem.details, "request_id": problem.request_id}
    if isinstance(error, NotSignedIn) and not error.hint:
        error.hint = "Sign in with: mill login"
    return error


def _foreign_error(response: Response) -> MillError:
    """An answer that no Millpond server gives: something else listens there, or a proxy stands in between."""
    kind = _BY_STATUS.get(response.status, MillError)
    return kind(
        f"{response.url} answered {response.status} {response.reason}.",
        hint="This does not look like a Millpond server. Check --server, MILL_SERVER and your proxy settings.",
    )
