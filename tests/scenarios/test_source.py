"""Where a fill takes its bytes from, as a table: the lake, the volumes that have the commit, and who is taken."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from millpond.decide.source import FillWay, choose_source

GB = 10**9
MB = 1e6


def lake(speed: float | None = None, price: float = 0.0) -> FillWay:
    return FillWay("lake", "the lake", speed, price)


def volume(name: str, speed: float | None = None, price: float = 0.0, obstacle: str | None = None) -> FillWay:
    return FillWay(name, f"volume {name}", speed, price, obstacle=obstacle)


def filling(name: str, speed: float, whole_in: float) -> FillWay:
    return FillWay(name, f"volume {name}", speed, whole_in=whole_in)


@dataclass(frozen=True)
class Scenario:
    name: str
    lake: FillWay
    volumes: tuple[FillWay, ...]
    chosen: str
    reasons: tuple[str, ...]


SCENARIOS = [
    Scenario("nobody else has it", lake(), (), "lake", ("fetched from the lake: its speed has not been",)),
    Scenario(
        "nothing is known of either",
        lake(),
        (volume("west"),),
        "lake",
        ("fetched from the lake", "not from volume west: its speed has not been measured yet"),
    ),
    Scenario(
        "only the volume is known to be fast",
        lake(),
        (volume("west", 1000 * MB),),
        "west",
        ("fetched from volume west: 10.0 GB in about 10.0 s at 1.0 GB/s", "not from the lake"),
    ),
    Scenario(
        "the faster way",
        lake(100 * MB),
        (volume("west", 1000 * MB), volume("south", 500 * MB)),
        "west",
        ("volume west", "not from the lake: 10.0 GB in about 1 m 40 s at 100.0 MB/s", "not from volume south"),
    ),
    Scenario("the lake is faster", lake(1000 * MB), (volume("west", 100 * MB),), "lake", ("10.0 s", "volume west")),
    Scenario("equal: the lake", lake(100 * MB), (volume("west", 100 * MB),), "lake", ("the lake", "volume west")),
    Scenario(
        "equal volumes: by name",
        lake(10 * MB),
        (volume("west", 100 * MB), volume("east", 100 * MB)),
        "east",
        ("volume east", "the lake", "volume west"),
    ),
    Scenario(
        "a fill under way is followed, though the lake would be as quick",
        lake(100 * MB),
        (filling("west", 1000 * MB, whole_in=110.0),),
        "west",
        ("volume west: 10.0 GB in about 1 m 50 s at 1.0 GB/s, as it is filled there", "not from the lake"),
    ),
    Scenario(
        "… but not if it takes much longer",
        lake(100 * MB),
        (filling("west", 1000 * MB, whole_in=130.0),),
        "lake",
        ("fetched from the lake", "not from volume west: 10.0 GB in about 2 m 10 s"),
    ),
    Scenario(
        "a whole volume before one that is filled",
        lake(100 * MB),
        (filling("west", 1000 * MB, whole_in=20.0), volume("east", 1000 * MB)),
        "east",
        ("volume east", "not from the lake", "not from volume west"),
    ),
    Scenario(
        "money counts: ten gigabytes at 0.09 cost as much as 54 minutes",
        lake(1000 * MB, 0.09),
        (volume("west", 10 * MB),),
        "west",
        ("volume west: 10.0 GB in about 16 m 40 s", "not from the lake: 10.0 GB in about 10.0 s at 1.0 GB/s, for 0.90"),
    ),
    Scenario(
        "… and so does patience",
        lake(1000 * MB, 0.09),
        (volume("west", 2 * MB),),
        "lake",
        ("for 0.90", "1 h 23 m"),
    ),
    Scenario(
        "what cannot be read is not taken, however fast",
        lake(1 * MB),
        (volume("west", 1000 * MB, obstacle="gpu does not have it mounted"),),
        "lake",
        ("the lake", "not from volume west: gpu does not have it mounted"),
    ),
]


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.name)
def test_source(scenario: Scenario) -> None:
    found = choose_source(scenario.lake, scenario.volumes, 10 * GB)
    assert found.id == scenario.chosen
    assert found.is_lake is (scenario.chosen == "lake")
    assert len(found.reasons) == len(scenario.reasons)
    for part, reason in zip(scenario.reasons, found.reasons, strict=True):
        assert part in reason
    assert choose_source(scenario.lake, scenario.volumes[::-1], 10 * GB) == found
