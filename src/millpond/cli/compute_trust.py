"""`mill compute trust`, `distrust`: which projects are let onto a compute whose jobs share one account."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer

from millpond.cli.command import command
from millpond.cli.session import Session
from millpond.client import computes
from millpond.wire.computes import Compute
from millpond.wire.trust import Trust

Name = Annotated[str, typer.Argument(help="Name of the compute.")]
# One project may also be named as everywhere, by --project.
Projects = Annotated[
    list[str] | None, typer.Argument(metavar="[PROJECT]...", help="Projects (default: --project).", show_default=False)
]


def add_trust_commands(app: typer.Typer) -> None:
    command(app, "trust")(let_in)
    command(app, "distrust")(keep_out)


def let_in(
    mill: Session,
    name: Name,
    projects: Projects = None,
    everyone: Annotated[bool, typer.Option("--all", help="All projects, including future ones.")] = False,
) -> None:
    """Allow projects on a compute whose jobs share one account. Their jobs can read each other's files there.

    Example: mill compute trust gpu1 vision
    """
    named = _named(mill, projects)
    _tell(mill, computes.trust_projects(mill.api, name, named, everyone=everyone))


def keep_out(
    mill: Session,
    name: Name,
    projects: Projects = None,
    everyone: Annotated[bool, typer.Option("--all", help="All projects that are allowed.")] = False,
) -> None:
    """Withdraw `mill compute trust`: no new jobs of these projects start there, running ones continue.

    Example: mill compute distrust gpu1 vision
    """
    named = _named(mill, projects)
    _tell(mill, computes.distrust_projects(mill.api, name, named, everyone=everyone))


def trust_words(trust: Trust) -> str:
    if not trust.shared:
        return "projects are isolated from each other"
    if trust.all:
        return "shared: jobs can read each other's files; all projects are allowed"
    return f"shared: jobs can read each other's files; allowed: {', '.join(trust.projects) or 'no project'}"


def _named(mill: Session, projects: Sequence[str] | None) -> list[str]:
    return [*(projects or ()), *([mill.flags.project] if mill.flags.project else [])]


def _tell(mill: Session, found: Compute) -> None:
    if mill.out.as_json:
        mill.out.shape(found, [])
        return
    mill.out.note(f"{found.name}: {trust_words(found.trust)}.")
