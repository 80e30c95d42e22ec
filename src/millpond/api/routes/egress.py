"""What fills brought over links, in bytes and money, and monthly budgets for it."""

from __future__ import annotations

from datetime import date
from typing import Annotated

from fastapi import APIRouter, Depends, Query, Response

from millpond.api.access import DepsOf, SignedIn, SiteAdmin
from millpond.api.shapes import egress as shapes
from millpond.services.egress import budgets, reading
from millpond.services.egress.reading import EgressBy, EgressFilter
from millpond.wire.base import Page
from millpond.wire.egress import EgressBudget, EgressBudgetPut, EgressReport

router = APIRouter(tags=["egress"])

By = Annotated[list[EgressBy] | None, Query(description="What to group by; may be repeated. Default: day.")]


def _chosen(
    project: str | None = None,
    site: str | None = None,
    link: Annotated[str | None, Query(description="As `lake:paris` or `berlin:paris`.")] = None,
    since: Annotated[date | None, Query(alias="from", description="Default: the first of this month.")] = None,
    until: Annotated[date | None, Query(alias="to", description="Default: today. Included.")] = None,
) -> EgressFilter:
    return EgressFilter(project, site, link, since, until)


Chosen = Annotated[EgressFilter, Depends(_chosen)]


@router.get("/egress")
def get_egress(actor: SignedIn, deps: DepsOf, chosen: Chosen, by: By = None) -> EgressReport:
    """What fills brought, of projects one may see. Days are those of UTC."""
    return shapes.report(reading.report(deps, actor, chosen, by or [EgressBy.DAY]))


@router.get("/egress.csv", response_class=Response)
def get_egress_csv(actor: SignedIn, deps: DepsOf, chosen: Chosen, by: By = None) -> Response:
    """The same as a table, by day, project, site and link unless told otherwise."""
    found = reading.report(deps, actor, chosen, by or list(EgressBy))
    name = f"egress-{found.since}-{found.until}.csv"
    return Response(
        shapes.table(found), media_type="text/csv", headers={"Content-Disposition": f'attachment; filename="{name}"'}
    )


@router.get("/egress-budgets")
def list_egress_budgets(actor: SignedIn, deps: DepsOf) -> Page[EgressBudget]:
    """With what is used of each this month."""
    return Page(items=[shapes.budget(one) for one in budgets.list_visible(deps, actor)])


@router.put("/egress-budgets")
def put_egress_budget(
    body: EgressBudgetPut,
    actor: SiteAdmin,
    deps: DepsOf,
    project: Annotated[str | None, Query(description="Default: all projects together.")] = None,
) -> EgressBudget:
    found = budgets.put(deps, actor, project, bytes_=body.bytes, money=body.money, warn_percent=body.warn_percent)
    return shapes.budget(found)


@router.delete("/egress-budgets", status_code=204)
def remove_egress_budget(
    actor: SiteAdmin,
    deps: DepsOf,
    project: Annotated[str | None, Query(description="Default: that of all projects together.")] = None,
) -> None:
    budgets.remove(deps, actor, project)
