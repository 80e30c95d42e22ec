"""The page writes quantities as the server does: both are held to the same table."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from millpond.model.quantity import format_bytes, format_gpus, format_seconds

VECTORS = Path(__file__).parents[3] / "web" / "src" / "lib" / "quantity.vectors.json"


@pytest.mark.parametrize(
    ("kind", "write"), [("bytes", format_bytes), ("seconds", format_seconds), ("gpus", format_gpus)]
)
def test_the_pages_table_is_what_the_server_writes(kind: str, write: Callable[[int], str]) -> None:
    for value, words in json.loads(VECTORS.read_text())[kind]:
        assert write(value) == words
