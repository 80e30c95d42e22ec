"""Errors of database and disk that no service can do anything about, in words for whoever asked."""

from __future__ import annotations

import errno
from logging import getLogger

from fastapi import FastAPI, Request
from sqlalchemy.exc import DataError, IntegrityError, InterfaceError, OperationalError, StatementError, TimeoutError
from starlette.responses import Response

from millpond.api import problems
from millpond.errors import Conflict, DiskFull, Invalid, MillError, Unavailable

logger = getLogger(__name__)

# A number or moment beyond all bounds, a zero byte, half a character: JSON can say what no database holds.
_UNSTORABLE = (DataError, OverflowError, UnicodeEncodeError)
_FULL = ("disk is full", "No space left on device", "could not extend file")


def install(app: FastAPI) -> None:
    for cls in (*_UNSTORABLE, OperationalError, InterfaceError, TimeoutError, IntegrityError, StatementError, OSError):
        app.add_exception_handler(cls, _answer)


def translated(error: Exception) -> MillError | None:
    """What the error means for whoever asked; None for one that is simply a mistake of ours."""
    if isinstance(error, OSError):
        return _full() if error.errno in (errno.ENOSPC, errno.EDQUOT) else None
    if isinstance(error, OperationalError) and any(words in str(error) for words in _FULL):
        return _full()
    if isinstance(error, OperationalError | InterfaceError | TimeoutError):
        return Unavailable("The database is not available at the moment.", hint="Try again in a moment.")
    if isinstance(error, IntegrityError):
        return Conflict("Somebody else changed this at the same time.", hint="Check the new state, then try again.")
    if isinstance(error, _UNSTORABLE) or (isinstance(error, StatementError) and isinstance(error.orig, _UNSTORABLE)):
        return Invalid("A number or a text in the request cannot be stored.", hint="Numbers can have at most 64 bits.")
    return None


async def _answer(request: Request, error: Exception) -> Response:
    answer = translated(error)
    if answer is None:
        raise error
    # A full disk, or a database that is away, is met by every request until that is over: one line each is enough.
    is_known = isinstance(answer, DiskFull | Unavailable)
    logger.error(
        "storage_error request=%s code=%s reason=%s", problems.request_id_of(request), answer.code,
        str(error).partition("\n")[0], exc_info=None if is_known else error,
    )  # fmt: skip
    return problems.respond(problems.request_id_of(request), answer)


def _full() -> DiskFull:
    return DiskFull(
        "The disk of the server is full.", hint="Free some space in its data directory. Nothing was changed."
    )
