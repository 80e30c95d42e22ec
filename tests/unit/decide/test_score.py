"""The score of places as tables: offers, how long the job has waited, and where it goes."""

from __future__ import annotations

from typing import Any

import pytest

from millpond.decide.score import Fill, PlaceOffer, ScorePolicy, fill_of, run_price, score

POLICY = ScorePolicy(patience=300, ready_seconds=10)
FULL = None


def at(zone: str, *, wait: float | None = 0.0, fill: float = 0.0, egress: float = 0.0, **rest: Any) -> PlaceOffer:
    return PlaceOffer(zone, wait=wait, fill=Fill(1, fill, egress), **rest)


@pytest.mark.parametrize(
    ("why", "offers", "waited", "target", "starts", "rule"),
    [
        ("one place", [at("a")], 0, "a", ["a"], None),
        ("equal places", [at("a"), at("b")], 0, "a", ["a", "b"], None),
        ("the data is at one of them", [at("a", fill=60), at("b")], 0, "b", ["b"], "locality"),
        ("data that is nearly there", [at("a", fill=8)], 0, "a", ["a"], None),
        ("data before GPUs", [at("a", fill=60)], 0, "a", [], "locality"),
        # 60 MB over a link of 50 per GB cost 3; the other site needs 27 s, which are worth 0.0075.
        ("an expensive link", [at("a", fill=1, egress=3.0), at("b", fill=27)], 0, "b", [], "locality"),
        ("a cheap link", [at("a", fill=1, egress=0.001), at("b", fill=27)], 0, "a", ["a"], "locality"),
        # Nobody waits for a fill that another place avoids more cheaply.
        ("ready beats filling", [at("a", fill=3600), at("b", egress=0.5)], 0, "b", ["b"], "locality"),
        ("filling beats money", [at("a", fill=3600), at("b", egress=2.0)], 0, "a", [], "locality"),
        # The place with the data is full: waiting for it may cost as much as the patience that is left.
        ("a short fill is not waited out", [at("a", wait=FULL), at("b", fill=60)], 0, "b", ["a"], "locality"),
        ("a long fill is", [at("a", wait=FULL), at("b", fill=7200)], 0, "a", ["a"], "locality"),
        ("but not for ever", [at("a", wait=FULL), at("b", fill=7200)], 301, "b", ["a"], "locality"),
        ("a wait that is known", [at("a", wait=20), at("b", fill=60)], 0, "a", ["a"], "locality"),
        ("a long one", [at("a", wait=9000), at("b", fill=60)], 0, "b", ["a"], "locality"),
        ("a small difference", [at("a"), at("b", fill=5)], 0, "a", ["a", "b"], None),
        ("room that cannot be had", [at("a"), at("b", fill=1, egress=3.0)], 301, "a", ["a", "b"], None),
        ("all full", [at("a", wait=FULL), at("b", wait=FULL)], 0, "a", ["a", "b"], None),
        ("all full, patience over", [at("a", wait=FULL), at("b", wait=FULL)], 999, "a", ["a", "b"], None),
        ("no room for its data", [at("a", blocked=("data-space", "full"))], 0, None, [], "data-space"),
        ("elsewhere there is", [at("a", blocked=("data-space", "full")), at("b", fill=5)], 0, "b", ["b"], None),
        ("nowhere", [], 0, None, [], None),
    ],
)
def test_places(
    why: str, offers: list[PlaceOffer], waited: float, target: str | None, starts: list[str], rule: str
) -> None:
    table = score(offers, POLICY, waited=waited)
    assert (table.target.offer.zone if table.target else None) == target
    assert sorted(row.offer.zone for row in table.starts[0]) == starts
    assert table.rule == rule
    assert score(reversed(offers), POLICY, waited=waited) == table


HERE: dict[str, Any] = {"order": 0, "template": "here"}
CLOUD: dict[str, Any] = {"order": 1, "template": "cloud"}


@pytest.mark.parametrize(
    ("why", "offers", "waited", "starts", "rule"),
    [
        ("the first has room", [at("a", **HERE), at("b", **CLOUD)], 0, [["a"]], "template"),
        ("the first is full", [at("a", wait=FULL, **HERE), at("b", **CLOUD)], 0, [["a"]], "template"),
        ("its patience is over", [at("a", wait=FULL, **HERE), at("b", **CLOUD)], 60, [["a"], ["b"]], None),
        (
            "the first comes first, though it costs more",
            [at("a", compute_price=9, **HERE), at("b", **CLOUD)], 60, [["a"], ["b"]], None,
        ),
        (
            "the next one has no data yet",
            [at("a", wait=FULL, **HERE), at("b", fill=99, **CLOUD)], 60, [["a"], []], "locality",
        ),
        ("the next has no place yet", [at("a", wait=FULL, **HERE)], 0, [["a"]], "template"),
    ],
)  # fmt: skip
def test_queues(why: str, offers: list[PlaceOffer], waited: float, starts: list[list[str]], rule: str) -> None:
    table = score(offers, POLICY, waited=waited, opens=(0, 60))
    assert [[row.offer.zone for row in one] for one in table.starts] == starts
    assert table.rule == rule


def test_the_data_goes_to_the_next_template_when_the_patience_for_the_first_is_over() -> None:
    offers = [at("a", wait=FULL, **HERE), at("b", fill=99, **CLOUD)]
    before, after = (score(offers, POLICY, waited=waited, opens=(0, 60)) for waited in (59, 60))
    assert before.target is not None and before.target.offer.zone == "a"
    assert after.target is not None and after.target.offer.zone == "b"


def test_weights_change_the_choice() -> None:
    offers = [at("a", wait=600), at("b", fill=1200)]
    dear_wait = score(offers, ScorePolicy(wait_price=4), waited=0)
    dear_fill = score(offers, ScorePolicy(fill_price=4), waited=0)
    assert dear_wait.target is not None and dear_wait.target.offer.zone == "b"
    assert dear_fill.target is not None and dear_fill.target.offer.zone == "a"


def test_the_table_adds_up() -> None:
    offer = at("a", wait=1800, fill=900, egress=0.5, compute_price=2.0)
    row = score([offer], POLICY, waited=0).rows[0]
    assert (row.wait_cost, row.fill_cost, row.static, row.total) == (0.5, 0.25, 2.75, 3.25)


def test_what_a_fill_takes() -> None:
    assert fill_of(60_000_000, 2e6, 50.0) == Fill(60_000_000, 30.0, 3.0)
    assert fill_of(10**9, None).seconds == 10.0
    assert fill_of(100, 10.0) + fill_of(50, 10.0, 10**9) == Fill(150, 15.0, 50.0)


def test_the_price_of_a_run() -> None:
    assert run_price(2.5, None) == 2.5
    assert run_price(2.5, 7200) == 5.0
