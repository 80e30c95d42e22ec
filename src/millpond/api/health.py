"""Whether the process is up (/healthz) and whether it can serve: database and lake answer (/readyz)."""

from __future__ import annotations

from fastapi import APIRouter
from sqlalchemy import text
from sqlalchemy.exc import SQLAlchemyError

from millpond.api.access import DepsOf
from millpond.errors import Unavailable

router = APIRouter(include_in_schema=False)


@router.api_route("/healthz", methods=["GET", "HEAD"])
def healthz() -> dict[str, str]:
    return {"status": "ok"}


@router.api_route("/readyz", methods=["GET", "HEAD"])
def readyz(deps: DepsOf) -> dict[str, str]:
    """Raises what the database or the lake raised, so the reason stands in the answer."""
    try:
        with deps.db.read() as tx:
            tx.execute(text("SELECT 1"))
    except SQLAlchemyError as error:
        raise Unavailable("The database does not answer.") from error
    deps.store.head("millpond.json")
    return {"status": "ready"}
