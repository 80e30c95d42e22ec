"""What is kept of a change: what differs, in JSON, and never bytes that are sealed."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import pytest

from millpond.decide.audit_values import HIDDEN, changed, plain, values_of
from millpond.model.people import Role


@dataclass(frozen=True)
class Thing:
    name: str
    role: Role
    sealed: bytes = b"secret"


@pytest.mark.parametrize(
    ("before", "after", "kept"),
    [
        ({"a": 1, "b": 2}, {"a": 1, "b": 3}, ({"b": 2}, {"b": 3})),
        (None, {"a": 1}, ({}, {"a": 1})),
        ({"a": None}, None, ({"a": None}, {})),
        ({"a": 1}, {}, ({"a": 1}, {})),
        ({"r": Role.VIEWER}, {"r": Role.ADMIN}, ({"r": "viewer"}, {"r": "admin"})),
        ({"s": b"one"}, {"s": b"two"}, ({"s": HIDDEN}, {"s": HIDDEN})),
        (None, None, ({}, {})),
    ],
)
def test_what_differs_is_kept(before: Any, after: Any, kept: Any) -> None:
    assert changed(before, after) == kept


def test_any_value_becomes_json_and_bytes_are_hidden() -> None:
    value = {
        "t": Thing("x", Role.ADMIN),
        "s": frozenset({"b", "a"}),
        "at": datetime(2026, 1, 1, tzinfo=UTC),
        "n": {1: (2,)},
    }
    assert json.loads(json.dumps(plain(value))) == {
        "t": {"name": "x", "role": "admin", "sealed": HIDDEN}, "s": ["a", "b"], "at": "2026-01-01T00:00:00+00:00",
        "n": {"1": [2]},
    }  # fmt: skip
    assert values_of(Thing("x", Role.ADMIN), "name") == {"name": "x"}
    assert len(plain("x" * 9_000)) < 2_100
