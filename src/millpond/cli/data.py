"""`mill data`: datasets, what they hold, and their history."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

import typer

from millpond.cli.cache_lookup import idle_of
from millpond.cli.command import command
from millpond.cli.data_bin import add_bin_commands, rule_text, show_bin
from millpond.cli.data_checkout import check_out
from millpond.cli.data_clone import clone
from millpond.cli.data_edit import add_editing_commands
from millpond.cli.data_export import add_export_commands
from millpond.cli.data_history import add_history_commands
from millpond.cli.data_import import add_import_command
from millpond.cli.data_lineage import add_lineage_command
from millpond.cli.data_status import show_diff, status
from millpond.cli.data_sync import sync_folder
from millpond.cli.data_verify import add_checking_commands
from millpond.cli.data_zip import add_zip_command
from millpond.cli.dataset_argument import named
from millpond.cli.session import Session
from millpond.cli.values import Bytes, CommitId, Seconds
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
from millpond.client.file_reader import read_file
from millpond.client.working_copy import WorkingCopy, load_working_copy
from millpond.errors import BadRequest, Conflict, NameTaken
from millpond.model.dataset import DatasetKind
from millpond.model.names import DEFAULT_BRANCH, SYSTEM_DATASETS, DatasetRef, check_name
from millpond.model.quantity import format_count
from millpond.wire.data import Commit, Dataset, DatasetChange

app = typer.Typer()

_RANGE = re.compile(r"\d+-\d*|-\d+")

Written = Annotated[
    str | None,
    typer.Argument(metavar="DATASET[@REF]", help="Dataset (default: this folder's) and ref (default: main)."),
]


@command(app, "init")
def init(
    mill: Session,
    name: Annotated[str | None, typer.Argument(help="Name of the dataset (default: the folder's name).")] = None,
    description: Annotated[str, typer.Option("--description", "-d", help="Description.")] = "",
    existing: Annotated[bool, typer.Option("--existing", help="Use a dataset that already exists.")] = False,
) -> None:
    """Link this folder to a new dataset. Nothing is uploaded until `mill data sync`.

    Example: cd x-rays && mill data init x-ray && mill data sync -m "first images"
    """
    root = Path.cwd()
    before = load_working_copy(root)
    if before is not None:
        raise Conflict(f"This folder is already linked to {before.written}.", hint="Upload it: mill data sync")
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
    mill.out.note(f"This folder is now linked to {copy.written}. Upload it: mill data sync")
    if mill.out.as_json:
        mill.out.shape(dataset, [])


@command(app, "create")
def create(
    mill: Session,
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name of the dataset.")],
    description: Annotated[str, typer.Option("--description", "-d", help="Description.")] = "",
) -> None:
    """Create an empty dataset without a folder.

    Example: mill data create x-ray --description "chest images, 2019-2026"
    """
    ref = DatasetRef.parse(name)
    dataset = create_dataset(mill.api, ref.project or mill.project, ref.dataset, description)
    mill.out.note(f"Dataset {dataset.project}/{dataset.name} created.")
    _show(mill, dataset)


@command(app, "list")
def list_all(
    mill: Session,
    search: Annotated[str | None, typer.Argument(help="Only datasets whose name contains TEXT.")] = None,
    deleted: Annotated[
        bool, typer.Option("--deleted", help="List deleted datasets, most recently deleted first.")
    ] = False,
    kind: Annotated[
        DatasetKind, typer.Option(help="Include only data, or the code and outputs of jobs.")
    ] = DatasetKind.DATA,
) -> None:
    """List datasets.

    Example: mill data list xray
    """
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
        empty="No datasets yet. In a folder of data: mill data init && mill data sync",
    )


@command(app, "show")
def show(mill: Session, dataset: Written = None) -> None:
    """Show a dataset.

    Example: mill data show x-ray
    """
    ref = named(mill, dataset)
    _show(mill, get_dataset(mill.api, ref.project, ref.dataset))


@command(app, "set")
def change(
    mill: Session,
    dataset: Annotated[str, typer.Argument(metavar="DATASET", help="Dataset.")],
    name: Annotated[str | None, typer.Option("--name", metavar="NAME", help="New name.")] = None,
    description: Annotated[str | None, typer.Option("--description", "-d", help="New description.")] = None,
    cache_idle: Annotated[
        str | None,
        typer.Option(
            "--cache-idle",
            metavar="TIME",
            help="Evict its cached commits after this long without use, like 3d; or `default`.",
        ),
    ] = None,
) -> None:
    """Rename a dataset, or change its description or idle time. Linked folders follow a rename.

    Example: mill data set x-ray --name chest-x-ray
    """
    if name is None and description is None and cache_idle is None:
        raise BadRequest("Nothing to change.", hint="See: mill data set --help")
    ref = named(mill, dataset)
    idle = None if cache_idle is None else idle_of(cache_idle)
    asked = DatasetChange(name=name, description=description, cache_idle_seconds=idle)
    _show(mill, change_dataset(mill.api, ref.project, ref.dataset, asked))


@command(app, "delete")
def delete(
    mill: Session,
    dataset: Annotated[str, typer.Argument(metavar="DATASET", help="Dataset.")],
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Skip the confirmation.")] = False,
) -> None:
    """Move a dataset and its commits to the bin for 30 days. Refused while jobs use it.

    Example: mill data delete x-ray
    """
    ref = named(mill, dataset)
    found = get_dataset(mill.api, ref.project, ref.dataset)
    mill.confirm(f"Delete {found.project}/{found.name} with its {format_count(found.commits, 'commit')}?", yes=yes)
    delete_dataset(mill.api, ref.project, ref.dataset)
    mill.out.note(f"Dataset {found.project}/{found.name} deleted. Restore it: mill data undelete {found.name}")


@command(app, "commits")
def commits(
    mill: Session,
    dataset: Written = None,
    limit: Annotated[int, typer.Option("--limit", "-n", help="Maximum number of commits.", min=1)] = 50,
) -> None:
    """List the commits of a ref, newest first. For .code and .outputs without a ref, all commits.

    Example: mill data commits x-ray@main
    """
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
        empty=f"{ref} has no commits yet. Create one: mill data sync",
    )


@command(app, "refs")
def refs(mill: Session, dataset: Written = None) -> None:
    """List the branches and tags of a dataset.

    Example: mill data refs x-ray
    """
    ref = named(mill, dataset)
    mill.out.items(
        list_refs(mill.api, ref.project, ref.dataset),
        [
            ("REF", lambda r: r.name),
            ("TYPE", lambda r: r.type),
            ("COMMIT", lambda r: CommitId(r.commit_id)),
            ("MOVED", lambda r: r.moved_at),
        ],
        empty=f"{ref.dataset} has no branches yet. Create a commit: mill data sync",
    )


@command(app, "ls")
def list_directory(
    mill: Session,
    where: Annotated[str | None, typer.Argument(metavar="DATASET[@REF][:PATH]", help="Directory of a commit.")] = None,
) -> None:
    """List a directory of a commit without downloading it.

    Example: mill data ls x-ray@v1:train/
    """
    ref = named(mill, where)
    mill.out.items(
        list_entries(mill.api, ref.project, ref.dataset, ref.ref, ref.path),
        [
            ("NAME", lambda e: f"{e.name}/" if e.kind == "directory" else e.name),
            ("KIND", lambda e: e.kind),
            ("SIZE", lambda e: Bytes(e.size)),
            ("FILES", lambda e: e.files),
        ],
        empty=f"{ref} is empty.",
    )


@command(app, "cat")
def print_file(
    mill: Session,
    where: Annotated[str, typer.Argument(metavar="[DATASET[@REF]]:PATH", help="File of a commit.")],
    part: Annotated[
        str | None,
        typer.Option(
            "--range", metavar="A-B", help="Byte range: A-B, A- (to the end) or -N (the last N), counted from 0."
        ),
    ] = None,
) -> None:
    """Print a file of a commit, or a range of its bytes, without downloading the rest.

    Example: mill data cat x-ray@main:labels.csv > labels.csv
    """
    ref = named(mill, where)
    if not ref.path:
        raise BadRequest("No file given.", hint="Write it as DATASET@REF:PATH.")
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
add_export_commands(app)
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
            f"Dataset {project}/{ref.dataset} already exists.",
            hint=(
                f"Download it: mill data clone {ref.dataset}. Or commit this folder to it: mill data init "
                f"{ref.dataset} --existing"
            ),
            **error.details,
        ) from error


def _name_of(folder: Path) -> str:
    """The folder's name as a dataset may be called."""
    name = re.sub(r"[^a-z0-9._-]+", "-", folder.name.lower()).strip("-._")
    name = re.sub(r"\.{2,}", ".", name)[:63]
    if not name:
        raise BadRequest(
            f"The folder name {folder.name!r} cannot be a dataset's name.", hint="Give a name: mill data init NAME"
        )
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
            ("idle time", Seconds(dataset.cache_idle_seconds) if dataset.cache_idle_seconds else None),
            (DEFAULT_BRANCH, dataset.head),
            ("read-only", dataset.read_only),
            ("keeps", rule_text(dataset.retention) if dataset.retention else None),
            ("message", head.message if head else None),
            ("by", dataset.created_by),
            ("members", dataset.members),
            ("created", dataset.created_at),
            ("active", dataset.active_at),
        ],
    )
