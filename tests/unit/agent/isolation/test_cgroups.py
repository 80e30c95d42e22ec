"""Control groups of both versions, on directories that look like them."""

from __future__ import annotations

from pathlib import Path

from millpond.agent.isolation import cgroups
from millpond.agent.isolation.cgroups import CgroupLimits


def test_version_1_has_a_group_for_each_controller(tmp_path: Path) -> None:
    for name in ("memory", "cpu,cpuacct", "pids", "freezer"):
        (tmp_path / name / "service").mkdir(parents=True)
    mounts = "\n".join(
        f"cgroup {tmp_path / name} cgroup rw,relatime,{name} 0 0"
        for name in ("memory", "cpu,cpuacct", "pids", "freezer")
    )
    found = cgroups.find(
        mounts, "4:memory:/service\n3:cpu,cpuacct:/service\n2:pids:/elsewhere\n1:freezer:/service\n0::/"
    )
    assert found is not None and found.has_memory
    made = found.make("p1", CgroupLimits(cpu=4, memory_bytes=1000))
    assert made == (
        str(tmp_path / "memory/service/millpond/p1"),
        str(tmp_path / "cpu,cpuacct/service/millpond/p1"),
        str(tmp_path / "pids/millpond/p1"),  # a container may show another path than there is
        str(tmp_path / "freezer/service/millpond/p1"),
    )
    assert Path(made[0], "memory.limit_in_bytes").read_text() == "1000"
    assert Path(made[1], "cpu.shares").read_text() == "4096"
    assert Path(made[2], "pids.max").read_text() == str(cgroups.MOST_PROCESSES)


def test_version_2_has_one_for_all_where_others_may_be_below(tmp_path: Path) -> None:
    (tmp_path / "system/mill").mkdir(parents=True)
    mounts = f"cgroup2 {tmp_path} cgroup2 rw 0 0"
    found = cgroups.find(mounts, "0::/system/mill")
    assert found is not None and found.has_memory
    (made,) = found.make("p1", CgroupLimits(cpu=2, memory_bytes=1000))
    assert made == str(tmp_path / "system/mill/millpond/agent/p1")
    assert Path(made, "memory.max").read_text() == "1000"
    assert Path(made, "cpu.weight").read_text() == "200"


def test_version_2_limits_disks_of_all_placements_of_an_agent(tmp_path: Path) -> None:
    for group in (tmp_path, tmp_path / "millpond", tmp_path / "millpond/a1"):
        group.mkdir(exist_ok=True)
        (group / "cgroup.controllers").write_text("cpu io memory pids")
    found = cgroups.find(f"cgroup2 {tmp_path} cgroup2 rw 0 0", "0::/", agent="a1")
    assert found is not None and found.io is not None and found.io.by == "io.max"
    found.make("p1", CgroupLimits())
    found.io.limit({"8:0": 1000})
    assert found.io.enter() is None, "placements are below the group"
    assert (tmp_path / "millpond/a1/io.max").read_text() == "8:0 rbps=1000 wbps=1000"
    assert (tmp_path / "millpond/a1/cgroup.subtree_control").read_text() == "+memory +cpu +pids +io"
    found.io.limit({})
    assert (tmp_path / "millpond/a1/io.max").read_text() == "8:0 rbps=max wbps=max"


def test_without_an_io_controller_disks_have_no_limit(tmp_path: Path) -> None:
    found = cgroups.find(f"cgroup2 {tmp_path} cgroup2 rw 0 0", "0::/")
    assert found is not None and found.io is None


def test_no_limit_is_none(tmp_path: Path) -> None:
    found = cgroups.find(f"cgroup2 {tmp_path} cgroup2 rw 0 0", "0::/")
    assert found is not None
    (made,) = found.make("p1", CgroupLimits())
    assert not Path(made, "memory.max").exists()


def test_none_where_nothing_can_be_made(tmp_path: Path) -> None:
    assert cgroups.find("proc /proc proc rw 0 0", "0::/") is None
    (tmp_path / "file").write_text("")
    assert cgroups.find(f"cgroup {tmp_path / 'file'} cgroup rw,memory 0 0", "4:memory:/") is None


def test_what_is_empty_goes_and_what_is_gone_is_no_harm(tmp_path: Path) -> None:
    (tmp_path / "millpond/p1").mkdir(parents=True)
    cgroups.remove([str(tmp_path / "millpond/p1"), str(tmp_path / "never/p1")])
    assert list(tmp_path.iterdir()) == []
    assert cgroups.processes([str(tmp_path / "never/p1")]) == set()
