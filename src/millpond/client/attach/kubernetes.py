"""What a cluster needs to be a compute: an agent as a Deployment, its service account with few rights, its join token.

Pure: a plan gives objects for `kubectl apply`. `mill compute attach kubernetes` prints them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from millpond.errors import Invalid

Object = dict[str, Any]

ACCOUNT = "millpond-agent"
NAMED = {"app.kubernetes.io/name": ACCOUNT}
# Bound where jobs run, and nowhere else.
_JOB_RIGHTS = (
    {"apiGroups": ["batch"], "resources": ["jobs"], "verbs": ["create", "get", "list", "delete"]},
    # Names for the pods of distributed jobs; without it, they have addresses alone.
    {"apiGroups": [""], "resources": ["services"], "verbs": ["create", "delete"]},
    {"apiGroups": [""], "resources": ["pods", "events"], "verbs": ["list"]},
    # For workspaces that are claims. Without it, none are offered.
    {
        "apiGroups": [""],
        "resources": ["persistentvolumeclaims"],
        "verbs": ["create", "get", "list", "patch", "delete"],
    },
    {
        "apiGroups": ["snapshot.storage.k8s.io"],
        "resources": ["volumesnapshots"],
        "verbs": ["create", "get", "list", "delete"],
    },
    # For terminals in jobs, and their ports. Without it, interactive jobs are refused there.
    {"apiGroups": [""], "resources": ["pods/exec"], "verbs": ["get", "create"]},
)
# Nodes and classes of storage belong to no namespace.
_NODE_RIGHTS = (
    {"apiGroups": [""], "resources": ["nodes"], "verbs": ["list"]},
    {"apiGroups": ["storage.k8s.io"], "resources": ["storageclasses", "csidrivers"], "verbs": ["list"]},
    {"apiGroups": ["snapshot.storage.k8s.io"], "resources": ["volumesnapshotclasses"], "verbs": ["list"]},
)
_MOUNT = re.compile(
    r"(?P<path>/[^=]*)=(?:(?P<pvc>pvc):(?P<claim>[^/]+)(?:/(?P<within>.+))?"
    r"|(?P<nfs>nfs):(?P<server>[^:]+):(?P<export>/.*)"
    r"|host(?::(?P<directory>/.*))?)"
)


@dataclass(frozen=True, slots=True)
class ClusterPlan:
    """`mounts` are written as for the driver: `PATH=pvc:CLAIM[/SUB]`, `PATH=host[:PATH]`, `PATH=nfs:SERVER:/EXPORT`.

    The agent and the pods of jobs see the same there. `projects` have a namespace each for their jobs; without any,
    jobs run beside the agent.
    """

    server: str
    site: str
    name: str
    image: str
    job_image: str
    mounts: Sequence[str]
    namespace: str = "millpond"
    projects: Sequence[str] = ()
    # None: the secret `millpond-join` was made by hand.
    join_token: str | None = None
    options: Sequence[str] = ()

    @property
    def state_dir(self) -> str:
        return str(self._root / "agent")

    @property
    def cache_dir(self) -> str:
        """Made by the agent's pod, for a volume."""
        return str(self._root / "cache")

    @property
    def job_spaces(self) -> list[str]:
        return [project_space(project) for project in self.projects] or [self.namespace]

    @property
    def _root(self) -> PurePosixPath:
        return PurePosixPath(self.mounts[0].partition("=")[0])


def objects(plan: ClusterPlan) -> list[Object]:
    """Everything, in the order it is made. Invalid for a mount that is not written as one."""
    found = [_object("v1", "Namespace", name) for name in dict.fromkeys([plan.namespace, *plan.job_spaces])]
    found += _rights(plan)
    if plan.join_token is not None:
        secret = _object("v1", "Secret", "millpond-join", plan.namespace)
        found.append({**secret, "type": "Opaque", "stringData": {"token": plan.join_token}})
    return [*found, _deployment(plan)]


def claims(plan: ClusterPlan) -> list[str]:
    """The claims that must be there, as NAMESPACE/NAME: a claim belongs to one namespace."""
    names = [found["claim"] for text in plan.mounts if (found := _parsed(text))["pvc"]]
    spaces = dict.fromkeys([plan.namespace, *plan.job_spaces])
    return [f"{space}/{name}" for space in spaces for name in dict.fromkeys(names)]


def project_space(project: str) -> str:
    """The namespace for the jobs of a project; the driver is told `mill-{project}` and writes it in the same way."""
    return f"mill-{re.sub(r'[^a-z0-9]+', '-', project.lower()).strip('-')}"


def _rights(plan: ClusterPlan) -> Iterator[Object]:
    yield _object("v1", "ServiceAccount", ACCOUNT, plan.namespace)
    for name, rules in (("millpond-nodes", _NODE_RIGHTS), ("millpond-jobs", _JOB_RIGHTS)):
        yield {**_object("rbac.authorization.k8s.io/v1", "ClusterRole", name), "rules": [dict(rule) for rule in rules]}
    # Called after the namespace: two agents in one cluster do not take it from each other.
    yield _binding("ClusterRoleBinding", f"{plan.namespace}-nodes", "millpond-nodes", plan)
    for space in plan.job_spaces:
        yield _binding("RoleBinding", "millpond-jobs", "millpond-jobs", plan, space)


def _binding(kind: str, name: str, role: str, plan: ClusterPlan, namespace: str | None = None) -> Object:
    return {
        **_object("rbac.authorization.k8s.io/v1", kind, name, namespace),
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role},
        "subjects": [{"kind": "ServiceAccount", "name": ACCOUNT, "namespace": plan.namespace}],
    }


def _deployment(plan: ClusterPlan) -> Object:
    volumes, mounts = _volumes(plan.mounts)
    join = {"secretName": "millpond-join", "defaultMode": 0o400, "optional": True}
    container = {
        "name": "agent",
        "image": plan.image,
        "command": ["mill", "agent"],
        "args": _arguments(plan),
        "volumeMounts": [*map(dict, mounts), {"name": "join", "mountPath": "/join", "readOnly": True}],
    }
    # An agent never makes a volume's directory itself: below a missing mount it would lie on the wrong disk.
    directories = {
        "name": "directories",
        "image": plan.image,
        "command": ["mkdir", "-p", plan.cache_dir],
        "volumeMounts": mounts,
    }
    pod = {
        "serviceAccountName": ACCOUNT,
        "initContainers": [directories],
        "containers": [container],
        "volumes": [*volumes, {"name": "join", "secret": join}],
    }
    return {
        **_object("apps/v1", "Deployment", ACCOUNT, plan.namespace),
        "spec": {
            "replicas": 1,
            # Two agents with one credential would both run the same jobs: the old one goes first.
            "strategy": {"type": "Recreate"},
            "selector": {"matchLabels": dict(NAMED)},
            "template": {"metadata": {"labels": dict(NAMED)}, "spec": pod},
        },
    }


def _arguments(plan: ClusterPlan) -> list[str]:
    namespace = "mill-{project}" if plan.projects else plan.namespace
    options = [f"namespace={namespace}", f"image={plan.job_image}", f"workspace_image={plan.image}"]
    options += [f"mount={text}" for text in plan.mounts]
    return [
        f"--server={plan.server}",
        "--token-file=/join/token",
        f"--site={plan.site}",
        f"--node={plan.name}",
        f"--state-dir={plan.state_dir}",
        "--driver=kubernetes",
        *(f"--option={text}" for text in (*options, *plan.options)),
    ]


def _volumes(mounts: Sequence[str]) -> tuple[list[Object], list[Object]]:
    """What the agent's pod mounts, and where: each path as the server and the pods of jobs know it."""
    volumes, places = [], []
    for number, text in enumerate(mounts):
        found, name = _parsed(text), f"mill-{number}"
        place: Object = {"name": name, "mountPath": found["path"]}
        if found["pvc"]:
            volumes.append({"name": name, "persistentVolumeClaim": {"claimName": found["claim"]}})
            place |= {"subPath": found["within"]} if found["within"] else {}
        elif found["nfs"]:
            volumes.append({"name": name, "nfs": {"server": found["server"], "path": found["export"]}})
        else:
            directory = found["directory"] or found["path"]
            volumes.append({"name": name, "hostPath": {"path": directory, "type": "DirectoryOrCreate"}})
        places.append(place)
    return volumes, places


def _parsed(text: str) -> Mapping[str, str]:
    found = _MOUNT.fullmatch(text)
    if found is None:
        raise Invalid(
            f"{text!r} is not a mount.",
            hint="Write /mill=pvc:CLAIM[/SUB], /mill=nfs:SERVER:/EXPORT or /mill=host[:PATH].",
        )
    return found.groupdict()


def _object(version: str, kind: str, name: str, namespace: str | None = None) -> Object:
    metadata = {"name": name, **({"namespace": namespace} if namespace else {})}
    return {"apiVersion": version, "kind": kind, "metadata": metadata}
