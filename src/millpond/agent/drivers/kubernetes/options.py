"""What an agent is told about the cluster it speaks for: `--option KEY=VALUE`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Annotated, Any

from pydantic import AfterValidator, Field

from millpond.agent.drivers.options import Options

_NAME = re.compile(r"[^a-z0-9]+")


@dataclass(frozen=True, slots=True)
class PodSource:
    """A directory as the agent sees it, and what pods mount to see the same: a volume of a pod, and a path within."""

    path: PurePosixPath
    volume: dict[str, Any]
    within: str = ""

    def sub_path(self, path: Path) -> str | None:
        """Where `path` lies within the volume; None when it does not."""
        if not path.is_relative_to(self.path):
            return None
        return str(PurePosixPath(self.within) / path.relative_to(self.path)).removeprefix(".").lstrip("/")


def parse_mount(text: str) -> PodSource:
    """`/srv/mill=pvc:CLAIM[/SUB]`, `/srv/mill=host[:/other]`, `/srv/mill=nfs:SERVER:/EXPORT`."""
    path, _, told = text.partition("=")
    kind, _, rest = told.partition(":")
    if not path.startswith("/"):
        raise ValueError(f"{text!r} is not a mount; write it like /srv/mill=pvc:CLAIM")
    seen = PurePosixPath(path)
    if kind == "pvc" and rest:
        claim, _, within = rest.partition("/")
        return PodSource(seen, {"persistentVolumeClaim": {"claimName": claim}}, within)
    if kind == "host":
        return PodSource(seen, {"hostPath": {"path": rest or path, "type": "Directory"}})
    server, _, export = rest.partition(":")
    if kind == "nfs" and export:
        return PodSource(seen, {"nfs": {"server": server, "path": export}})
    raise ValueError(f"{text!r} is not a mount; a path is on pvc:CLAIM[/SUB], host[:PATH] or nfs:SERVER:/EXPORT")


def parse_toleration(text: str) -> dict[str, str]:
    """`KEY[=VALUE][:EFFECT]`, as kubectl writes taints."""
    key, _, effect = text.partition(":")
    key, equals, value = key.partition("=")
    found = {"key": key, "operator": "Equal", "value": value} if equals else {"key": key, "operator": "Exists"}
    return {**found, "effect": effect} if effect else found


def _checked(parse: Any) -> Any:
    def check(text: str) -> str:
        parse(text)
        return text

    return AfterValidator(check)


Mount = Annotated[str, _checked(parse_mount)]
Pair = Annotated[str, Field(pattern=r"^[^=]+=.*$")]


class KubernetesOptions(Options):
    # The image of jobs that name none.
    image: str = Field(min_length=1)
    # How pods see the agent's state directory and the volumes of its site; the longest path that fits counts.
    mount: list[Mount] = Field(min_length=1)
    # Where Jobs are made; `{project}` in it is the project, for a namespace each.
    namespace: str | None = None
    kubeconfig: Path | None = None
    context: str | None = None
    pull_secret: list[str] = []
    node_selector: list[Pair] = []
    toleration: list[str] = []
    gpu_resource: list[str] = ["nvidia.com/gpu", "amd.com/gpu"]
    service_account: str | None = None
    # How long the pods of a distributed job that have a place wait for the others, and how long until the next try.
    gather_seconds: float = Field(default=60.0, gt=0)
    runtime_class: str | None = None
    # The image that fills and keeps workspaces which are claims: it has this version of Millpond. Otherwise `image`.
    workspace_image: str | None = None
    # New claims belong to root, and the storage ignores fsGroup: one container gives them to the user of jobs.
    fix_claims: bool = False
    # The interpreter in images that runs the keeper, 3.9 or newer.
    python: str = "python3"

    @property
    def sources(self) -> list[PodSource]:
        return sorted((parse_mount(text) for text in self.mount), key=lambda one: len(one.path.parts), reverse=True)

    @property
    def selector(self) -> dict[str, str]:
        return {key: value for key, _, value in (pair.partition("=") for pair in self.node_selector)}

    @property
    def tolerations(self) -> list[dict[str, str]]:
        return [parse_toleration(text) for text in self.toleration]


def as_name(text: str) -> str:
    """A project as part of the name of a namespace."""
    return _NAME.sub("-", text.lower()).strip("-")
