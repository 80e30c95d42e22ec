"""What fills brought over links, and budgets for it, over the API."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date
from typing import Any

from millpond.client.http import Api
from millpond.wire.egress import EgressBudget, EgressBudgetPut, EgressReport


def get_egress(
    api: Api,
    *,
    by: Sequence[str] = ("day",),
    project: str | None = None,
    site: str | None = None,
    link: str | None = None,
    since: date | None = None,
    until: date | None = None,
) -> EgressReport:
    """Bytes and money by day, project, site or link (or several); of this month unless told otherwise.

    `link` is written `lake:paris` or `berlin:paris`. Days are those of UTC, both included.
    """
    return api.get("/egress", EgressReport, **_asked(by, project, site, link, since, until))


def get_egress_csv(
    api: Api,
    *,
    by: Sequence[str] = (),
    project: str | None = None,
    site: str | None = None,
    link: str | None = None,
    since: date | None = None,
    until: date | None = None,
) -> str:
    """The same as a table of comma-separated values."""
    return api.request("GET", "/egress.csv", params=_asked(by, project, site, link, since, until)).content.decode()


def list_egress_budgets(api: Api) -> Iterator[EgressBudget]:
    return api.items("/egress-budgets", EgressBudget)


def put_egress_budget(api: Api, budget: EgressBudgetPut, *, project: str | None = None) -> EgressBudget:
    """Set the monthly budget of a project; of all projects together without one."""
    return api.send("PUT", "/egress-budgets", EgressBudget, budget, idempotent=True, project=project)


def remove_egress_budget(api: Api, *, project: str | None = None) -> None:
    api.request("DELETE", "/egress-budgets", params={"project": project})


def _asked(
    by: Sequence[str], project: str | None, site: str | None, link: str | None, since: date | None, until: date | None
) -> dict[str, Any]:
    given = {"project": project, "site": site, "link": link, "from": since, "to": until}
    return {"by": list(by)} | {key: str(value) for key, value in given.items() if value is not None}
