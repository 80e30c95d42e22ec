"""Egress since the beginning and what is used of budgets, as numbers to watch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from millpond.db import egress, sites
from millpond.model.egress import Egress
from millpond.services.deps import Deps
from millpond.services.egress.budgets import use
from millpond.services.egress.reading import Names


@dataclass(frozen=True, slots=True)
class EgressNumbers:
    """`budgets`: the part of each that is used, by the project's id; of all projects under an empty one."""

    totals: Sequence[Egress]
    names: Names
    budgets: Mapping[str, float]


def load(deps: Deps) -> EgressNumbers:
    with deps.db.read() as tx:
        found = egress.budgets(tx)
        parts = {key: use(tx, one, deps.clock.now()).percent / 100 for key, one in found.items()}
        return EgressNumbers(egress.totals(tx), Names(sites.by_id(tx), {}), parts)
