"""Arguments of `mill workspace`, and how a workspace, a plan and their progress are shown."""

from __future__ import annotations

from typing import Annotated

import typer

from millpond.cli.progress import Meter
from millpond.cli.session import Session
from millpond.cli.values import Bytes, Seconds
from millpond.client import workspaces as calls
from millpond.errors import BadRequest
from millpond.model.quantity import format_bytes, format_seconds
from millpond.model.workspace import Begins
from millpond.wire.workspace_views import Workspace, WorkspacePlan

WorkspaceName = Annotated[str, typer.Argument(metavar="NAME", help="Name of the workspace.")]
NoWait = Annotated[bool, typer.Option("--no-wait", help="Return at once; see `mill workspace wait`.")]


class Watching:
    """Says what is expected, and shows progress until a workspace is ready."""

    def begin(self, mill: Session, made: Workspace) -> None:
        expected = "" if made.expected_seconds is None else f", about {format_seconds(made.expected_seconds)}"
        reason = made.reasons[0] if made.reasons else made.how.value
        mill.out.note(f"Workspace {made.name} on {made.volume}: {reason}{expected}.")

    def until_ready(self, mill: Session, name: str) -> Workspace:
        with Meter(mill.out, f"Workspace {name}") as meter:
            return calls.wait_for_workspace(
                mill.api, mill.project, name, changed=lambda now: _tell(meter, now)
            )  # fmt: skip


watch = Watching()


def _tell(meter: Meter, now: Workspace) -> None:
    waits = now.problem or ("restoring" if now.restoring else None)
    meter.update(done=now.done_bytes, files=now.done_files, waits=waits)


def say_plan(mill: Session, plan: WorkspacePlan) -> None:
    mill.out.shape(
        plan,
        [
            ("volume", f"{plan.volume} at {plan.site}"),
            ("size", Bytes(plan.size_bytes)),
            ("how", plan.how.value),
            ("takes about", None if plan.expected_seconds is None else Seconds(plan.expected_seconds)),
            ("evicts", f"{plan.evicts} idle cached commits" if plan.evicts else None),
            ("because", plan.reasons),
        ],
    )
    if not mill.out.as_json:
        mill.out.note("Nothing was created.")


def show_workspace(mill: Session, one: Workspace) -> None:
    took = one.took_seconds if one.how.value != "empty" else None
    mill.out.shape(
        one,
        [
            ("workspace", f"{one.project}/{one.name}"),
            ("id", one.id),
            ("state", one.state.value),
            ("problem", one.problem),
            ("restoring", one.restoring),
            ("owner", f"{one.owner}, shared with the project" if one.shared else one.owner),
            ("volume", f"{one.volume} at {one.site}"),
            ("path", one.path or None),
            ("claim", _claim(one) if one.storage_class else None),
            ("size", Bytes(one.size_bytes)),
            ("holds", _holds(one)),
            ("read only", "yes" if one.read_only else None),
            ("from", one.source.written if one.source.kind is not Begins.EMPTY else None),
            ("made by", one.how.value),
            ("took", None if took is None else Seconds(took)),
            ("consistency", one.consistency.value if one.consistency else None),
            ("size kept by", one.quota),
            ("snapshots", one.snapshots),
            ("jobs", [f"{job.name} ({job.id}){', reads' if job.read_only else ''}" for job in one.jobs]),
            ("repository", one.git or None),
            ("created", one.created_at),
            ("measured", one.measured_at),
            ("in the bin", one.deleted_at),
        ],
    )


def many_nodes(access: str | None) -> bool:
    """What `--access` says."""
    match access:
        case None | "once" | "rwo" | "ReadWriteOnce":
            return False
        case "many" | "rwx" | "ReadWriteMany":
            return True
    raise BadRequest(f"--access must be once or many, not {access!r}.")


def _claim(one: Workspace) -> str:
    return f"of storage class {one.storage_class}, {'ReadWriteMany' if one.many_nodes else 'ReadWriteOnce'}"


def _holds(one: Workspace) -> str:
    alone, common = format_bytes(one.unique_bytes), format_bytes(one.shared_bytes)
    return f"{format_bytes(one.used_bytes)} in {one.files:,} files: {alone} alone, {common} shared with others"
