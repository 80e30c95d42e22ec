"""From a method to a tool: its schema, its annotations, and its errors as answers that say what to do."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Annotated, Any, TypeVar

from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.mcpserver.tools import Tool
from mcp.types import ToolAnnotations
from pydantic import Field, ValidationError

from millpond.errors import MillError
from millpond.mcp.answers import written
from millpond.mcp.place import Place

Method = TypeVar("Method", bound=Callable[..., Any])

Project = Annotated[str | None, Field(description="Project. Without it, the current one (see whoami).")]
Limit = Annotated[int, Field(ge=1, le=200, description="Most items to return.")]
Skip = Annotated[int, Field(ge=0, le=100_000, description="Items to skip, as told by next_skip.")]
Commit = Annotated[
    str,
    Field(description="dataset, dataset@ref or project/dataset@ref; ref is a branch, tag or commit (default main)."),
]


@dataclass(frozen=True)
class Kind:
    """What a tool does to the server: nothing, something that can be undone, or something that ends or removes."""

    title: str
    reads: bool = True
    destroys: bool = False
    repeatable: bool = True

    def annotations(self) -> ToolAnnotations:
        return ToolAnnotations(
            title=self.title, read_only_hint=self.reads, destructive_hint=self.destroys,
            idempotent_hint=self.repeatable, open_world_hint=False,
        )  # fmt: skip


class Tools:
    """The tools of a noun: the methods marked with `reads` or `changes`."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._api = place.api

    def _project(self, named: str | None) -> str:
        return named or self._place.project


def reads(title: str) -> Callable[[Method], Method]:
    return _marked(Kind(title))


def changes(title: str, *, destroys: bool = False, repeatable: bool = False) -> Callable[[Method], Method]:
    return _marked(Kind(title, reads=False, destroys=destroys, repeatable=repeatable))


def tools_of(noun: Tools) -> Iterator[Tool]:
    """In the order in which they are written."""
    for name, member in vars(type(noun)).items():
        kind = getattr(member, "kind_of_tool", None)
        if isinstance(kind, Kind):
            yield _tool(getattr(noun, name), kind)


def words(error: MillError) -> str:
    """An error as an assistant reads it."""
    return " ".join(part for part in (f"{error.code}: {error.message}", error.hint) if part)


def _marked(kind: Kind) -> Callable[[Method], Method]:
    def mark(method: Method) -> Method:
        method.kind_of_tool = kind  # type: ignore[attr-defined]
        return method

    return mark


def _tool(method: Callable[..., Any], kind: Kind) -> Tool:
    @functools.wraps(method)
    def call(**arguments: Any) -> str:
        try:
            return written(method(**arguments))
        except MillError as error:
            raise ToolError(words(error)) from None
        except ValidationError as error:
            told = "; ".join(f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in error.errors())
            raise ToolError(f"invalid: {told}") from None
        except (OSError, TimeoutError) as error:
            raise ToolError(f"failed: {error}") from None

    text = " ".join((method.__doc__ or "").split())
    tool = Tool.from_function(
        call, title=kind.title, description=text, annotations=kind.annotations(), structured_output=False
    )
    # An argument that a tool does not know is a mistake to be told, not to be ignored.
    asked = tool.fn_metadata.arg_model
    asked.model_config["extra"] = "forbid"
    asked.model_rebuild(force=True)
    tool.parameters = _without_titles(asked.model_json_schema(by_alias=True))
    return tool


def _without_titles(schema: Any) -> Any:
    """The same schema, a fifth shorter: titles only repeat the names of arguments."""
    if isinstance(schema, dict):
        return {key: _without_titles(one) for key, one in schema.items() if key != "title" or not isinstance(one, str)}
    return [_without_titles(one) for one in schema] if isinstance(schema, list) else schema
