"""`mill data`: datasets, what they hold, and their history."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

import typer

from millpond.cli.cache_found import idle_of
from millpond.cli.command import command
from millpond.cli.data_bin import add_bin_commands, rule_text, show_bin
from millpond.cli.data_checking import add_checking_commands
from millpond.cli.data_checkout import check_out
from millpond.cli.data_clone import clone
from millpond.cli.data_editing import add_editing_commands
from millpond.cli.data_history import add_history_commands
from millpond.cli.data_import import add_import_command
from millpond.cli.data_lineage import add_lineage_command
from millpond.cli.data_status import show_diff, status
from millpond.cli.data_sync import sync_folder
from millpond.cli.data_zip import add_zip_command
from millpond.cli.naming import named
from millpond.cli.output import Bytes, CommitId, Seconds
from millpond.cli.session import Session
from millpond.client.datasets import (
    change_dataset,
    create_dataset,
    delete_dataset,
    get_commit,
    get_dataset,
    list_commits,
    list_datasets,
    list_entries,
    list_refs,
)
from millpond.client.reading import read_file
from millpond.client.working_copy import WorkingCopy, load_working_copy
from millpond.errors import BadRequest, Conflict, NameTaken
from millpond.model.dataset import DatasetKind
from millpond.model.names import DEFAULT_BRANCH, SYSTEM_DATASETS, DatasetRef, check_name
from millpond.wire.data import Commit, Dataset, DatasetChange

app = typer.Typer()

_RANGE = re.compile(r"\d+-\d*|-\d+")

Written = Annotated[
    str | None,
    typer.Argument(metavar="DATASET[@REF]", help="The dataset (that of this folder), and the ref (main)."),
]


@command(app, "init")
def init(
    mill: Session,
    name: Annotated[str | None, typer.Argument(help="The dataset's name (that of the folder).")] = None,
    description: Annotated[str, typer.Option("--description", "-d", help="What it holds.")] = "",
    existing: Annotated[bool, typer.Option("--existing", help="Join a dataset that is there already.")] = False,
) -> None:
    """Make a dataset of this folder. Nothing is uploaded yet: `mill data sync` does that."""
    root = Path.cwd()
    before = load_working_copy(root)
    if before is not None:
        raise Conflict(
            f"This folder belongs to {before.written} already.", hint="Put its files there with: mill data sync"
        )
    dataset = _create_or_join(mill, name or _name_of(root), description, existing)
    copy = WorkingCopy(
        root=root,
        server=mill.target.server,
        project=dataset.project,
        dataset=dataset.name,
        dataset_id=dataset.id,
        branch=dataset.default_branch,
        head=dataset.head,
    )
    copy.save()
    mill.out.note(f"This folder belongs to {copy.written} now. Put its files there with: mill data sync")
    if mill.out.as_json:
        mill.out.shape(dataset, [])


@command(app, "create")
def create(
    mill: Session,
    name: Annotated[str, typer.Argument(metavar="NAME", help="The dataset's name.")],
    description: Annotated[str, typer.Option("--description", "-d", help="What it holds.")] = "",
) -> None:
    """Create an empty dataset without a folder."""
    ref = DatasetRef.parse(name)
    dataset = create_dataset(mill.api, ref.project or mill.project, ref.dataset, description)
    mill.out.note(f"Dataset {dataset.project}/{dataset.name} created.")
    _show(mill, dataset)


@command(app, "list")
def list_all(
    mill: Session,
    search: Annotated[str | None, typer.Argument(help="Only datasets whose name holds this.")] = None,
    deleted: Annotated[bool, typer.Option("--deleted", help="Those in the bin, newest first.")] = False,
    kind: Annotated[
        DatasetKind, typer.Option(help="What people made, or the code and outputs of jobs.")
    ] = DatasetKind.DATA,
) -> None:
    """List the datasets you may see."""
    if deleted:
        show_bin(mill, search)
        return
    mill.out.items(
        list_datasets(mill.api, project=mill.flags.project, search=search, kind=kind.value),
        [
            ("DATASET", lambda d: f"{d.project}/{d.name}"),
            ("SIZE", lambda d: Bytes(d.bytes)),
            ("FILES", lambda d: d.files),
            ("COMMITS", lambda d: d.commits),
            ("CACHED", lambda d: d.cached_commits),
            ("ACTIVE", lambda d: d.active_at),
            ("DESCRIPTION", lambda d: d.description),
        ],
        empty="There are no datasets yet. In a folder of data: mill data init && mill data sync",
    )


@command(app, "show")
def show(mill: Session, dataset: Written = None) -> None:
    """Show one dataset."""
    ref = named(mill, dataset)
    _show(mill, get_dataset(mill.api, ref.project, ref.dataset))


@command(app, "set")
def change(
    mill: Session,
    dataset: Annotated[str, typer.Argument(metavar="DATASET", help="The dataset.")],
    name: Annotated[str | None, typer.Option("--name", metavar="NAME", help="Its new name.")] = None,
    description: Annotated[str | None, typer.Option("--description", "-d", help="What it holds.")] = None,
    cache_idle: Annotated[
        str | None,
        typer.Option("--cache-idle", metavar="TIME", help="How long its cached commits stay unused; or default."),
    ] = None,
) -> None:
    """Rename a dataset or describe it anew. Folders that belong to it find it under its new name."""
    if name is None and description is None and cache_idle is None:
        raise BadRequest("Nothing to change was given.", hint="See: mill data set --help")
    ref = named(mill, dataset)
    idle = None if cache_idle is None else idle_of(cache_idle)
    asked = DatasetChange(name=name, description=description, cache_idle_seconds=idle)
    _show(mill, change_dataset(mill.api, ref.project, ref.dataset, asked))


@command(app, "delete")
def delete(
    mill: Session,
    dataset: Annotated[str, typer.Argument(metavar="DATASET", help="The dataset.")],
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
) -> None:
    """Move a dataset with all its commits to the bin, for 30 days. Refused while jobs use it."""
    ref = named(mill, dataset)
    found = get_dataset(mill.api, ref.project, ref.dataset)
    mill.confirm(f"Delete {found.project}/{found.name} with its {found.commits} commits?", yes=yes)
    delete_dataset(mill.api, ref.project, ref.dataset)
    mill.out.note(f"Dataset {found.project}/{found.name} deleted. Bring it back: mill data undelete {found.name}")


@command(app, "commits")
def commits(
    mill: Session,
    dataset: Written = None,
    limit: Annotated[int, typer.Option("--limit", "-n", help="How many at most.", min=1)] = 50,
) -> None:
    """List the history of a ref, newest first; of .code and .outputs without a ref, every commit."""
    ref = named(mill, dataset)
    # Each of their commits has a branch of its own, and none is the default.
    history_of = None if ref.dataset in SYSTEM_DATASETS and "@" not in (dataset or "") else ref.ref
    mill.out.items(
        list_commits(mill.api, ref.project, ref.dataset, history_of, limit),
        [
            ("COMMIT", lambda c: CommitId(c.id)),
            ("WHEN", lambda c: c.time),
            ("WHO", lambda c: c.author),
            ("FILES", lambda c: c.files),
            ("SIZE", lambda c: Bytes(c.bytes)),
            ("REFS", lambda c: c.refs),
            ("CACHED ON", lambda c: [f"{on.volume} ({on.state})" for on in c.cached_on]),
            *([("JOBS", _jobs)] if ref.dataset in SYSTEM_DATASETS else []),
            ("MESSAGE", lambda c: c.message),
        ],
        empty=f"{ref} has no commits yet. Make one: mill data sync",
    )


@command(app, "refs")
def refs(mill: Session, dataset: Written = None) -> None:
    """List the branches and tags of a dataset."""
    ref = named(mill, dataset)
    mill.out.items(
        list_refs(mill.api, ref.project, ref.dataset),
        [
            ("REF", lambda r: r.name),
            ("TYPE", lambda r: r.type),
            ("COMMIT", lambda r: CommitId(r.commit_id)),
            ("MOVED", lambda r: r.moved_at),
        ],
        empty=f"{ref.dataset} has no branches yet. Make a commit: mill data sync",
    )


@command(app, "ls")
def list_directory(
    mill: Session,
    where: Annotated[
        str | None, typer.Argument(metavar="DATASET[@REF][:PATH]", help="A directory of a commit.")
    ] = None,
) -> None:
    """List one directory of a commit, without fetching it."""
    ref = named(mill, where)
    mill.out.items(
        list_entries(mill.api, ref.project, ref.dataset, ref.ref, ref.path),
        [
            ("NAME", lambda e: f"{e.name}/" if e.kind == "directory" else e.name),
            ("KIND", lambda e: e.kind),
            ("SIZE", lambda e: Bytes(e.size)),
            ("FILES", lambda e: e.files),
        ],
        empty=f"There is nothing in {ref}.",
    )


@command(app, "cat")
def print_file(
    mill: Session,
    where: Annotated[str, typer.Argument(metavar="[DATASET[@REF]]:PATH", help="A file of a commit.")],
    part: Annotated[
        str | None,
        typer.Option("--range", metavar="A-B", help="Bytes A to B, counted from 0; A- from there on, -N the last N."),
    ] = None,
) -> None:
    """Write one file of a commit, or a range of it, to stdout, without fetching the rest."""
    ref = named(mill, where)
    if not ref.path:
        raise BadRequest("No file is named.", hint="Write it as DATASET@REF:PATH.")
    if part is not None and not _RANGE.fullmatch(part):
        raise BadRequest(f"{part!r} is not a range.", hint="Write it as A-B, A- or -N.")
    raw = mill.out.raw
    for piece in read_file(mill.api, ref.project, ref.dataset, ref.ref, ref.path, part):
        raw.write(piece)
    raw.flush()


command(app, "log")(commits)
command(app, "sync")(sync_folder)
command(app, "status")(status)
command(app, "diff")(show_diff)
command(app, "clone")(clone)
command(app, "checkout")(check_out)
add_bin_commands(app)
add_checking_commands(app)
add_editing_commands(app)
add_history_commands(app)
add_import_command(app)
add_lineage_command(app)
add_zip_command(app)


def _jobs(commit: Commit) -> list[str]:
    return [f"{job.name}#{job.number}" for job in commit.jobs]


def _create_or_join(mill: Session, written: str, description: str, existing: bool) -> Dataset:
    ref = DatasetRef.parse(written)
    project = ref.project or mill.project
    if existing:
        return get_dataset(mill.api, project, ref.dataset)
    try:
        return create_dataset(mill.api, project, ref.dataset, description)
    except NameTaken as error:
        raise NameTaken(
            f"The dataset {project}/{ref.dataset} is there already.",
            hint=(
                f"Get it: mill data clone {ref.dataset}. "
                f"Or let this folder become its next commit: mill data init {ref.dataset} --existing"
            ),
            **error.details,
        ) from error


def _name_of(folder: Path) -> str:
    """The folder's name as a dataset may be called."""
    name = re.sub(r"[^a-z0-9._-]+", "-", folder.name.lower()).strip("-._")
    name = re.sub(r"\.{2,}", ".", name)[:63]
    if not name:
        raise BadRequest(f"The folder {folder.name!r} does not make a name.", hint="Write: mill data init NAME")
    return check_name(name, "dataset")


def _show(mill: Session, dataset: Dataset) -> None:
    head = get_commit(mill.api, dataset.project, dataset.name, dataset.head) if dataset.head else None
    mill.out.shape(
        dataset,
        [
            ("dataset", f"{dataset.project}/{dataset.name}"),
            ("id", dataset.id),
            ("description", dataset.description),
            ("size", Bytes(dataset.bytes)),
            ("files", dataset.files),
            ("commits", dataset.commits),
            ("cached commits", dataset.cached_commits),
            ("idle time there", Seconds(dataset.cache_idle_seconds) if dataset.cache_idle_seconds else None),
            (DEFAULT_BRANCH, dataset.head),
            ("keeps", rule_text(dataset.retention) if dataset.retention else None),
            ("message", head.message if head else None),
            ("by", dataset.created_by),
            ("members", dataset.members),
            ("created", dataset.created_at),
            ("active", dataset.active_at),
        ],
    )
