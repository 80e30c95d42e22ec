"""The part of a keeper in a distributed job."""

# ruff: noqa: PTH110

from __future__ import annotations

import os

# Type checkers take this for typing.TYPE_CHECKING.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Rank:
    """What is to do for a rank of a distributed job; nothing for a plain one."""

    def __init__(self, spec: dict[str, Any]) -> None:
        self.told, self.placement = spec.get("gang"), spec["placement"]
        self.place: dict[str, Any] | None = None
        if self.told is not None:
            # Few keepers need it, and the network with it.
            from . import gang  # noqa: PLC0415

            self.gang = gang
            self.place = gang.place(self.told, spec["placement"])

    def may_begin(self) -> bool | None:
        return True if self.told is None else self.gang.may_begin(self.told["size"])

    def environment(self) -> dict[str, str]:
        """Only once all have come."""
        if self.told is None:
            return {}
        places = self.gang.all_places(self.told["size"])
        assert places is not None
        return self.gang.environment(self.told["rank"], places, self.placement)

    def must_stop(self) -> bool:
        return self.gang.must_stop() if self.told is not None else os.path.exists("stop")

    def another_failed(self) -> bool:
        return self.told is not None and self.gang.another_failed()

    def tell(self, failed: bool) -> None:
        if self.told is not None and failed:
            self.gang.tell_failed(self.told["rank"])
