"""`mill perf`: measure model servers the MLPerf way."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from millpond.cli.command import command
from millpond.cli.output import Column
from millpond.cli.session import Session
from millpond.errors import BadRequest, NotFound
from millpond.model.mlperf import MEASURES, TASKS, Scenario, Task, find_task
from millpond.model.quantity import parse_milliseconds, parse_seconds
from millpond.perf import records
from millpond.perf.matrix import Matrix, MeasuredCell, copied
from millpond.perf.measuring import check_installed
from millpond.perf.plan import LoadPlan
from millpond.perf.quality import Quality, measured_quality
from millpond.perf.target import PerfTarget, endpoint_target, is_plain_name, resolve, shared_folder
from millpond.wire.mlperf import MlperfRow, MlperfSetup

app = typer.Typer()
_STORAGES = ("local", "shared")
_PROTOCOLS = ("http", "grpc")


@command(app, "mlperf")
def mlperf(
    mill: Session,
    target: Annotated[
        str, typer.Argument(metavar="TARGET", help="Endpoint, MODEL@VERSION, ./folder of a model, or a URL.")
    ],
    scenario: Annotated[
        list[str] | None,
        typer.Option("--scenario", help="Scenario: single, multi, offline, server or all (default: all but server)."),
    ] = None,
    servers: Annotated[str, typer.Option(help="Numbers of servers to compare, like 1,2.")] = "1",
    storage: Annotated[str, typer.Option(help="Where the files lie: local, shared or both.")] = "local",
    protocol: Annotated[str, typer.Option(help="Protocol: http, grpc or both, like http,grpc.")] = "http",
    task: Annotated[
        str | None, typer.Option(help="Task of the table, like image-classification (default: the model's name).")
    ] = None,
    within: Annotated[
        str | None, typer.Option(help="Latency bound of multi and server, like 50ms (default: the task's, or 50ms).")
    ] = None,
    data: Annotated[
        Path | None, typer.Option(help="Folder of samples: .npy, or .npz by names of inputs (default: made up).")
    ] = None,
    samples: Annotated[
        int | None, typer.Option(help="Number of samples (default: 64, with --official the task's).")
    ] = None,
    seconds: Annotated[str, typer.Option(help="Minimum duration of each run, like 10s.")] = "3s",
    official: Annotated[bool, typer.Option("--official", help="Run as long as a submission must.")] = False,
    requests: Annotated[int, typer.Option("--requests", help="Requests under way at once.", min=1, max=256)] = 4,
    model: Annotated[str | None, typer.Option(help="Name of the model at a URL.")] = None,
    grpc_url: Annotated[
        str | None, typer.Option("--grpc-url", help="Address of gRPC (default: the next port).")
    ] = None,
    token: Annotated[str | None, typer.Option(envvar="MILL_ENDPOINT_TOKEN", help="Token of an endpoint.")] = None,
    reference: Annotated[
        str | None, typer.Option(help="FP32 model to compare answers with: MODEL@VERSION, ./folder or a URL.")
    ] = None,
    labels: Annotated[Path | None, typer.Option(help="Right classes of the samples, as .npy.", exists=True)] = None,
    keep: Annotated[bool, typer.Option("--record/--no-record", help="Record the results as runs.")] = True,
) -> None:
    """Measure a model server with MLCommons' LoadGen: offline, single stream, multistream, server.

    Starts servers of the model on this machine, each pinned to a core, or measures a server that runs.

    Example: mill perf mlperf chest-xray@3 --servers 1,2 --storage local,shared
    """
    check_installed()
    chosen = _scenarios(scenario)
    counts = _counts(servers)
    storages, protocols = _words(storage, _STORAGES, "--storage"), _words(protocol, _PROTOCOLS, "--protocol")
    wanted = _task(task)
    bound = parse_milliseconds(within) if within else (wanted.within_ms if wanted and wanted.within_ms else 50.0)
    with ExitStack() as stack:
        found = stack.enter_context(_found(mill, target, model, grpc_url, token))
        scratch = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="mill-perf-")))
        plan = LoadPlan(
            url="", protocol="http", model=found.model, scenario=chosen[0], folder="", data=_absolute(data),
            samples=samples or (wanted.samples if wanted and official else 64), is_official=official,
            seconds=float(parse_seconds(seconds, least=1)), within_ms=bound, requests_at_once=requests,
        )  # fmt: skip
        told = {"task": task or found.model, "model": target, "official": official, "samples": plan.samples}
        save = stack.enter_context(_kept(mill, keep, told))
        quality = None
        if reference is not None:
            other = stack.enter_context(_found(mill, reference, None, None, token))
            known = None if labels is None else np.load(labels, allow_pickle=False)
            mill.out.note(f"Quality, compared with {reference}")
            quality = measured_quality(plan, found, other, scratch, known)
        cells = _measured(mill, found, Matrix(chosen, counts, {}, protocols, plan, scratch), storages)
        rows = [save(_row(cell, told, quality), _files(scratch, cell)) for cell in cells]
    _show(mill, rows)


@command(app, "table")
def table(mill: Session) -> None:
    """Show what was measured as the tables of TR-4886: its six tasks, one and two servers, local and shared files.

    Example: mill perf table
    """
    found = records.load_tables(mill.api, mill.project)
    if mill.out.as_json:
        mill.out.json(found.model_dump(mode="json"))
        return
    if not found.measured:
        mill.out.note("Nothing measured yet. Measure a model: mill perf mlperf MODEL@VERSION")
        return
    for one in found.tables:
        mill.out.line(f"{one.title}, {one.unit}")
        columns: list[Column[MlperfRow]] = [("TASK", lambda row: row.title)]
        columns += [(_setup(setup), partial(_result, index)) for index, setup in enumerate(one.setups)]
        columns += [
            ("SHARED / LOCAL", lambda row: _ratio(row.shared_to_local)),
            ("TWO / ONE", lambda row: _ratio(row.two_to_one)),
        ]
        mill.out.items(one.rows, columns, empty="")
        if one.document:
            mill.out.line(
                f"TR-4886: shared storage: {one.document.shared_to_local}; two servers: {one.document.two_to_one}"
            )
        mill.out.line("")


@contextmanager
def _found(
    mill: Session, written: str, model: str | None, grpc: str | None, token: str | None
) -> Iterator[PerfTarget]:  # fmt: skip
    """What a target names. A plain name is an endpoint if there is one, else the newest version of a model."""
    if is_plain_name(written):
        with suppress(NotFound):
            with endpoint_target(mill.api, mill.project, written) as endpoint:
                yield endpoint
            return
    yield resolve(
        written, model=model, grpc=grpc, token=token, server=mill.flags.server, project=mill.flags.project
    )  # fmt: skip


def _setup(setup: MlperfSetup) -> str:
    return f"{setup.servers} × {setup.storage}, {setup.protocol}".upper()


def _result(index: int, row: MlperfRow) -> str:
    result = row.results[index]
    if result is None:
        return "not run"
    text = "–" if result.value is None else f"{result.value:.4g}"
    return text if result.valid else f"{text} INVALID"


def _ratio(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"


@contextmanager
def _kept(mill: Session, keep: bool, told: dict[str, Any]) -> Iterator[Any]:
    """How a cell is recorded. Without a server that one is signed in to, nothing is."""
    if not keep or mill.target.token is None:
        yield lambda row, _files: row
        return
    project = mill.project
    parent = records.begin(project, str(told["model"]), str(told["task"]))

    def save(row: dict[str, Any], files: Path) -> dict[str, Any]:
        records.save(parent, project, row, files)
        return row

    with parent:
        yield save


def _measured(mill: Session, found: PerfTarget, matrix: Matrix, storages: list[str]) -> Iterator[MeasuredCell]:
    if found.server is not None:
        yield from matrix.measured_as_is(found.server, mill.out.note)
        return
    assert found.folder is not None
    shared = shared_folder(found) if "shared" in storages else found.folder
    with copied(found.folder, matrix.scratch) as local:
        places = {"local": local, "shared": shared}
        chosen = Matrix(
            matrix.scenarios, matrix.servers, {name: places[name] for name in storages}, matrix.protocols, matrix.plan,
            matrix.scratch,
        )  # fmt: skip
        yield from chosen.measured(mill.out.note)


def _row(cell: MeasuredCell, told: dict[str, Any], quality: Quality | None) -> dict[str, Any]:
    """What is shown and recorded of a cell. A model that misses the quality gate has no valid result."""
    row = {**cell.to_document(), **told, "quality": None if quality is None else quality.ratio}
    if quality is not None and not quality.is_met:
        missed = f"Quality is {quality.ratio:.2%} of the reference, {quality.wanted:.0%} is needed"
        return {**row, "valid": False, "reason": missed}
    return row


def _files(scratch: Path, cell: MeasuredCell) -> Path:
    one = cell.cell
    return scratch / "loadgen" / f"{one.scenario.value}-{one.servers}-{one.storage.replace(' ', '-')}-{one.protocol}"


def _show(mill: Session, rows: list[dict[str, Any]]) -> None:
    columns: list[Column[dict[str, Any]]] = [
        ("SCENARIO", lambda row: MEASURES[Scenario(row["scenario"])].title),
        ("SERVERS", lambda row: row["servers"]),
        ("STORAGE", lambda row: row["storage"]),
        ("PROTOCOL", lambda row: row["protocol"]),
        ("RESULT", lambda row: "–" if row["value"] is None else f"{row['value']:.4g} {row['unit']}"),
        ("", lambda row: "VALID" if row["valid"] else "INVALID"),
        ("P99", lambda row: "" if row["p99_ms"] is None else f"{row['p99_ms']:.3g} ms"),
        ("READY", lambda row: "" if row["ready_seconds"] is None else f"{row['ready_seconds']:.2f} s"),
        ("CLIENT CPU", lambda row: f"{row['client_cpu_seconds']:.2f} s"),
        ("WHY", lambda row: row["reason"]),
    ]
    mill.out.items(rows, columns, empty="Nothing measured.", drop=["CLIENT CPU", "READY", "P99", "WHY"])


def _scenarios(written: list[str] | None) -> list[Scenario]:
    if not written:
        return [Scenario.OFFLINE, Scenario.SINGLE, Scenario.MULTI]
    if "all" in written:
        return [Scenario.OFFLINE, Scenario.SINGLE, Scenario.MULTI, Scenario.SERVER]
    names = [name for text in written for name in text.split(",")]
    known = {one.value: one for one in Scenario}
    for name in names:
        if name not in known:
            raise BadRequest(f"Unknown scenario {name!r}.", hint=f"Choose from {', '.join(known)}, all.")
    return [known[name] for name in names]


def _absolute(folder: Path | None) -> str | None:
    return None if folder is None else str(folder.resolve())


def _task(name: str | None) -> Task | None:
    """A task of the document; a name of one's own is none of them."""
    found = find_task(name) if name else None
    if name and found is None and any(name in task.name for task in TASKS):
        raise BadRequest(f"Unknown task {name!r}.", hint=f"Choose from {', '.join(task.name for task in TASKS)}.")
    return found


def _counts(written: str) -> list[int]:
    try:
        found = [int(text) for text in written.split(",")]
    except ValueError:
        found = []
    if not found or min(found) < 1:
        raise BadRequest(f"--servers {written!r} is not a list of numbers.", hint="Write it as 1,2.")
    return found


def _words(written: str, known: tuple[str, ...], option: str) -> list[str]:
    found = written.split(",")
    for word in found:
        if word not in known:
            raise BadRequest(f"{option} {word!r} is unknown.", hint=f"Choose from {', '.join(known)}.")
    return found
