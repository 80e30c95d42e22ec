"""Quick shapes promise what the shapes of the same name promise, and hold answers to it."""

from __future__ import annotations

import importlib
import json
from datetime import UTC, datetime
from types import UnionType
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

import pytest
from pydantic import BaseModel

from millpond.errors import MillError
from millpond.model.cached_state import CachedState
from millpond.model.dataset import RefType
from millpond.model.quantity import DAY
from millpond.wire import data
from millpond.wire.base import Request
from millpond.wire.quick.cache import CachedCommit
from millpond.wire.quick.data import Commit, PacksWritten, PackWritten, Ref, RefCreate, Slot, Slots, Urls
from millpond.wire.quick.shape import QuickShape, quick_fields

SHAPES = QuickShape.__subclasses__()
A_COMMIT: dict[str, Any] = {
    "id": "c1",
    "dataset": "vision/xray",
    "dataset_id": "d1",
    "project_id": "p1",
    "tree": "t1",
    "parents": ["c0"],
    "author": "maria",
    "time": "2026-11-15T20:00:00Z",
    "message": "",
    "files": 1,
    "bytes": 2,
    "of_a_newer_server": {"x": 1},
}


@pytest.mark.parametrize("shape", SHAPES, ids=[shape.__name__ for shape in SHAPES])
def test_every_field_is_one_of_the_whole_shape(shape: type[QuickShape]) -> None:
    whole: type[BaseModel] = getattr(importlib.import_module(shape.of), shape.__name__)
    hints, promised = get_type_hints(shape), get_type_hints(whole)
    for name in quick_fields(shape):
        assert _words(hints[name]) == _words(promised[name]), name
        assert (not hasattr(shape, name)) == whole.model_fields[name].is_required(), name
        if hasattr(shape, name):
            assert getattr(shape, name) == whole.model_fields[name].get_default(call_default_factory=True), name
    if issubclass(whole, Request):
        needed = {name for name, field in whole.model_fields.items() if field.is_required()}
        assert needed <= set(quick_fields(shape))


def test_an_answer_is_read_and_kept_whole_for_programs() -> None:
    commit = Commit.model_validate_json(json.dumps(A_COMMIT).encode())
    assert (commit.id, commit.files, commit.time) == ("c1", 1, datetime(2026, 11, 15, 20, tzinfo=UTC))
    assert commit.model_dump(mode="json") == data.Commit.model_validate(A_COMMIT).model_dump(mode="json")
    assert commit == Commit.model_validate(A_COMMIT)
    assert commit != Commit.model_validate({**A_COMMIT, "id": "c2"})


@pytest.mark.parametrize(
    "wrong",
    [
        b"",
        b"<html>",
        b"[]",
        b"null",
        b"{}",
        b"\xff",
        *(json.dumps({**A_COMMIT, **change}).encode() for change in ({"id": None}, {"files": "1"}, {"files": True})),
        *(json.dumps({**A_COMMIT, **change}).encode() for change in ({"parents": "c0"}, {"parents": [1]})),
        *(json.dumps({**A_COMMIT, **change}).encode() for change in ({"time": "yesterday"}, {"time": 3})),
    ],
)
def test_what_has_another_shape_is_a_value_error(wrong: bytes) -> None:
    with pytest.raises(ValueError):
        Commit.model_validate_json(wrong)


def test_values_of_every_kind() -> None:
    assert Ref.model_validate({"name": "main", "type": "branch", "commit_id": "c1"}).type is RefType.BRANCH
    with pytest.raises(ValueError, match="twig"):
        Ref.model_validate({"name": "main", "type": "twig", "commit_id": "c1"})
    slots = Slots.model_validate({"slots": [{"id": "p1", "url": "http://x"}]}).slots
    assert slots == [Slot(id="p1", url="http://x")]
    assert slots[0].headers == {}
    urls = {"pages": {"a": "u"}, "locators": {}, "packs": {}, "external": {"p": {"url": "u", "descriptor": "d"}}}
    assert Urls.model_validate(urls).external["p"].url == "u"
    with pytest.raises(ValueError, match="no str"):
        Urls.model_validate({**urls, "pages": {"a": 1}})


def test_optional_values_and_defaults() -> None:
    document = dict.fromkeys(("id", "volume", "project", "dataset", "commit_id", "path", "reason"), "x")
    numbers = dict.fromkeys(("bytes", "files", "done_bytes", "done_files"), 0)
    cached = CachedCommit.model_validate(
        {**document, **numbers, "state": "ready", "expires_at": None, "problem": None, "base": "b"}
    )
    assert (cached.state, cached.expires_at, cached.idle_seconds) == (CachedState.READY, None, DAY)
    assert (cached.base, cached.fetch_bytes) == ("b", None)


def test_requests_are_sent_as_the_whole_shape_reads_them() -> None:
    written = PacksWritten(packs=[PackWritten(id="p1", size=3)])
    whole = data.PacksWritten.model_validate_json(written.model_dump_json())
    assert whole.packs[0].size == 3
    branch = data.RefCreate.model_validate_json(RefCreate(name="b", at="c1").model_dump_json())
    assert branch == data.RefCreate(name="b", at="c1")


def test_it_is_frozen_and_has_its_fields_alone() -> None:
    pack = PackWritten(id="p1", size=3)
    with pytest.raises(AttributeError):
        pack.size = 4  # type: ignore[misc]
    with pytest.raises(TypeError, match="size"):
        PackWritten(id="p1")  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="colour"):
        PackWritten(id="p1", size=3, colour="red")  # type: ignore[call-arg]
    assert repr(pack) == "PackWritten(id='p1', size=3)"


def test_what_was_not_looked_at_is_checked_before_it_is_shown() -> None:
    commit = Commit.model_validate({**A_COMMIT, "project_id": None})
    with pytest.raises(MillError, match="not a Commit"):
        commit.model_dump(mode="json")


def _words(hint: Any) -> str:
    """A type, with shapes by their names alone: those of one module stand for those of the other."""
    kind = get_origin(hint)
    if kind in (Union, UnionType):
        return " | ".join(sorted(_words(part) for part in get_args(hint)))
    if kind is not None:
        return f"{kind.__name__}[{', '.join(_words(part) for part in get_args(hint))}]"
    if isinstance(hint, TypeVar):
        return "object"
    return hint.__name__ if isinstance(hint, type) else str(hint)
