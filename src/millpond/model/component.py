"""Components of the AI library: a reusable step with typed parameters, inputs and outputs (`component.yaml`)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from millpond.errors import BadName
from millpond.model.flow import SECRET, Param, Port

CATEGORIES = ("algorithm", "script", "data-source", "transform", "evaluate", "register", "deploy")
# Done by the server with the rights of the flow's `run_as`: such a component has no command.
REGISTER = "register"
# A project's own components are branches of `.code`: library/NAME/VERSION.
# Branches of `.code` that hold components of a project.
LIBRARY_BRANCHES = "library/"
_REF = re.compile(r"(?P<name>[a-z0-9][a-z0-9-]{0,62})(?:@(?P<version>[0-9]+(?:\.[0-9]+){0,2}))?")


@dataclass(frozen=True, slots=True)
class ComponentRef:
    """`resnet50@1.2`: the newest version that begins so; without a version the newest of all."""

    name: str
    version: tuple[int, ...] = ()

    @classmethod
    def parse(cls, text: str) -> ComponentRef:
        found = _REF.fullmatch(text)
        if found is None:
            raise BadName(f"{text!r} is not a component.", hint="Write it as NAME@MAJOR, like resnet50@1.")
        return cls(found["name"], tuple(int(part) for part in (found["version"] or "").split(".") if part))

    @classmethod
    def of_branch(cls, branch: str) -> ComponentRef | None:
        """The component that a branch of `.code` holds; None if it holds none."""
        name, slash, version = branch.removeprefix(LIBRARY_BRANCHES).partition("/")
        if not branch.startswith(LIBRARY_BRANCHES) or not slash or version.count(".") != 2:
            return None
        try:
            return cls.parse(f"{name}@{version}")
        except BadName:
            return None

    @property
    def branch(self) -> str:
        """The branch of `.code` that holds this version."""
        return f"{LIBRARY_BRANCHES}{self.name}/{'.'.join(map(str, self.version))}"

    def accepts(self, version: tuple[int, ...]) -> bool:
        return version[: len(self.version)] == self.version

    def __str__(self) -> str:
        return f"{self.name}@{'.'.join(map(str, self.version))}" if self.version else self.name


@dataclass(frozen=True, slots=True)
class ComponentEnvironment:
    """What its command needs: a range of Python versions and a requirements file, locked if there is a lock file."""

    python: str = ""
    requirements: str = ""
    lock: str = ""


@dataclass(frozen=True, slots=True)
class ComponentResources:
    cpu: int = 0
    memory_bytes: int = 0
    gpu_hundredths: int = 0
    processes: int = 0
    # Runs without a GPU where none is free, only slower.
    gpu_optional: bool = False


@dataclass(frozen=True, kw_only=True)
class Component:
    name: str
    version: tuple[int, ...]
    title: str = ""
    category: str = "script"
    description: str = ""
    command: tuple[str, ...] = ()
    image: str | None = None
    environment: ComponentEnvironment = ComponentEnvironment()
    resources: ComponentResources = ComponentResources()
    # Resumes from $MILL_CHECKPOINT.
    checkpoint: bool = False
    remember: bool = True
    params: Mapping[str, Param] = field(default_factory=dict)
    inputs: Mapping[str, Port] = field(default_factory=dict)
    outputs: Mapping[str, Port] = field(default_factory=dict)
    docs: str | None = None
    example: Mapping[str, Any] = field(default_factory=dict)

    @property
    def ref(self) -> ComponentRef:
        return ComponentRef(self.name, self.version)

    @property
    def version_text(self) -> str:
        return ".".join(map(str, self.version))

    def secrets(self, params: Mapping[str, Any]) -> frozenset[str]:
        """The names of the secrets that these parameters name."""
        named = (params.get(name) for name, param in self.params.items() if param.type == SECRET)
        return frozenset(name for name in named if name)
