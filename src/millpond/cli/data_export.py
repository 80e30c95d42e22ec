"""`mill data export` and `mill data have`: commits for a site without a network connection, in one file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from millpond.cli.command import command
from millpond.cli.dataset_argument import named
from millpond.cli.progress import Meter, tell
from millpond.cli.session import Session
from millpond.client.exporting import WantedRef, commits_here, export_commits
from millpond.errors import BadRequest, NotFound
from millpond.lake.exports.manifest import Have, decode_have, encode_have
from millpond.model.quantity import format_bytes, format_count, format_seconds

_LEAST = 2


def add_export_commands(app: typer.Typer) -> None:
    command(app, "export")(export)
    command(app, "have")(have)


def export(
    mill: Session,
    arguments: Annotated[
        list[str],
        typer.Argument(metavar="DATASET[@REF]… FILE", help="Commits (default: main), then the file to write."),
    ],
    have: Annotated[
        Path | None,
        typer.Option("--have", help="List of commits that the other site has, from `mill data have`."),
    ] = None,
    force: Annotated[bool, typer.Option("--force", "-f", help="Overwrite the file if it exists.")] = False,
) -> None:
    """Write commits to one verified file, for a site without a network connection.

    Take it there on any disk, then run `mill data import FILE` at a server or onto a volume. With --have, only what the
    other site lacks is written.

    Example: mill data export x-ray@main x-ray@v1 x-ray.mill --have have.json
    """
    if len(arguments) < _LEAST:
        raise BadRequest(
            "Give at least one dataset and the file to write.", hint="Write: mill data export DATASET@REF FILE"
        )
    *datasets, target = arguments
    wanted = [_wanted(mill, written) for written in datasets]
    there = _read_have(have) if have else None
    with Meter(mill.out, f"Exporting {', '.join(datasets)}") as meter:
        done = export_commits(mill.api, wanted, Path(target), have=there, force=force, progress=tell(meter))
    if there is not None:
        for one in done.manifest.commits:
            if one.base is None:
                mill.out.warn(f"{one.dataset}@{one.ref}: the other site has no commit of it; all of it was exported.")
    mill.out.note(
        f"Exported {format_count(len(done.manifest.commits), 'commit')} to {target}: {format_bytes(done.bytes)} in "
        f"{format_seconds(meter.seconds)}, digest {done.digest[:16]}."
    )
    if mill.out.as_json:
        commits = [
            {"dataset": f"{one.project}/{one.dataset}", "ref": one.ref, "commit": one.id, "base": one.base,
             "files": one.files, "bytes": one.bytes}
            for one in done.manifest.commits
        ]  # fmt: skip
        mill.out.json({"file": target, "bytes": done.bytes, "digest": done.digest, "commits": commits})


def have(
    mill: Session,
    datasets: Annotated[list[str] | None, typer.Argument(metavar="DATASET…", help="Datasets of the server.")] = None,
    volume: Annotated[
        Path | None, typer.Option("--volume", help="Directory of a volume: list what it holds, without a server.")
    ] = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="File to write (default: print it).")] = None,
) -> None:
    """List the commits that this site has, for `mill data export --have` at another one.

    Example: mill data have x-ray --output have.json
    """
    if (volume is None) == (not datasets):
        raise BadRequest(
            "Give either datasets or --volume.", hint="Write: mill data have DATASET, or --volume DIRECTORY"
        )
    found = _on_volume(volume) if volume else commits_here(mill.api, [_wanted(mill, name) for name in datasets or ()])
    text = encode_have(found)
    count = sum(map(len, found.commits.values()))
    if output is None:
        mill.out.raw.write(text)
        mill.out.raw.flush()
        return
    try:
        output.write_bytes(text)
    except OSError as error:
        raise BadRequest(f"Cannot write {output}: {error.strerror}.") from error
    mill.out.note(f"Wrote {format_count(count, 'commit')} to {output}.")
    if mill.out.as_json:
        mill.out.json({"file": str(output), "commits": count})


def _on_volume(root: Path) -> Have:
    # Only where a volume is named: others need nothing of volumes.
    from millpond.volumes.importing import commits_on  # noqa: PLC0415

    return commits_on(root)


def _wanted(mill: Session, written: str) -> WantedRef:
    where = named(mill, written)
    if where.path:
        raise BadRequest(f"{written!r} includes a path.", hint="Whole commits are exported: give DATASET@REF.")
    return WantedRef(where.project, where.dataset, where.ref)


def _read_have(path: Path) -> Have:
    try:
        return decode_have(path.read_bytes(), path.name)
    except FileNotFoundError as error:
        hint = "Make it at the other site: mill data have DATASET --output FILE"
        raise NotFound(f"The file {path} does not exist.", hint=hint) from error
    except OSError as error:
        raise BadRequest(f"Cannot read {path}: {error.strerror}.") from error
