"""Saved views of lists of runs."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from millpond.wire.base import Request, Response, Time


class SavedViewPut(Request):
    """Texts as lists of runs take them; empty for none. `shared`: everybody in the project sees it."""

    name: Annotated[str, Field(min_length=1, max_length=100)]
    shared: bool = False
    experiment: Annotated[str, Field(max_length=200)] = ""
    filter: Annotated[str, Field(max_length=10_000)] = ""
    sort: Annotated[str, Field(max_length=2_000)] = ""
    columns: Annotated[str, Field(max_length=20_000)] = ""
    group: Annotated[str, Field(max_length=1_000)] = ""


class SavedView(Response):
    id: str
    name: str
    shared: bool
    experiment: str
    filter: str
    sort: str
    columns: str
    group: str
    created_by: str
    changed_at: Time


class SavedViews(Response):
    items: list[SavedView]
