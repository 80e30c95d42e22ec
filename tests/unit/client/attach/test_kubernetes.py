"""What makes a cluster a compute: few rights, where jobs run and nowhere else; what agent and jobs see is the same."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from millpond.agent.drivers.kubernetes.options import as_name
from millpond.client.attach.kubernetes import ClusterPlan, claims, objects, project_space
from millpond.errors import Invalid

PLAN = ClusterPlan(
    server="https://mill.example",
    site="lab",
    name="lab",
    image="registry.example/millpond:0.1.0",
    job_image="registry.example/python:3.12",
    mounts=["/mill=pvc:millpond"],
    projects=["vision"],
)
EXAMPLE = Path(__file__).parents[4] / "deploy" / "kubernetes" / "agent.yaml"


def of_kind(found: list[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    return [one for one in found if one["kind"] == kind]


def pod(plan: ClusterPlan) -> dict[str, Any]:
    (deployment,) = of_kind(objects(plan), "Deployment")
    return dict(deployment["spec"]["template"]["spec"])


def test_rights_are_those_of_the_example_and_hold_where_jobs_run() -> None:
    found, example = objects(PLAN), list(yaml.safe_load_all(EXAMPLE.read_text()))
    rules = {one["metadata"]["name"]: one["rules"] for one in of_kind(found, "ClusterRole")}
    assert rules == {one["metadata"]["name"]: one["rules"] for one in of_kind(example, "ClusterRole")}
    (bound,) = of_kind(found, "RoleBinding")
    assert (bound["metadata"]["namespace"], bound["roleRef"]["name"]) == ("mill-vision", "millpond-jobs")


def test_the_agent_is_told_what_the_example_tells_it() -> None:
    (example,) = of_kind(list(yaml.safe_load_all(EXAMPLE.read_text())), "Deployment")
    told = example["spec"]["template"]["spec"]["containers"][0]
    (container,) = pod(PLAN)["containers"]
    assert (container["command"], container["args"]) == (told["command"], told["args"])


def test_without_projects_jobs_run_beside_the_agent() -> None:
    plan = replace(PLAN, projects=())
    (bound,) = of_kind(objects(plan), "RoleBinding")
    assert bound["metadata"]["namespace"] == "millpond"
    assert "--option=namespace=millpond" in pod(plan)["containers"][0]["args"]
    assert claims(plan) == ["millpond/millpond"]


def test_two_agents_of_a_cluster_have_bindings_of_their_own() -> None:
    names = {
        of_kind(objects(replace(PLAN, namespace=space)), "ClusterRoleBinding")[0]["metadata"]["name"]
        for space in ("millpond", "other")
    }
    assert len(names) == 2


@pytest.mark.parametrize(
    ("mount", "volume", "place"),
    [
        ("/mill=pvc:c/in/it", {"persistentVolumeClaim": {"claimName": "c"}}, {"subPath": "in/it"}),
        ("/mill=nfs:nas:/export", {"nfs": {"server": "nas", "path": "/export"}}, {}),
        ("/mill=host", {"hostPath": {"path": "/mill", "type": "DirectoryOrCreate"}}, {}),
        ("/mill=host:/srv", {"hostPath": {"path": "/srv", "type": "DirectoryOrCreate"}}, {}),
    ],
)
def test_the_agent_sees_what_jobs_see(mount: str, volume: dict[str, Any], place: dict[str, Any]) -> None:
    found = pod(replace(PLAN, mounts=[mount]))
    assert found["volumes"][0] == {"name": "mill-0", **volume}
    assert found["containers"][0]["volumeMounts"][0] == {"name": "mill-0", "mountPath": "/mill", **place}
    assert f"--option=mount={mount}" in found["containers"][0]["args"]
    assert found["initContainers"][0]["command"] == ["mkdir", "-p", "/mill/cache"]


def test_a_claim_is_needed_in_every_namespace() -> None:
    assert claims(PLAN) == ["millpond/millpond", "mill-vision/millpond"]
    assert claims(replace(PLAN, mounts=["/mill=host"])) == []


@pytest.mark.parametrize("mount", ["mill=pvc:c", "/mill", "/mill=pvc:", "/mill=disk:x", "/mill=nfs:nas"])
def test_what_is_no_mount_is_refused(mount: str) -> None:
    with pytest.raises(Invalid, match="is not a mount"):
        objects(replace(PLAN, mounts=[mount]))


def test_the_join_token_is_a_secret_only_where_there_is_one() -> None:
    assert of_kind(objects(PLAN), "Secret") == []
    (secret,) = of_kind(objects(replace(PLAN, join_token="mill_join_x")), "Secret")
    assert secret["stringData"] == {"token": "mill_join_x"}


@pytest.mark.parametrize("project", ["vision", "Team A/x.y", "-odd-"])
def test_namespaces_are_called_as_the_driver_calls_them(project: str) -> None:
    assert project_space(project) == f"mill-{as_name(project)}"
