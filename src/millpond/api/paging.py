"""`?limit=` and `?cursor=` of every list, and a Listing as the wire's Page."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, TypeVar

from fastapi import Query

from millpond.services.listing import Listing
from millpond.wire.base import Page

Item = TypeVar("Item")
Shape = TypeVar("Shape")

Limit = Annotated[int, Query(ge=1, le=1000, description="Maximum number of items.")]
Cursor = Annotated[str | None, Query(max_length=8000, description="`next` of the previous page.")]
DEFAULT_LIMIT = 100


def page(listing: Listing[Item], shape: Callable[[Item], Shape]) -> Page[Shape]:
    return Page(items=[shape(item) for item in listing.items], next=listing.next)
