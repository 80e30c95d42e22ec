"""The Kubernetes driver on a real cluster: the contract of all drivers, and what is Kubernetes' own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from millpond.agent.drivers.choose import Machine, open_driver
from millpond.agent.drivers.kubernetes import KubernetesDriver
from millpond.agent.keeper import all_processes
from millpond.testing.drivers import DriverContract, looking
from millpond.testing.kube import IMAGE, Kube
from millpond.wire.agent import NodeFacts

MACHINE = NodeFacts(name="cluster", cpus=2, memory_bytes=4 * 10**9)


def a_driver(kube: Kube, path: Path, **options: str | list[str]) -> KubernetesDriver:
    """Told as on the command line; pods see everything below `path`."""
    told: dict[str, str | list[str]] = {"kubeconfig": str(kube.kubeconfig), "image": IMAGE, "mount": f"{path}=host"}
    given = {key: [value] if isinstance(value, str) else value for key, value in (told | options).items()}
    driver = open_driver("kubernetes", Machine(MACHINE, path), given)
    assert isinstance(driver, KubernetesDriver)
    return driver


class TestKubernetesDriver(DriverContract):
    image = IMAGE

    @pytest.fixture
    def driver(self, kube: Kube, tmp_path: Path) -> Iterator[KubernetesDriver]:
        driver = a_driver(kube, tmp_path)
        with closing(driver), looking(driver):
            yield driver

    def keeper(self, placement: Path) -> int:
        """In its pod it is process 1."""
        found = [process.pid for process in all_processes() if _is_keeper(process.pid, placement)]
        assert len(found) == 1
        return found[0]


def _is_keeper(pid: int, placement: Path) -> bool:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().endswith(f"keeper.py\0{placement}\0".encode())
    except OSError:
        return False
