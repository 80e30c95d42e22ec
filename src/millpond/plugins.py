"""Plug-ins: drivers, blob stores, places to import from and setters of tiers, declared by packages as entry points.

The built-in ones are declared in pyproject.toml and found in the same way. Nothing is imported before it is used.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import metadata
from typing import Any

from millpond.errors import MillError, SetupError

DRIVERS, STORES, SOURCES, TIERS = "millpond.drivers", "millpond.stores", "millpond.sources", "millpond.tiers"
# What one plug-in of each group is called.
GROUPS = {DRIVERS: "driver", STORES: "store", SOURCES: "source", TIERS: "tier setter"}

_OWN = "millpond"
# As in pyproject.toml: an editable install knows only the entry points of the day it was made.
BUILT_IN: Mapping[str, Mapping[str, str]] = {
    DRIVERS: {
        "process": "millpond.agent.drivers.process:open_driver",
        "kubernetes": "millpond.agent.drivers.kubernetes:open_driver",
        "slurm": "millpond.agent.drivers.slurm:open_driver",
        "podman": "millpond.agent.drivers.podman:open_driver",
    },
    STORES: {
        "file": "millpond.blobs.local:open_store",
        "memory": "millpond.blobs.memory:open_store",
        "s3": "millpond.blobs.clouds:open_s3",
        "gs": "millpond.blobs.clouds:open_gcs",
        "az": "millpond.blobs.clouds:open_azure",
    },
    SOURCES: {
        "s3": "millpond.blobs.external_s3:open_place",
        "gs": "millpond.blobs.external_gcs:open_place",
        "https": "millpond.blobs.external_web:open_place",
    },
    TIERS: {"command": "millpond.services.places.tier_setters:open_command"},
}


@dataclass(frozen=True, slots=True)
class Plugin:
    """One entry point. `package` is the distribution that declares it."""

    group: str
    name: str
    package: str
    version: str
    target: metadata.EntryPoint

    @property
    def is_built_in(self) -> bool:
        return self.package == _OWN

    @property
    def kind(self) -> str:
        return GROUPS[self.group]

    def load(self) -> Callable[..., Any]:
        """SetupError, naming the package, if it cannot be imported."""
        try:
            loaded = self.target.load()
        except MillError:
            raise
        except Exception as error:
            raise self._broken(f"cannot be loaded: {type(error).__name__}: {error}") from error
        if not callable(loaded):
            raise self._broken(f"is not a function: {self.target.value}")
        found: Callable[..., Any] = loaded
        return found

    def _broken(self, problem: str) -> SetupError:
        return SetupError(
            f"The {self.kind} {self.name!r} of package {self.package} {self.version} {problem}",
            hint=f"Reinstall the package, or remove it: pip uninstall {self.package}",
        )


def names(group: str) -> list[str]:
    """The built-in ones first."""
    return list(_found(tuple(sys.path))[group])


def load(group: str, name: str) -> Callable[..., Any]:
    """What the plug-in's entry point names. KeyError for one that is not installed; SetupError if it cannot be
    loaded, or if two packages offer it."""
    return find(group, name).load()


def find(group: str, name: str) -> Plugin:
    offered = _found(tuple(sys.path))[group][name]
    if len(offered) > 1:
        packages = sorted(one.package for one in offered)
        raise SetupError(
            f"Several packages offer the {GROUPS[group]} {name!r}: {', '.join(packages)}.",
            hint="Uninstall all but one of them.",
        )
    return offered[0]


def external() -> list[tuple[str, str]]:
    """Group and name of everything that other packages offer."""
    found = _found(tuple(sys.path))
    return [
        (group, name)
        for group in GROUPS
        for name, offered in found[group].items()
        if any(not one.is_built_in for one in offered)
    ]


@cache
def _found(path: tuple[str, ...]) -> Mapping[str, Mapping[str, Sequence[Plugin]]]:
    """By group and name. Installed packages are read once for each `path`."""
    return {group: _in_group(group) for group in GROUPS}


def _in_group(group: str) -> Mapping[str, Sequence[Plugin]]:
    installed = [_plugin(entry) for entry in metadata.entry_points(group=group)]
    own = {one.name: one for one in installed if one.is_built_in}
    found: dict[str, list[Plugin]] = {
        name: [own.get(name) or _declared(group, name, value)] for name, value in BUILT_IN[group].items()
    }
    for one in sorted(installed, key=lambda one: one.name):
        if not (one.is_built_in and one.name in found):
            found.setdefault(one.name, []).append(one)
    return found


def _plugin(entry: metadata.EntryPoint) -> Plugin:
    package, version = (entry.dist.name, entry.dist.version) if entry.dist else ("(unknown)", "")
    return Plugin(entry.group, entry.name, package, version, entry)


def _declared(group: str, name: str, value: str) -> Plugin:
    return Plugin(group, name, _OWN, "", metadata.EntryPoint(name, value, group))
