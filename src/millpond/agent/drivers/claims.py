"""Volumes that an engine makes by itself, one for each workspace: claims of a Kubernetes cluster."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Protocol, runtime_checkable

from millpond.agent.spec import Mount

# What belongs to a workspace is called so in the engine, by kind.
Kind = Literal["job", "claim", "snapshot"]
# Called while something is waited for, with the engine's reason if it takes long; may raise to give up.
Waiting = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class StorageClass:
    """A kind of storage, by what the engine says of it."""

    name: str
    provisioner: str = ""
    is_default: bool = False
    # Claims can be made larger.
    expands: bool = False
    # New claims can begin as another one.
    clones: bool = False
    # Of the class that takes snapshots of its claims; "": none does, and why.
    snapshot_class: str = ""
    snapshot_problem: str = ""


@dataclass(frozen=True, slots=True)
class Named:
    """One object of the engine."""

    kind: Kind
    space: str
    name: str


@dataclass(frozen=True, slots=True)
class NewClaim:
    """A claim to be made. With `origin` it begins as that claim or snapshot, of the same space."""

    name: Named
    storage_class: str
    size_bytes: int
    many_nodes: bool = False
    origin: Named | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    workspace: str = ""


@dataclass(frozen=True, slots=True)
class MountedClaim:
    """A claim, and where a program has the whole of it."""

    name: Named
    target: str
    writable: bool = False


@dataclass(frozen=True, slots=True)
class ClaimProgram:
    """A module of Millpond that runs where claims are mounted. It has ended once `result` is there."""

    name: Named
    module: str
    arguments: Sequence[str]
    result: Path
    claims: Sequence[MountedClaim]
    mounts: Sequence[Mount] = ()
    labels: Mapping[str, str] = field(default_factory=dict)


class ClaimRefused(OSError):
    """The engine does not make a claim from another one."""


class Claims(Protocol):
    """Every call may be repeated: what is there already is success, and what is gone, too. Calls block.

    Raises EngineAway, or OSError with the engine's reason.
    """

    def classes(self) -> Sequence[StorageClass]:
        """Those of which this agent may make claims, by the last look."""
        ...

    def space_of(self, project: str) -> str:
        """Where the claims of a project are made."""
        ...

    def spaces(self) -> Sequence[str]:
        """All of them, if they are known."""
        ...

    def create(self, claim: NewClaim) -> None: ...

    def resize(self, claim: Named, size_bytes: int) -> None: ...

    def snapshot(self, name: Named, claim: Named, snapshot_class: str, labels: Mapping[str, str]) -> None:
        """Ask for a snapshot of a claim."""
        ...

    def wait_for_snapshot(self, name: Named, waiting: Waiting) -> None:
        """Until clones can be made of it."""
        ...

    def run(self, program: ClaimProgram, waiting: Waiting) -> None:
        """Run it to its end; nothing of it is left then. ClaimRefused if one of its claims cannot be made from its
        origin."""
        ...

    def remove(self, name: Named) -> None:
        """With a program, wait until nothing of it runs any more."""
        ...

    def listed(self, space: str, labels: Mapping[str, str]) -> Sequence[Named]:
        """All that has these labels, programs first."""
        ...


@runtime_checkable
class HasClaims(Protocol):
    """A driver whose jobs mount claims as workspaces."""

    def claims(self) -> Claims: ...
