"""What an endpoint of MLflow's API is, and how its fields are read: clients write numbers as texts, too."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from millpond.errors import Invalid
from millpond.model.people import Actor, Project, Role
from millpond.services.deps import Deps

Document = Mapping[str, Any]


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
        """The first of these fields that is there. Invalid if none is."""
        found = self.optional(*names)
        if not found:
            raise Invalid(f"Missing value for required parameter '{names[0]}'.", fields=[names[0]])
        return found

    def optional(self, *names: str) -> str | None:
        found = next((self.fields[name] for name in names if self.fields.get(name) is not None), None)
        return None if found is None else one_text(found)

    def number(self, name: str, default: int | None = None) -> int | None:
        value = self.optional(name)
        return whole(value, name) if value else default

    def many(self, name: str) -> list[Any]:
        """A repeated field; a query may say it once or several times."""
        value = self.fields.get(name)
        return [] if value is None else value if isinstance(value, list) else [value]

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


def pair(item: Any, name: str) -> tuple[str, str]:
    if not isinstance(item, dict) or not isinstance(item.get("key"), str) or not item["key"]:
        raise Invalid(f"Invalid value {str(item)[:100]!r} for parameter '{name}': it has no key.", fields=[name])
    return item["key"], str(item.get("value", ""))


def whole(value: Any, name: str) -> int:
    """An integer of 64 bits."""
    try:
        found = int(value) if not isinstance(value, bool) else None
    except (TypeError, ValueError, OverflowError):
        found = None
    if found is None or not -(2**63) <= found < 2**63:
        raise Invalid(f"Invalid value {str(value)[:100]!r} for parameter '{name}': not an integer.", fields=[name])
    return found


def real(value: Any, name: str) -> float:
    """A number; protobuf writes NaN and the infinities as words."""
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError) as error:
        raise Invalid(
            f"Invalid value {str(value)[:100]!r} for parameter '{name}': not a number.", fields=[name]
        ) from error


def one_text(value: Any) -> str:
    found = value[0] if isinstance(value, list) and value else value
    return found if isinstance(found, str) else str(found)
