"""What all shapes share: requests refuse unknown fields, responses tolerate new ones, times carry an offset."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Annotated, Any, Generic, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    PlainSerializer,
    SerializerFunctionWrapHandler,
    model_serializer,
)


def _utc(value: datetime) -> datetime:
    try:
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)
    except OverflowError as error:
        raise ValueError("the moment lies outside the years 1 to 9999") from error


# ISO 8601 with an offset, always UTC on the wire; viewers show it in their own zone.
Time = Annotated[
    datetime, AfterValidator(_utc), PlainSerializer(lambda t: t.isoformat(), return_type=str, when_used="json")
]

# A number of GPUs: whole hundredths inside, 4 or 0.5 outside.
Gpus = Annotated[float, PlainSerializer(lambda n: int(n) if n == int(n) else n, return_type=float, when_used="json")]

Item = TypeVar("Item")


class Request(BaseModel):
    """A body somebody sends us: a field we do not know is a mistake worth telling."""

    # Built at once, unlike answers: pydantic warns when FastAPI wraps a body that is not built yet.
    model_config = ConfigDict(extra="forbid", frozen=True)


class Change(Request):
    """A body of which only what was given is sent: what is left out stays."""

    @model_serializer(mode="wrap")
    def _given(self, write: SerializerFunctionWrapHandler) -> dict[str, Any]:
        written: dict[str, Any] = write(self)
        return {name: value for name, value in written.items() if name in self.model_fields_set}


class Response(BaseModel):
    """A body we send: an older client ignores fields it does not know."""

    model_config = ConfigDict(extra="ignore", frozen=True, from_attributes=True, defer_build=True)


def written_path(loc: Sequence[int | str]) -> str:
    """Where in a body something is wrong. The fields of a job's spec stand in its body as they are."""
    return ".".join(str(part) for part in (loc[1:] if loc[:1] == ("spec",) else loc))


class Page(Response, Generic[Item]):
    """One page of a list. `next` goes into `?cursor=` of the following request; None on the last page."""

    items: list[Item]
    next: str | None = None


class Problem(Response):
    """RFC 9457: the shape of every error of the API."""

    type: str = "about:blank"
    title: str
    status: int
    code: str
    detail: str
    hint: str | None = None
    request_id: str
    # What a program may want: names that come near, what stands in the way, which fields are wrong.
    details: dict[str, object] = {}
