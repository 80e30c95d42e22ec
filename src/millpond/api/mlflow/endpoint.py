"""What an endpoint of MLflow's API is, and how its fields are read: clients write numbers as texts, too."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from millpond.errors import Invalid
from millpond.model.people import Actor, Project, Role
from millpond.services.deps import Deps

Document = Mapping[str, Any]
# Characters of a wrong value that an error repeats.
_SHOWN = 200


@dataclass(frozen=True, slots=True)
class Call:
    """Who calls, in which project, with which fields (of the body, or of the query)."""

    deps: Deps
    actor: Actor
    project: Project
    fields: Document
    # Where the caller reaches the server, and the header it signs in with.
    server_url: str = ""
    authorization: str = ""

    def text(self, *names: str) -> str:
        """The first of these fields that is there. Invalid if none is, or if it is no text."""
        found = self.optional(*names)
        if not found:
            raise missing(names[0])
        return found

    def optional(self, *names: str) -> str | None:
        name = next((name for name in names if self.fields.get(name) is not None), None)
        if name is None:
            return None
        value = _single(self.fields[name])
        if not isinstance(value, str):
            raise invalid(value, name, "expected a text")
        return value

    def number(self, name: str, default: int | None = None) -> int | None:
        value = _single(self.fields.get(name))
        return default if value in (None, "") else whole(value, name)

    def limit(self, default: int, most: int) -> int:
        """How many are asked for."""
        found = self.number("max_results", default)
        if found is None or not 1 <= found <= most:
            raise invalid(found, "max_results", f"must be 1 to {most}")
        return found

    def flag(self, name: str) -> bool:
        value = _single(self.fields.get(name))
        return value is True or (isinstance(value, str) and value.lower() == "true")

    def many(self, name: str) -> list[Any]:
        """A repeated field."""
        value = self.fields.get(name)
        if value is not None and not isinstance(value, list):
            raise invalid(value, name, "expected a list")
        return value or []

    def pairs(self, name: str) -> dict[str, str]:
        """A repeated field of `key` and `value`."""
        return dict(pair(item, name) for item in self.many(name))


Handler = Callable[[Call], Document]


@dataclass(frozen=True, slots=True)
class Endpoint:
    method: str
    # Behind /api/2.0/ROOT/; `{…}` stands for a field, `{…:path}` for one with slashes.
    path: str
    role: Role
    handle: Handler
    # False for what reaches beyond a job's own run, and is for people's tokens only.
    for_jobs: bool = True
    root: str = "mlflow"

    @property
    def full_path(self) -> str:
        return f"{self.root}/{self.path}"


def invalid(value: Any, name: str, reason: str) -> Invalid:
    written = json.dumps(value, default=str)
    shown = written if len(written) <= _SHOWN else f"{written[:_SHOWN]}…"
    return Invalid(f"Invalid value {shown} for parameter '{name}' supplied: {reason}.", fields=[name])


def missing(name: str) -> Invalid:
    return Invalid(f"Missing value for required parameter '{name}'.", fields=[name])


def pair(item: Any, name: str) -> tuple[str, str]:
    if not isinstance(item, dict) or not isinstance(item.get("key"), str) or not item["key"]:
        raise invalid(item, name, "it has no key")
    return item["key"], str(item.get("value", ""))


def whole(value: Any, name: str) -> int:
    """An integer of 64 bits."""
    try:
        found = int(value) if not isinstance(value, bool) else None
    except (TypeError, ValueError, OverflowError):
        found = None
    if found is None or not -(2**63) <= found < 2**63:
        raise invalid(value, name, "not an integer")
    return found


def real(value: Any, name: str) -> float:
    """A number; protobuf writes NaN and the infinities as words."""
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError) as error:
        raise invalid(value, name, "not a number") from error


def one_text(value: Any) -> str:
    found = _single(value)
    return found if isinstance(found, str) else str(found)


def _single(value: Any) -> Any:
    """Fields of a query come as lists."""
    return value[0] if isinstance(value, list) and len(value) == 1 else value
