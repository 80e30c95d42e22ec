"""Which store somebody at a site reads from first."""

from __future__ import annotations

import pytest

from millpond.decide.store_order import StoreWay, order_stores

LAKE = StoreWay("lake", "the lake", bytes_per_second=100e6)
ENDPOINT = StoreWay("endpoint", "the lake at https://gateway", is_chosen=True)
NEAR = StoreWay("near", "replica near", is_chosen=True, is_copy=True)
FAR = StoreWay("far", "replica far", is_copy=True)
AWAY = "Connection refused"


@pytest.mark.parametrize(
    ("lake", "others", "order"),
    [
        (LAKE, [], ["lake"]),
        (LAKE, [ENDPOINT], ["endpoint", "lake"]),
        (LAKE, [FAR, ENDPOINT, NEAR], ["near", "endpoint", "lake", "far"]),
        (LAKE, [StoreWay("far", "", is_copy=True, bytes_per_second=1e9)], ["far", "lake"]),
        (LAKE, [StoreWay("far", "", is_copy=True, bytes_per_second=1e9, price_per_gb=0.1)], ["lake", "far"]),
        (LAKE, [StoreWay("near", "", is_chosen=True, is_copy=True, problem=AWAY), FAR], ["lake", "far", "near"]),
        (StoreWay("lake", "", problem=AWAY), [FAR], ["far", "lake"]),
        (StoreWay("lake", "", problem=AWAY), [StoreWay("far", "", problem=AWAY)], ["lake", "far"]),
    ],
)
def test_the_order(lake: StoreWay, others: list[StoreWay], order: list[str]) -> None:
    assert [way.id for way in order_stores(lake, others)] == order
