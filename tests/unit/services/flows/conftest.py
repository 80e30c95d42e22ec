"""Runs of flows on both databases, with a lake in memory and a clock that stands still."""

from __future__ import annotations

from pathlib import Path

import pytest

from millpond.db.engine import Database
from tests.unit.db.conftest import db, postgres_db  # noqa: F401  (fixtures)
from tests.unit.services.flows.running import Flows, make_flows


@pytest.fixture
def flows(db: Database, tmp_path: Path) -> Flows:  # noqa: F811
    return make_flows(db, tmp_path)
