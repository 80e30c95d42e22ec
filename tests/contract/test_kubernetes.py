"""The Kubernetes driver on a real cluster: the contract of all drivers, and what is Kubernetes' own."""

from __future__ import annotations

import json
import secrets
import signal
import subprocess
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest
import yaml

from millpond.agent.drivers import Driver, EngineAway, Exited, NotStarted, Pending, Reason
from millpond.agent.drivers.choose import AgentMachine, open_driver
from millpond.agent.drivers.kubernetes import KubernetesDriver
from millpond.agent.keeper.clock import boot_time
from millpond.agent.keeper.processes import all_processes
from millpond.agent.spec import Mount, renew
from millpond.model.job import RankPlace
from millpond.testing.agents import a_spec
from millpond.testing.drivers import Place, finished, looking
from millpond.testing.gangs import RANKS, GangContract
from millpond.testing.kube import IMAGE, Kube
from millpond.testing.slow_engines import keeper_in_the_long_run
from millpond.testing.waiting import wait_until
from millpond.wire.observed import NodeFacts

# The first test starts the cluster.
pytestmark = pytest.mark.timeout(600)

MACHINE = NodeFacts(name="cluster", cpus=2, memory_bytes=4 * 10**9)
DEPLOY = Path(__file__).parents[2] / "deploy" / "kubernetes"


def a_driver(kube: Kube, path: Path, **options: str | list[str]) -> KubernetesDriver:
    """Told as on the command line; pods see everything below `path`."""
    told: dict[str, str | list[str]] = {"kubeconfig": str(kube.kubeconfig), "image": IMAGE, "mount": f"{path}=host"}
    given = {key: [value] if isinstance(value, str) else value for key, value in (told | options).items()}
    driver = open_driver("kubernetes", AgentMachine(MACHINE, path), given)
    assert isinstance(driver, KubernetesDriver)
    return driver


@keeper_in_the_long_run
class TestKubernetesDriver(GangContract):
    image = IMAGE
    sees_any_path = False

    @pytest.fixture
    def driver(self, kube: Kube, tmp_path: Path) -> Iterator[KubernetesDriver]:
        driver = a_driver(kube, tmp_path)
        driver.look()
        with closing(driver), looking(driver):
            yield driver

    def keeper(self, placement: Path) -> int:
        """In its pod it is the child of process 1, its guard."""
        found = [process for process in all_processes() if _is_keeper(process.pid, placement)]
        (keeper,) = (one for one in found if one.parent in {process.pid for process in found})
        return keeper.pid

    def keeper_of(self, placement: Path, rank: int) -> int:
        return self.keeper(placement / "ranks" / str(rank))

    @pytest.mark.long
    def test_a_killed_keeper_of_one_rank_is_the_end_of_all(self, driver: Driver, place: Place) -> None:
        super().test_a_killed_keeper_of_one_rank_is_the_end_of_all(driver, place)

    @pytest.mark.long
    def test_ranks_that_do_not_all_get_a_place_keep_none(self, kube: Kube, tmp_path: Path, place: Place) -> None:
        cpus = int(json.loads(kube.kubectl("get", "node", "node1", "-o", "json"))["status"]["allocatable"]["cpu"])
        with closing(a_driver(kube, tmp_path, gather_seconds="3")) as driver, looking(driver):
            placement = place("sh", "-c", "touch begun-$RANK", ranks=(*RANKS[:1], RankPlace("", (0,))), cpu=cpus)
            driver.start(placement)
            assert wait_until(lambda: _why(driver, placement, "1 of 2 processes have a place"), within=60)
            first = _pods(kube, placement)
            why = wait_until(lambda: _why(driver, placement, "all were withdrawn"), within=60)
            assert "Insufficient cpu" in (why or "")
            again = wait_until(lambda: _pods(kube, placement) - first, within=120, what="another try")
            # Its first pods went before others came: one that stays would keep the place that the rest waits for.
            assert not first & _pods(kube, placement), again
            driver.stop(placement)
            assert _status(driver, placement) == Reason.NOT_STARTED
            driver.forget(placement)
        assert list((placement / "work").iterdir()) == []

    def test_what_the_cluster_has_no_room_for_waits_in_its_words(
        self, kube: Kube, driver: KubernetesDriver, place: Place
    ) -> None:
        assert [node.name for node in driver.nodes()] == ["node1"]
        placement = place("true", node="node1", gpu_hundredths=100)
        driver.start(placement)
        why = wait_until(lambda: _why(driver, placement, "nvidia.com/gpu"), within=60)
        assert why == "0/1 nodes are available: 1 Insufficient nvidia.com/gpu."
        driver.stop(placement)
        assert _status(driver, placement) == Reason.NOT_STARTED
        wait_until(lambda: placement.name not in kube.kubectl("get", "jobs", "-o", "name"), within=60)

    def test_a_service_is_reached_at_the_address_of_its_pod(
        self, kube: Kube, driver: KubernetesDriver, place: Place
    ) -> None:
        able = driver.capabilities()
        assert able.services and not able.routers and able.serving_problem
        placement = place("sleep", "600")
        assert driver.serving_host(placement) is None
        driver.start(placement)
        host = wait_until(lambda: driver.serving_host(placement), within=120)
        assert host in kube.kubectl("get", "pods", "-o", "wide") and host.startswith("10.244.0.")
        driver.stop(placement)
        finished(driver, placement)

    def test_more_memory_than_its_limit(self, driver: KubernetesDriver, place: Place) -> None:
        status = self.run(driver, place("sh", "-c", "exec python3 -c 'x = b\"1\" * 10**9'", memory_bytes=64 * 10**6))
        assert (status.signal, status.reason) == (signal.SIGKILL, Reason.OUT_OF_MEMORY)
        assert status.problem == "Killed for exceeding its memory limit of 64.0 MB."

    def test_an_image_that_is_not_there(self, driver: KubernetesDriver, place: Place) -> None:
        placement = place("true", image="localhost/nothing:1")
        driver.start(placement)
        assert wait_until(lambda: _why(driver, placement, "Cannot pull the image"), within=60)

    def test_an_image_that_cannot_be(self, driver: KubernetesDriver, place: Place) -> None:
        status = self.run(driver, place("true", image="Not An Image"))
        assert status.reason is Reason.NOT_STARTED
        assert (status.problem or "").startswith("Invalid image name")

    def test_a_pod_that_somebody_deletes_ends_in_its_own_way(
        self, kube: Kube, driver: KubernetesDriver, place: Place
    ) -> None:
        placement = place("sh", "-c", "trap 'echo saved; exit 7' TERM; touch here; while :; do sleep 0.05; done")
        driver.start(placement)
        self.wait_for_file(placement, "here")
        kube.kubectl("delete", "pod", "-l", f"millpond.dev/placement={placement.name}", "--wait=false")
        status = finished(driver, placement)
        assert isinstance(status, Exited)
        assert (status.exit_code, status.reason) == (7, Reason.TERMINATED)

    def test_it_sees_its_inputs_and_cannot_change_them(
        self, driver: KubernetesDriver, place: Place, tmp_path: Path
    ) -> None:
        for name in ("mine", "another"):
            (tmp_path / "volume" / name).mkdir(parents=True)
            (tmp_path / "volume" / name / "file").write_text(name)
        shown = Mount(str(tmp_path / "volume" / "mine"), "/data/digits")
        placement = place(
            "sh", "-c", f"cat /data/digits/file; touch /data/digits/new; ls {tmp_path}/volume", inputs=(shown,)
        )
        status = self.run(driver, placement)
        log = (placement / "log").read_text()
        assert status.exit_code != 0
        assert "mine" in log and "Read-only file system" in log and "another" not in log

    def test_what_pods_cannot_see_is_refused(self, driver: KubernetesDriver, place: Place) -> None:
        placement = place("true", inputs=(Mount("/elsewhere/commit", "/data/digits"),))
        with pytest.raises(OSError, match="pods cannot see /elsewhere/commit: start the agent with"):
            driver.start(placement)


def test_the_agent_of_deploy_may_do_what_it_needs_and_no_more(kube: Kube, tmp_path: Path) -> None:
    for name in ("agent", "project"):
        text = (DEPLOY / f"{name}.yaml").read_text().replace("PROJECT", "vision")
        kube.kubectl("apply", "-f", "-", stdin=text)
    account = tmp_path / "kubeconfig"
    account.write_text(_as_account(kube, "millpond", "millpond-agent"))
    driver = a_driver(kube, tmp_path, kubeconfig=str(account), namespace="mill-{project}")
    with closing(driver):
        driver.look()
        assert [node.name for node in driver.nodes()] == ["node1"]
        placement = _placement(tmp_path, "vision")
        with looking(driver):
            driver.start(placement)
            assert isinstance(finished(driver, placement), Exited)
        driver.forget(placement)
        with pytest.raises(OSError, match=r'cannot create resource "jobs".*in the namespace "mill-other"'):
            driver.start(_placement(tmp_path, "other"))


def test_without_a_word_about_nodes_the_cluster_is_one(kube: Kube, tmp_path: Path) -> None:
    namespace = f"small-{secrets.token_hex(4)}"
    kube.kubectl("create", "namespace", namespace)
    account = tmp_path / "kubeconfig"
    account.write_text(_as_account(kube, namespace, "default"))
    with closing(a_driver(kube, tmp_path, kubeconfig=str(account))) as driver:
        driver.look()
        assert list(driver.nodes()) == [MACHINE]


def test_a_cluster_that_is_away_is_said_to_be(kube: Kube, tmp_path: Path) -> None:
    config = yaml.safe_load(kube.kubeconfig.read_text())
    config["clusters"][0]["cluster"]["server"] = "https://127.0.0.1:1"
    (tmp_path / "kubeconfig").write_text(json.dumps(config))
    with closing(a_driver(kube, tmp_path, kubeconfig=str(tmp_path / "kubeconfig"))) as driver:
        placement = _placement(tmp_path, "p")
        for ask in (driver.look, lambda: driver.start(placement)):
            with pytest.raises(EngineAway, match=r"https://127\.0\.0\.1:1"):
                ask()
        assert driver.status(placement) == NotStarted()


def _placement(root: Path, project: str) -> Path:
    placement = root / f"p-{secrets.token_hex(6)}"
    (placement / "work").mkdir(parents=True)
    a_spec(placement=placement.name, project=project, directory=str(placement / "work"), image=IMAGE).write(placement)
    renew(placement, boot_time())
    return placement


def _as_account(kube: Kube, namespace: str, name: str) -> str:
    """The cluster's kubeconfig with the token of a service account in place of the administrator's certificate."""
    config: dict[str, Any] = yaml.safe_load(kube.kubeconfig.read_text())
    asked = f"/api/v1/namespaces/{namespace}/serviceaccounts/{name}/token"
    body = json.dumps({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"audiences": None}})

    def granted() -> Any:
        with suppress(subprocess.CalledProcessError):  # the account of a new namespace comes a moment later
            return json.loads(kube.kubectl("create", "--raw", asked, "-f", "-", stdin=body))["status"]["token"]

    config["users"][0]["user"] = {"token": wait_until(granted, within=60)}
    return json.dumps(config)


def _pods(kube: Kube, placement: Path) -> set[str]:
    uids = "jsonpath={.items[*].metadata.uid}"
    return set(kube.kubectl("get", "pods", "-l", f"millpond.dev/placement={placement.name}", "-o", uids).split())


def _why(driver: KubernetesDriver, placement: Path, part: str) -> str | None:
    status = driver.status(placement)
    return status.why if isinstance(status, Pending) and part in status.why else None


def _status(driver: KubernetesDriver, placement: Path) -> Reason | None:
    status = driver.status(placement)
    assert isinstance(status, Exited)
    return status.reason


def _is_keeper(pid: int, placement: Path) -> bool:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().endswith(f"keeper.pyz\0{placement}\0".encode())
    except OSError:
        return False
