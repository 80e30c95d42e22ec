"""Every driver passes the same suite."""

from __future__ import annotations

import pytest

from millpond.agent.drivers import Driver
from millpond.agent.drivers.process import ProcessDriver
from millpond.testing.drivers import DriverContract

# Keepers are told apart by placement, and these tests use the same names: one worker runs them.
pytestmark = pytest.mark.xdist_group("keepers")


class TestProcessDriver(DriverContract):
    @pytest.fixture
    def driver(self) -> Driver:
        return ProcessDriver()
