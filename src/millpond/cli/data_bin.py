"""`mill data undelete`, `purge`, `retention`: what a dataset keeps, and coming back from the bin."""

from __future__ import annotations

from typing import Annotated

import typer

from millpond.cli.command import command
from millpond.cli.dataset_argument import named
from millpond.cli.session import Session
from millpond.cli.values import Bytes
from millpond.client.dataset_bin import list_deleted, purge_dataset, set_retention, undelete_dataset
from millpond.client.datasets import get_dataset
from millpond.errors import BadRequest
from millpond.model.quantity import format_count
from millpond.wire.data import Dataset, Retention

Binned = Annotated[str, typer.Argument(metavar="DATASET", help="Deleted dataset, by name or id.")]


def add_bin_commands(app: typer.Typer) -> None:
    command(app, "undelete")(undelete)
    command(app, "purge")(purge)
    command(app, "retention")(retention)


def show_bin(mill: Session, search: str | None) -> None:
    found = (item for item in list_deleted(mill.api, mill.flags.project) if (search or "") in item.name)
    mill.out.items(
        found,
        [
            ("DATASET", lambda d: f"{d.project}/{d.name}"),
            ("DELETED", lambda d: d.deleted_at),
            ("SIZE", lambda d: Bytes(d.bytes)),
            ("FILES", lambda d: d.files),
            ("COMMITS", lambda d: d.commits),
            ("ID", lambda d: d.id),
        ],
        empty="The bin is empty.",
    )


def undelete(mill: Session, dataset: Binned) -> None:
    """Restore a deleted dataset with all its commits. If several had the name, the one deleted last.

    Example: mill data undelete x-ray
    """
    ref = named(mill, dataset)
    found = undelete_dataset(mill.api, ref.project, ref.dataset)
    mill.out.note(f"Dataset {found.project}/{found.name} restored.")
    if mill.out.as_json:
        mill.out.shape(found, [])


def purge(
    mill: Session,
    dataset: Binned,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Skip the confirmation.")] = False,
) -> None:
    """Permanently delete a dataset from the bin. `mill lake collect` then frees its space.

    Example: mill data purge x-ray
    """
    ref = named(mill, dataset)
    mill.confirm(f"Permanently delete {ref.project}/{ref.dataset}? This cannot be undone.", yes=yes)
    purge_dataset(mill.api, ref.project, ref.dataset)
    mill.out.note(f"Dataset {ref.project}/{ref.dataset} permanently deleted.")


def retention(
    mill: Session,
    dataset: Annotated[str | None, typer.Argument(metavar="DATASET", help="Dataset (default: this folder's).")] = None,
    keep_last: Annotated[
        int | None, typer.Option("--keep-last", metavar="N", min=1, help="Keep the newest N commits of each branch.")
    ] = None,
    keep_days: Annotated[
        int | None, typer.Option("--keep-days", metavar="D", min=1, help="Keep commits younger than D days.")
    ] = None,
    off: Annotated[bool, typer.Option("--off", help="Keep everything reachable from a branch or tag.")] = False,
) -> None:
    """Show or set which commits a dataset keeps.

    Commits used by a branch, tag, job, cache or another commit's lineage are always kept.

    Example: mill data retention x-ray --keep-last 20
    """
    ref = named(mill, dataset)
    asked = keep_last is not None or keep_days is not None
    if off and asked:
        raise BadRequest("--off cannot be combined with --keep-last or --keep-days.")
    if not off and not asked:
        _show(mill, get_dataset(mill.api, ref.project, ref.dataset))
        return
    rule = None if off else Retention(keep_last=keep_last, keep_days=keep_days)
    _show(mill, set_retention(mill.api, ref.project, ref.dataset, rule))


def rule_text(rule: Retention | None) -> str:
    if rule is None:
        return "everything reachable from a branch or tag"
    parts = (
        [f"the newest {format_count(rule.keep_last, 'commit')} of each branch"] if rule.keep_last is not None else []
    )
    parts += [f"commits younger than {format_count(rule.keep_days, 'day')}"] if rule.keep_days is not None else []
    return " and ".join(parts)


def _show(mill: Session, dataset: Dataset) -> None:
    fields = [("dataset", f"{dataset.project}/{dataset.name}"), ("keeps", rule_text(dataset.retention))]
    mill.out.shape(dataset, fields)
