"""MPI programs as processes on one machine, as the agent's own account and under one of its project."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from millpond.agent.drivers import Driver
from millpond.agent.drivers.process import ProcessDriver
from millpond.agent.isolation import Accounts, detect
from millpond.testing.mpi import MpiContract

pytestmark = pytest.mark.xdist_group("keepers")


class TestMpiAsProcesses(MpiContract):
    @pytest.fixture
    def driver(self) -> Driver:
        return ProcessDriver()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may run jobs under other accounts")
class TestMpiInIsolation(MpiContract):
    @pytest.fixture
    def driver(self, tmp_path: Path) -> Driver:
        return ProcessDriver(isolation=detect(tmp_path / "state", Accounts.parse("70000-99999")))
