"""Which projects may use a compute or a volume where nothing keeps jobs of different projects apart."""

from __future__ import annotations

from pydantic import Field

from millpond.wire.base import Request, Response


class Trust(Response):
    """`shared`: jobs there can read each other's files, so only projects that were let in are taken: `all`, or those
    named, of which the ones are listed that one may see. Otherwise every project is kept apart, and is taken."""

    shared: bool = False
    all: bool = False
    projects: list[str] = []


class TrustChange(Request):
    projects: list[str] = Field(default=[], max_length=1000)
    all: bool = False
