"""Tiers of volumes."""

from __future__ import annotations

from collections.abc import Mapping

from sqlalchemy import Connection, select

from millpond.db.insert import insert_missing
from millpond.db.tables import tier
from millpond.model.tier import BUILT_IN, Tier


def all_of(tx: Connection) -> Mapping[str, Tier]:
    """By name: those that are there from the beginning, as administrators have set them, and their own."""
    found = {row.name: Tier(row.name, row.throughput, row.price, row.bytes_per_second) for row in tx.execute(_ALL)}
    return {one.name: one for one in BUILT_IN} | found


def put(tx: Connection, value: Tier) -> None:
    row = {"throughput": value.throughput, "price": value.price, "bytes_per_second": value.bytes_per_second}
    insert_missing(tx, tier, [{"name": value.name, **row}])
    tx.execute(tier.update().where(tier.c.name == value.name).values(**row))


def delete(tx: Connection, name: str) -> None:
    tx.execute(tier.delete().where(tier.c.name == name))


_ALL = select(tier).order_by(tier.c.name)
