"""The contract of every provisioner as a test suite: subclass `ProvisionerContract` and give it two fixtures."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from millpond.services.computes.provisioners import NewMachine, Provisioner
from millpond.testing.waiting import wait_until


def a_machine(name: str = "burst-0001", **changes: object) -> NewMachine:
    told: dict[str, object] = {
        "name": name, "server": "http://127.0.0.1:1", "join_token": "mill_join_secret", "site": "local",
        "driver": "process", "cpus": 4, "memory_bytes": 16_000_000_000, "gpus": 1, "gpu_type": "A100",
        "gpu_memory_bytes": 40_000_000_000, "labels": {"rack": "7"}, "start_seconds": 60.0,
    }  # fmt: skip
    return NewMachine(**{**told, **changes})  # type: ignore[arg-type]


class ProvisionerContract:
    """What `Provisioner` promises. `provisioner` makes machines, `elsewhere` is that of another elastic compute."""

    @pytest.fixture
    def elsewhere(self, provisioner: Provisioner) -> Provisioner | None:
        return None

    def until(self, condition: Callable[[], bool]) -> None:
        wait_until(condition, within=60)

    def test_nothing_exists_at_first(self, provisioner: Provisioner) -> None:
        assert list(provisioner.observe()) == []

    def test_what_was_created_is_observed_until_it_is_deleted(self, provisioner: Provisioner) -> None:
        for name in ("burst-0001", "burst-0002"):
            provisioner.create(a_machine(name))
        self.until(lambda: sorted(provisioner.observe()) == ["burst-0001", "burst-0002"])
        provisioner.delete("burst-0001")
        self.until(lambda: list(provisioner.observe()) == ["burst-0002"])
        provisioner.delete("burst-0002")
        self.until(lambda: list(provisioner.observe()) == [])

    def test_deleting_again_or_what_never_was_is_success(self, provisioner: Provisioner) -> None:
        provisioner.delete("never-heard-of")
        provisioner.create(a_machine())
        for _ in range(2):
            provisioner.delete("burst-0001")
        self.until(lambda: list(provisioner.observe()) == [])

    def test_machines_of_others_are_not_observed(self, provisioner: Provisioner, elsewhere: Provisioner | None) -> None:
        if elsewhere is None:
            pytest.skip("there is no other one")
        elsewhere.create(a_machine("other-0001"))
        self.until(lambda: list(elsewhere.observe()) == ["other-0001"])
        assert list(provisioner.observe()) == []
        elsewhere.delete("other-0001")
