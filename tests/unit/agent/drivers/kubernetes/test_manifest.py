"""The Job of a placement: what a pod sees, may use and is called."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from millpond.agent.drivers.kubernetes.manifest import NotMounted, job
from millpond.agent.drivers.kubernetes.options import KubernetesOptions
from millpond.agent.spec import Mount
from millpond.testing.agents import a_spec

DIRECTORY = Path("/mill/agent/placements/p1")


def a_pod(options: dict[str, Any] | None = None, node: str | None = None, **fields: Any) -> dict[str, Any]:
    told = KubernetesOptions.model_validate(
        {"image": "python:3.12", "mount": ["/mill=pvc:mill/shared"]} | (options or {})
    )
    defaults: dict[str, Any] = {"valid_seconds": 600, "grace_seconds": 10, "image": "python:3.12"}
    spec = a_spec(project="vision", env={"MILL_TOKEN": "secret"}, **defaults | fields)
    made = job(spec, DIRECTORY, told, user=(1000, 1000), gpu_resource="nvidia.com/gpu", node=node)
    assert "secret" not in str(made), "the environment is in the placement's directory, not in the cluster"
    assert made["metadata"]["name"] == "mill-p1"
    assert made["spec"]["backoffLimit"] == 0
    pod: dict[str, Any] = made["spec"]["template"]["spec"]
    return pod


def test_the_keeper_runs_in_the_placements_own_directory() -> None:
    pod = a_pod()
    (container,) = pod["containers"]
    assert container["command"] == ["python3", "-I", "-S", "-B", f"{DIRECTORY}/keeper.pyz", str(DIRECTORY)]
    assert pod["restartPolicy"] == "Never"
    assert pod["terminationGracePeriodSeconds"] > 10
    assert pod["automountServiceAccountToken"] is False
    assert pod["securityContext"]["runAsUser"] == 1000


def test_a_namespace_under_the_restricted_standard_lets_it_in() -> None:
    pod = a_pod()
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    (container,) = pod["containers"]
    assert container["securityContext"] == {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}


def test_a_rank_of_a_distributed_job_has_a_job_and_a_name_of_its_own() -> None:
    told = KubernetesOptions.model_validate({"image": "python:3.12", "mount": ["/mill=pvc:mill/shared"]})
    gang = {"rank": 2, "size": 3, "node": "n1", "address": None}
    spec = a_spec(project="vision", grace_seconds=10, gang=gang)
    made = job(spec, DIRECTORY, told, user=(1000, 1000))
    pod = made["spec"]["template"]["spec"]
    assert made["metadata"]["name"] == "mill-p1-2"
    assert made["metadata"]["labels"]["millpond.dev/rank"] == "2"
    assert (pod["hostname"], pod["subdomain"]) == ("rank-2", "mill-p1")
    (container,) = pod["containers"]
    assert container["command"][-2:] == [f"{DIRECTORY}/keeper.pyz", f"{DIRECTORY}/ranks/2"]
    assert container["env"][0]["valueFrom"] == {"fieldRef": {"fieldPath": "status.podIP"}}


def test_a_mount_is_a_claim_that_a_pod_writes_to() -> None:
    mounts = (Mount("/nfs/scratch", "/workspace", writable=True),)
    pod = a_pod({"mount": ["/mill=pvc:mill/shared", "/nfs/scratch=pvc:scratch"]}, mounts=mounts)
    shown = next(one for one in pod["containers"][0]["volumeMounts"] if one["mountPath"] == "/workspace")
    assert shown["readOnly"] is False
    volume = next(one for one in pod["volumes"] if one["name"] == shown["name"])
    assert volume["persistentVolumeClaim"] == {"claimName": "scratch"}


def test_a_pod_sees_its_directory_its_inputs_and_nothing_else() -> None:
    inputs = (Mount("/mill/cache/commits/a/b/c", "/data/x"), Mount("/nfs/commits/d", "/data/y"))
    pod = a_pod({"mount": ["/mill=pvc:mill/shared", "/nfs=nfs:filer:/export", "/mill/cache=host:/srv"]}, inputs=inputs)
    by_name = {volume["name"]: volume for volume in pod["volumes"]}
    shown = {
        mount["mountPath"]: (by_name[mount["name"]], mount["subPath"], mount["readOnly"])
        for mount in pod["containers"][0]["volumeMounts"]
        if mount["name"] != "shm"
    }
    assert set(shown) == {str(DIRECTORY), "/data/x", "/data/y"}
    own, within, read_only = shown[str(DIRECTORY)]
    assert own["persistentVolumeClaim"] == {"claimName": "mill"}
    assert (within, read_only) == ("shared/agent/placements/p1", False)
    cached, within, read_only = shown["/data/x"]
    assert cached["hostPath"] == {"path": "/srv", "type": "Directory"}
    assert (within, read_only) == ("commits/a/b/c", True)
    assert shown["/data/y"][0]["nfs"] == {"server": "filer", "path": "/export"}


def test_what_no_mount_covers_is_refused_with_what_to_tell() -> None:
    with pytest.raises(NotMounted, match=r"pods cannot see /other/c: .* mount=/other=pvc:CLAIM"):
        a_pod(inputs=(Mount("/other/c", "/data/x"),))


def test_what_was_asked_for_is_reserved_and_the_limit() -> None:
    asked = {"cpu": "2", "memory": "1000000000", "nvidia.com/gpu": "3"}
    pod = a_pod(cpu=2, memory_bytes=10**9, gpu_hundredths=300)
    assert pod["containers"][0]["resources"] == {"requests": asked, "limits": asked}
    assert a_pod()["containers"][0]["resources"] == {}


def test_what_the_agent_was_told_about_the_cluster() -> None:
    pod = a_pod(
        {
            "pull_secret": ["registry"],
            "node_selector": ["pool=gpu"],
            "toleration": ["nvidia.com/gpu:NoSchedule", "team=vision"],
            "runtime_class": "nvidia",
            "service_account": "jobs",
        },
        node="gpu-7",
    )
    assert pod["imagePullSecrets"] == [{"name": "registry"}]
    assert pod["nodeSelector"] == {"pool": "gpu"}
    assert pod["tolerations"] == [
        {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"},
        {"key": "team", "operator": "Equal", "value": "vision"},
    ]
    assert (pod["runtimeClassName"], pod["serviceAccountName"]) == ("nvidia", "jobs")
    assert "gpu-7" in str(pod["affinity"])
    assert "affinity" not in a_pod() and "imagePullSecrets" not in a_pod()
