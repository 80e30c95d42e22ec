"""Which volume a commit goes to, as a table: the candidates, the order of those that can take it, and the reasons."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import pytest

from millpond.decide.near import Serves
from millpond.decide.volume_choice import VolumeCandidate, choose_volume
from millpond.model.cached_state import CachedState

GB = 10**9
NEAR = Serves(True, True, "both are at site east")
FAR = Serves(False, True, "no link between east and west is configured")
UNSEEN = Serves(True, False, "gpu does not have it mounted")


def a(name: str, **changes: Any) -> VolumeCandidate:
    """A volume with 100 GB free to which 10 GB would be fetched."""
    return replace(VolumeCandidate(name, name, free_bytes=100 * GB, fetch_bytes=10 * GB), **changes)


@dataclass(frozen=True)
class Scenario:
    name: str
    candidates: tuple[VolumeCandidate, ...]
    ranked: tuple[str, ...]
    # Parts of the reasons for the first.
    why: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()


SCENARIOS = [
    Scenario("no volumes", (), ()),
    Scenario("the only one", (a("x"),), ("x",), ("x is the only volume that can hold it", "it has 100.0 GB free")),
    Scenario("the most room", (a("x"), a("y", free_bytes=200 * GB)), ("y", "x"), ("y was chosen from 2 volumes",)),
    Scenario("equal: by name", (a("y"), a("x")), ("x", "y")),
    Scenario(
        "one that has it wins over everything",
        (
            a("x", free_bytes=900 * GB, tier_throughput=8),
            a("y", state=CachedState.FILLING),
            a("z", state=CachedState.READY),
        ),
        ("z", "y", "x"),
        ("it is already cached there",),
    ),
    Scenario(
        "what is there needs no room",
        (a("x", state=CachedState.READY, refusal="no room"), a("y")),
        ("x", "y"),
        ("it is already cached there",),
    ),
    Scenario("on its way", (a("x", state=CachedState.FILLING),), ("x",), ("it is already being cached there",)),
    Scenario(
        "rather a volume that can take it than one where its fill is held up",
        (a("x", state=CachedState.FILLING, held_up="The disk is full."), a("y", evicts=1)),
        ("y", "x"),
        ("x is caching it, but is delayed: The disk is full.",),
    ),
    Scenario(
        "held up, and nowhere else to go",
        (a("x", state=CachedState.FILLING, held_up="The disk is full."), a("y", refusal="no room")),
        ("x",),
        ("it is already being cached there, but delayed: The disk is full.",),
    ),
    Scenario("what failed is no reason to go there", (a("y", state=CachedState.FAILED), a("x")), ("x", "y")),
    Scenario(
        "rather evict nothing",
        (a("x", evicts=2, free_bytes=0), a("y", free_bytes=11 * GB)),
        ("y", "x"),
        ("x, the next best, would have to evict 2 first",),
    ),
    Scenario(
        "a base saves most of the bytes",
        (a("x"), a("y", fetch_bytes=GB // 10, base="3fa2c1d0", free_bytes=20 * GB, bytes_per_second=100e6)),
        ("y", "x"),
        ("3fa2c1d0 is cached there, so only 100.0 MB must be fetched", "about 1.0 s from the lake at the 100.0 MB/s"),
    ),
    Scenario(
        "a base saves room where the time makes no difference",
        (a("x", fetch_bytes=10**7), a("y", fetch_bytes=10**5, base="3fa2c1d0", free_bytes=20 * GB)),
        ("y", "x"),
        ("x takes no longer, but has no commit to link from",),
    ),
    Scenario(
        "what a link is said to carry, before anything was measured",
        (a("x", bytes_per_second=12e6, is_measured=False), a("y", bytes_per_second=1e9, is_measured=False)),
        ("y", "x"),
        ("about 10.0 s from the lake at the 1.0 GB/s its link is set to",),
    ),
    Scenario(
        "the faster way from the lake",
        (a("x", bytes_per_second=100e6), a("y", bytes_per_second=800e6)),
        ("y", "x"),
        ("about 12.5 s from the lake at the 800.0 MB/s measured",),
    ),
    Scenario(
        "a little faster is no difference: the tier decides",
        (
            a("x", bytes_per_second=110e6),
            a("y", bytes_per_second=100e6, tier="premium", tier_throughput=4, tier_price=2),
        ),
        ("y", "x"),
        ("tier premium: 4 × the throughput, 2 × the price", "50.0 s here, 1 m 31 s on x, the next best"),
    ),
    Scenario(
        "much faster to fill outweighs a price",
        (
            a("x", bytes_per_second=100e6),
            a("y", bytes_per_second=900e6, tier="premium", tier_price=2),
        ),
        ("y", "x"),
        ("time to fill × price ÷ throughput",),
    ),
    Scenario(
        "a price outweighs a little speed",
        (a("x", bytes_per_second=200e6, tier_price=8), a("y", bytes_per_second=100e6)),
        ("y", "x"),
    ),
    Scenario("for nothing", (a("x"), a("y", tier_price=0.0)), ("y", "x")),
    Scenario(
        "more throughput for its price",
        (a("x", tier_throughput=4, tier_price=8), a("y")),
        ("y", "x"),
    ),
    Scenario(
        "far, unseen, unwell and full volumes are left out with their reasons",
        (
            a("far", serves=FAR),
            a("full", serves=NEAR, refusal="it takes 10 GB, at most 5 GB can be freed"),
            a("here", serves=NEAR),
            a("ill", serves=NEAR, problem="It is read-only."),
            a("unseen", serves=UNSEEN),
        ),
        ("here",),
        ("near: both are at site east",),
        (
            "far: no link between east and west is configured",
            "full: it takes 10 GB, at most 5 GB can be freed",
            "ill: It is read-only.",
            "unseen: gpu does not have it mounted",
        ),
    ),
    Scenario("nobody can take it", (a("x", serves=FAR),), (), (), ("x: no link",)),
    Scenario(
        "it is there, but far from the compute that was named",
        (a("x", serves=FAR, state=CachedState.READY), a("y", serves=NEAR)),
        ("y",),
        ("near: both are at site east",),
        ("x: no link",),
    ),
]


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.name)
def test_volume_choice(scenario: Scenario) -> None:
    found = choose_volume(scenario.candidates)
    assert tuple(one.name for one in found.ranked) == scenario.ranked
    for part in scenario.why:
        assert any(part in reason for reason in found.reasons), found.reasons
    assert len(found.refused) == len(scenario.candidates) - len(scenario.ranked)
    for part, reason in zip(scenario.refused, found.refused, strict=False):
        assert reason.startswith(part)
    assert choose_volume(scenario.candidates[::-1]) == found
