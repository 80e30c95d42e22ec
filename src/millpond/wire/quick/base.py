"""What all lists of the API have in common, and all its errors."""

from __future__ import annotations

from millpond.wire.quick.shape import QuickShape


class Page(QuickShape, of="millpond.wire.base"):
    items: list[object]
    next: str | None = None


class Problem(QuickShape, of="millpond.wire.base"):
    code: str
    detail: str
    hint: str | None = None
    request_id: str
    details: dict[str, object] = {}
