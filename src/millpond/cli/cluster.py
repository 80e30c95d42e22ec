"""`mill cluster`: schedulers and workers of Dask and Ray, for jobs with `--cluster`."""

from __future__ import annotations

import webbrowser
from pathlib import Path
from typing import Annotated

import typer

from millpond.cli.command import command
from millpond.cli.output import Column
from millpond.cli.session import Session
from millpond.client import clusters as calls
from millpond.client.environment import commit_environment
from millpond.client.logs import read_all
from millpond.errors import BadRequest, NotFound, NotReady
from millpond.model.cluster import MAX_WORKERS, ClusterKind
from millpond.model.quantity import format_bytes, format_count, parse_bytes, parse_gpus
from millpond.wire.clusters import Cluster, ClusterCreate, ClusterEvent, ClusterJob

app = typer.Typer()

ClusterName = Annotated[str, typer.Argument(metavar="CLUSTER", help="Name or id of the cluster.")]
Wait = Annotated[bool, typer.Option("--wait", help="Wait until all workers are ready.")]
Adapt = Annotated[
    str | None, typer.Option(metavar="MIN:MAX", help="Let workers follow the demand between two numbers, like 1:8.")
]

_EMPTY = "No clusters yet. Create one: mill cluster create NAME --kind dask --env requirements.txt"
_SHOWN_EVENTS = 20


@command(app, "create")
def create(
    mill: Session,
    name: Annotated[str, typer.Argument(help="Name of the cluster.")],
    kind: Annotated[ClusterKind, typer.Option(help="What it runs: dask or ray.")],
    workers: Annotated[
        int | None, typer.Option("--workers", "-n", min=0, max=MAX_WORKERS, help="Number of workers (default: 1).")
    ] = None,
    adapt: Adapt = None,
    env: Annotated[
        Path | None,
        typer.Option(
            "--env", "--requirements", "-r", metavar="FILE",
            help="Packages with dask or ray: requirements.txt, pyproject.toml or a lock file.",
        ),
    ] = None,
    cpu: Annotated[int, typer.Option("--cpu", "-c", metavar="N", min=1, help="CPUs of each worker.")] = 1,
    memory: Annotated[
        str | None, typer.Option("--memory", "-m", metavar="SIZE", help="Memory of each worker, like 4GB.")
    ] = None,
    scheduler_memory: Annotated[
        str | None,
        typer.Option(
            metavar="SIZE", help="Memory of the scheduler (default: as much as a worker, from 1 to 4 GB)."
        ),
    ] = None,
    gpu: Annotated[str | None, typer.Option("--gpu", "-g", metavar="N", help="GPUs of each worker.")] = None,
    image: Annotated[str | None, typer.Option("--image", "-i", metavar="IMAGE", help="Container image.")] = None,
    site: Annotated[str | None, typer.Option(help="Site to run at (default: the only one).")] = None,
    compute: Annotated[str | None, typer.Option(metavar="NAME", help="Run on this compute only.")] = None,
    on: Annotated[
        str | None, typer.Option("--on", metavar="NAME", help="Template or queue that fills in what you leave out.")
    ] = None,
    data: Annotated[
        list[str] | None,
        typer.Option("--data", "-d", metavar="DATASET[@REF]", help="Dataset that workers read. Repeatable."),
    ] = None,
    wait: Wait = False,
) -> None:  # fmt: skip
    """Create a cluster: a scheduler and workers, each a job, at one site.

    Example: mill cluster create prep --kind dask --workers 3 --env requirements.txt
    """
    limits = calls.parse_adapt(adapt) if adapt is not None else None
    asked = ClusterCreate(
        name=name, kind=kind, workers=(limits.min if limits else 1) if workers is None else workers, adapt=limits,
        cpu=cpu, memory_bytes=0 if memory is None else parse_bytes(memory),
        scheduler_memory_bytes=0 if scheduler_memory is None else parse_bytes(scheduler_memory),
        gpu_hundredths=0 if gpu is None else parse_gpus(gpu), image=image, compute=compute, on=on,
        site=site, data=data or [],
        environment=None if env is None else commit_environment(mill.api, mill.project, env).id,
    )  # fmt: skip
    made = calls.create_cluster(mill.api, mill.project, asked)
    mill.out.note(f"Cluster {made.name} created. Use it: mill submit --cluster {made.name} -- python script.py")
    _show(mill, _waited(mill, made) if wait else made)


@command(app, "list")
def list_all(
    mill: Session,
    limit: Annotated[int, typer.Option("--limit", "-n", help="Most clusters to show.", min=1)] = 100,
) -> None:
    """List clusters of the project.

    Example: mill cluster list
    """
    columns: list[Column[Cluster]] = [
        ("CLUSTER", lambda c: c.name),
        ("KIND", lambda c: c.kind.value),
        ("STATE", lambda c: c.state.value),
        ("WORKERS", lambda c: f"{c.workers_ready}/{c.wanted}"),
        ("ADAPTS", lambda c: f"{c.adapt.min}:{c.adapt.max}" if c.adapt else ""),
        ("TASKS", lambda c: c.tasks),
        ("SITE", lambda c: c.site),
        ("CREATED", lambda c: c.created_at),
        ("BY", lambda c: c.created_by),
    ]
    found = calls.list_clusters(mill.api, project=mill.project, at_most=limit)
    mill.out.items(found, columns, empty=_EMPTY, drop=["BY", "CREATED", "ADAPTS"])


@command(app, "show")
def show(mill: Session, cluster: ClusterName, wait: Wait = False) -> None:
    """Show a cluster: its workers, what its scheduler asks for, and what happened to it.

    Example: mill cluster show prep
    """
    found = calls.get_cluster(mill.api, mill.project, cluster)
    found = _waited(mill, found) if wait else found
    _show(mill, found)
    if mill.out.as_json:
        return
    mill.out.line("")
    _show_jobs(mill, [*([found.scheduler] if found.scheduler else []), *found.workers])
    mill.out.line("")
    columns: list[Column[ClusterEvent]] = [("TIME", lambda e: e.at), ("WHAT HAPPENED", lambda e: e.what)]
    mill.out.table(found.history[:_SHOWN_EVENTS], columns, [])


@command(app, "scale")
def scale(
    mill: Session,
    cluster: ClusterName,
    workers: Annotated[
        int | None, typer.Option("--workers", "-n", min=0, max=MAX_WORKERS, help="Number of workers.")
    ] = None,
    adapt: Adapt = None,
    wait: Wait = False,
) -> None:
    """Set the number of workers of a cluster, or let it follow the demand. Workers that go are retired first.

    Example: mill cluster scale prep --adapt 1:8
    """
    if (workers is None) == (adapt is None):
        raise BadRequest("Give either --workers or --adapt.", hint="--workers 4, or --adapt 1:8")
    limits = calls.parse_adapt(adapt) if adapt is not None else None
    after = calls.scale_cluster(mill.api, mill.project, cluster, workers=workers, adapt=limits)
    mill.out.note(f"Cluster {after.name} scaled: {format_count(after.wanted, 'worker')} wanted now.")
    _show(mill, _waited(mill, after) if wait else after)


@command(app, "logs")
def logs(
    mill: Session,
    cluster: ClusterName,
    worker: Annotated[
        str | None, typer.Option(metavar="JOB", help="Only this job of the cluster (default: all).")
    ] = None,
) -> None:
    """Print the logs of a cluster's scheduler and workers. Each line begins with the job that wrote it.

    Example: mill cluster logs prep
    """
    found = calls.get_cluster(mill.api, mill.project, cluster)
    known = [*([found.scheduler] if found.scheduler else []), *found.workers]
    wanted = [one for one in known if worker in (None, one.job, one.job_name)]
    if worker is not None and not wanted:
        names = ", ".join(one.job_name for one in known)
        raise NotFound(f"Cluster {found.name} has no job {worker!r}.", hint=f"Its jobs: {names or 'none'}.")
    for one in wanted:
        prefix = f"{one.job_name} | ".encode() if len(wanted) > 1 else b""
        for line in b"".join(read_all(mill.api, found.project, one.job, 0, None, None)).splitlines():
            mill.out.raw.write(prefix + line + b"\n")


@command(app, "open")
def open_dashboard(
    mill: Session,
    cluster: ClusterName,
    print_only: Annotated[bool, typer.Option("--print", help="Print the address and open nothing.")] = False,
) -> None:
    """Open the dashboard of a cluster in a browser. The address works once, for a minute.

    Example: mill cluster open prep
    """
    found = calls.get_cluster(mill.api, mill.project, cluster)
    address = calls.open_dashboard(mill.api, found)
    if address is None:
        raise NotReady(
            f"Cluster {found.name!r} is {found.state.value}: its dashboard is not there yet.",
            hint=f"Wait until it is ready: mill cluster show {found.name} --wait",
        )
    if mill.out.as_json:
        mill.out.shape(address, [])
        return
    mill.out.line(address.url)
    if not print_only and mill.out.for_people:
        webbrowser.open(address.url)


@command(app, "delete")
def delete(
    mill: Session,
    cluster: ClusterName,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Skip the confirmation.")] = False,
) -> None:
    """Delete a cluster: retire its workers, stop its scheduler. Their jobs stay in the list of jobs.

    Example: mill cluster delete prep
    """
    mill.confirm(f"Delete the cluster {cluster}?", yes=yes)
    calls.delete_cluster(mill.api, mill.project, cluster)
    mill.out.note(f"Cluster {cluster} is being deleted: its workers are retired first.")


def _waited(mill: Session, cluster: Cluster) -> Cluster:
    def say(one: Cluster) -> None:
        mill.out.note(f"{one.state.value}: {' '.join(one.reasons)}")

    return calls.wait_until_ready(mill.api, cluster.project, cluster.name, changed=say)


def _show(mill: Session, found: Cluster) -> None:
    follows = f"{found.adapt.min} to {found.adapt.max} by demand" if found.adapt else "a fixed number"
    size = f"{format_count(found.cpu, 'CPU')}, {format_bytes(found.memory_bytes)}"
    mill.out.shape(
        found,
        [
            ("cluster", f"{found.project}/{found.name}"),
            ("id", found.id),
            ("kind", f"{found.kind.value} {found.version}" if found.version else found.kind.value),
            ("state", found.state.value),
            *(("reason", reason) for reason in found.reasons),
            ("site", found.site),
            ("scheduler", found.address),
            ("dashboard", f"mill cluster open {found.name}" if found.dashboard else None),
            ("workers", f"{found.workers_ready} of {found.wanted} ready, {follows}. {found.wanted_reason}"),
            ("each", size if found.memory_bytes else format_count(found.cpu, "CPU")),
            *(("reads", one) for one in found.data),
            ("tasks", None if found.tasks is None else f"{found.tasks}, of them {found.waiting} waiting"),
            ("takes jobs", "yes" if found.state.takes_jobs else "no"),
            ("created", found.created_at),
            ("by", found.created_by),
        ],
    )


def _show_jobs(mill: Session, found: list[ClusterJob]) -> None:
    columns: list[Column[ClusterJob]] = [
        ("JOB", lambda j: j.job_name),
        ("ROLE", lambda j: j.role.value),
        ("STATE", lambda j: j.state.value),
        ("COMPUTE", lambda j: j.compute),
        ("TASKS", lambda j: j.tasks),
        ("HOLDS", lambda j: None if j.bytes is None else format_bytes(j.bytes)),
        ("REASON", lambda j: "" if j.state.value == "ready" else j.reason),
    ]
    mill.out.table(found, columns, ["COMPUTE", "HOLDS"])
