"""The process driver passes the suite of all drivers also where jobs run under accounts and in views of their own."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from millpond.agent.drivers import Driver
from millpond.agent.drivers.process import ProcessDriver
from millpond.agent.isolation import Accounts, detect
from millpond.testing.drivers import DriverContract

pytestmark = [
    pytest.mark.xdist_group("keepers"),
    pytest.mark.long,
    pytest.mark.skipif(os.geteuid() != 0, reason="only root may run jobs under other accounts"),
]


class TestIsolatedProcessDriver(DriverContract):
    @pytest.fixture
    def driver(self, tmp_path: Path) -> Driver:
        return ProcessDriver(isolation=detect(tmp_path / "state", Accounts.parse("70000-99999")))
