"""Plug-ins are found by their entry points; what is wrong with one names its package."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from importlib import metadata
from pathlib import Path

import pytest

from millpond import plugins
from millpond.agent.drivers.choose import AgentMachine, open_driver
from millpond.blobs.location import Location, open_store
from millpond.errors import BadRequest, SetupError
from millpond.testing.plugins import EntryPoints, declare, use_packages
from millpond.wire.observed import NodeFacts

ROOT = Path(__file__).parents[2]
MODULE = """
from millpond.blobs.memory import MemoryStore
opened = []
def open_store(location, environment, signer):
    opened.append((location.bucket, location.prefix, dict(location.options)))
    return MemoryStore(signer)
"""


@pytest.fixture
def machine(tmp_path: Path) -> AgentMachine:
    return AgentMachine(NodeFacts(name="here", cpus=1, memory_bytes=1), tmp_path)


def test_the_built_in_ones_are_declared_like_any_other() -> None:
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"]
    assert {group: declared[group] for group in plugins.GROUPS} == plugins.BUILT_IN


@pytest.mark.parametrize("group", plugins.GROUPS)
def test_every_built_in_one_loads(group: str) -> None:
    for name in plugins.BUILT_IN[group]:
        assert plugins.find(group, name).is_built_in
        assert callable(plugins.load(group, name))


def test_an_install_from_before_the_entry_points_has_the_built_in_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metadata, "entry_points", lambda group: [])
    use_packages(monkeypatch, Path("/nowhere"))
    assert plugins.names(plugins.STORES) == ["file", "memory", "s3", "gs", "az"]
    assert callable(plugins.load(plugins.DRIVERS, "process"))


def test_nothing_is_imported_before_it_is_used(tmp_path: Path) -> None:
    code = (
        "import sys; from millpond.blobs.location import open_store; import millpond.agent.drivers.choose;"
        f"open_store({str(tmp_path / 'lake')!r});"
        "print([m for m in sys.modules if m.startswith(('obstore', 'millpond.agent.drivers.slurm'))])"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout == "[]\n"


def test_a_store_of_another_package_opens_by_its_scheme(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "tape_store.py").write_text(MODULE)
    declare(tmp_path, "mill-tape", {plugins.STORES: {"tape": "tape_store:open_store"}})
    use_packages(monkeypatch, tmp_path)
    store = open_store("tape://robot/shelf/7?drive=2")
    store.put("a", b"x")
    assert store.get("a") == b"x"
    assert sys.modules["tape_store"].opened == [("robot", "shelf/7", {"drive": "2"})]
    found = plugins.find(plugins.STORES, "tape")
    assert (found.package, found.version, found.is_built_in) == ("mill-tape", "1.0", False)
    assert plugins.external() == [(plugins.STORES, "tape")]


def test_unknown_ones_name_those_there_are(machine: AgentMachine) -> None:
    with pytest.raises(BadRequest, match="Unknown driver 'lsf'") as raised:
        open_driver("lsf", machine, {})
    assert "process, kubernetes, slurm, podman" in (raised.value.hint or "")
    with pytest.raises(BadRequest, match="tape://robot"):
        Location.parse("tape://robot")


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ("no_such_module:open_driver", "ModuleNotFoundError: No module named 'no_such_module'"),
        ("millpond.plugins:no_such_name", "AttributeError"),
        ("millpond.plugins:DRIVERS", "is not a function"),
    ],
)
def test_a_broken_one_names_its_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, machine: AgentMachine, value: str, problem: str
) -> None:
    declare(tmp_path, "mill-lsf", {plugins.DRIVERS: {"lsf": value}})
    use_packages(monkeypatch, tmp_path)
    with pytest.raises(SetupError, match="driver 'lsf' of package mill-lsf") as raised:
        open_driver("lsf", machine, {})
    assert problem in raised.value.message
    assert "pip uninstall mill-lsf" in (raised.value.hint or "")
    assert open_driver("process", machine, {}).name == "process", "others still work"


@pytest.mark.parametrize(
    ("one", "other", "packages"),
    [
        ({plugins.DRIVERS: {"lsf": "a:b"}}, {plugins.DRIVERS: {"lsf": "c:d"}}, "mill-lsf, mill-other"),
        ({plugins.DRIVERS: {"process": "a:b"}}, {}, "mill-lsf, millpond"),
    ],
)
def test_two_of_one_name_are_refused_naming_both(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    machine: AgentMachine,
    one: EntryPoints,
    other: EntryPoints,
    packages: str,
) -> None:
    declare(tmp_path, "mill-lsf", one)
    declare(tmp_path, "mill-other", other)
    use_packages(monkeypatch, tmp_path)
    (name,) = one[plugins.DRIVERS]
    with pytest.raises(SetupError, match=f"Several packages offer the driver '{name}': {packages}"):
        open_driver(name, machine, {})
