"""`mill rerun`: make a run again from what was recorded of it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from millpond.cli.command import command
from millpond.cli.follow import StateNotes, end_with, follow_job
from millpond.cli.jobs import show_job
from millpond.cli.pairs import parse_pairs
from millpond.cli.run_arguments import RunId
from millpond.cli.session import Session
from millpond.client.jobs import wait_for_job
from millpond.client.rerun import Replacing, plan_rerun, rerun_run
from millpond.client.runs import find_run
from millpond.model.rerun import PartState
from millpond.wire.rerun import Rerun, RerunAsked

app = typer.Typer()


@command(app, "rerun")
def rerun(
    mill: Session,
    run: RunId,
    changes: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Parameter to change. Repeatable.")
    ] = None,
    on: Annotated[str | None, typer.Option("--on", help="Template or queue to run on instead.")] = None,
    name: Annotated[str | None, typer.Option("--name", help="Name of the new job.")] = None,
    experiment: Annotated[str | None, typer.Option(help="Experiment of the new run (default: the same).")] = None,
    data: Annotated[
        list[str] | None,
        typer.Option("--data", "-d", metavar="DATASET@REF", help="Other commit of a dataset. Repeatable."),
    ] = None,
    code: Annotated[
        Path | None, typer.Option("--code", help="Folder whose code replaces the recorded code.", file_okay=False)
    ] = None,
    requirements: Annotated[
        Path | None, typer.Option("--requirements", "-r", help="File that replaces the recorded environment.")
    ] = None,
    packages: Annotated[
        bool | None,
        typer.Option("--packages/--no-packages", help="Build the recorded packages (default: for scripts only)."),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would differ. Submit nothing.")] = False,
    follow: Annotated[bool, typer.Option("--follow", help="Print the log until the job ends.")] = False,
    wait: Annotated[bool, typer.Option("--wait", help="Wait until the job ends.")] = False,
) -> None:
    """Make a run again from its recorded code, data, environment and command.

    --set changes a parameter where it stands: an argument of the command (--lr 0.1, --lr=0.1, lr=0.1), a variable of
    that name, or else MILL_PARAMS, which `run.params` of the SDK reads. What differs, is not pinned or is gone is
    printed first. If something is gone, nothing starts. Code that only Git has is fetched from its URL here.

    Example: mill rerun 3fa2c1d0 --set lr=0.01
    """
    found = find_run(mill.api, mill.project, run)
    asked = RerunAsked(
        params=parse_pairs(changes, "--set") or {}, on=on, name=name, experiment=experiment, data=list(data or [])
    )
    replacing = Replacing(code, requirements, packages)
    if dry_run:
        _show_plan(mill, plan_rerun(mill.api, mill.project, found.id, asked, replacing))
        return
    if not mill.out.as_json:
        _say_parts(mill, plan_rerun(mill.api, mill.project, found.id, asked, replacing))
    made = rerun_run(mill.api, mill.project, found.id, asked, replacing, mill.out.note)
    _attend(mill, made, follow=follow, wait=wait)


def _show_plan(mill: Session, plan: Rerun) -> None:
    if mill.out.as_json:
        mill.out.json(plan.model_dump(mode="json"))
        return
    mill.out.items(
        plan.parts,
        [("PART", lambda part: part.part), ("STATE", lambda part: part.state), ("WHAT", lambda part: part.text)],
        empty="Nothing was recorded of this run.",
    )
    for part in plan.parts:
        if part.hint and part.state in (PartState.GONE, PartState.UNPINNED):
            mill.out.note(f"{part.part}: {part.hint}")
    mill.out.note("Nothing was submitted." if plan.can_start else "It cannot start: something is gone.")


def _say_parts(mill: Session, plan: Rerun) -> None:
    """What is not as it was, before anything starts."""
    for part in plan.parts:
        if part.state is not PartState.SAME:
            mill.out.note(f"{part.state.value} {part.part}: {part.text}")


def _attend(mill: Session, made: Rerun, *, follow: bool, wait: bool) -> None:
    job = made.job
    assert job is not None, "a run that is made again has a job"
    mill.out.note(
        f"Job {job.written} ({job.id}) makes run {made.run} again as run {job.run_id}. See: mill logs -f {job.id}"
    )
    if not (follow or wait):
        if mill.out.as_json:
            mill.out.json(made.model_dump(mode="json"))
        elif not mill.out.for_people:
            mill.out.line(job.id)
        return
    if follow:
        ended = follow_job(mill, job)
    else:
        ended = wait_for_job(mill.api, job.project, job.id, changed=StateNotes(mill))
    if mill.out.as_json:
        show_job(mill, ended)
    end_with(mill, ended)
