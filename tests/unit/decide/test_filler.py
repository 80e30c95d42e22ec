"""Who fills a volume stays, until it is away or finds it unwell and another does not."""

from __future__ import annotations

import pytest

from millpond.decide.filler import Sight, choose_filler


def well(agent: str) -> Sight:
    return Sight(agent, is_connected=True, problem=None)


def unwell(agent: str) -> Sight:
    return Sight(agent, is_connected=True, problem="It is not mounted.")


def away(agent: str) -> Sight:
    return Sight(agent, is_connected=False, problem=None)


@pytest.mark.parametrize(
    ("current", "sights", "chosen"),
    [
        (None, [], None),
        (None, [well("a"), well("b")], "a"),
        ("b", [well("a"), well("b")], "b"),
        ("b", [well("a"), away("b")], "a"),
        ("b", [well("a"), unwell("b")], "a"),
        ("b", [unwell("a"), unwell("b")], "b"),
        ("b", [unwell("a"), away("b")], "a"),
        ("b", [away("a"), away("b")], "b"),
        ("gone", [well("a")], "a"),
        (None, [away("a"), unwell("b")], "b"),
    ],
)
def test_who_fills(current: str | None, sights: list[Sight], chosen: str | None) -> None:
    assert choose_filler(current, sights) == chosen
