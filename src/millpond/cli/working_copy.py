"""The working copy a command is called in, and what its commands have in common."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import islice
from pathlib import Path

from millpond.cli.session import Session
from millpond.cli.values import one_line
from millpond.client.commits import find_dataset, find_datasets
from millpond.client.working_copy import WorkingCopy, require_working_copy
from millpond.errors import Conflict, MillError, NotFound
from millpond.model.path import to_text
from millpond.model.quantity import format_count

# Skipped paths that are named; --json names all of them.
_NAMED = 3


def here(mill: Session) -> WorkingCopy:
    """The working copy around us, after a look whether its dataset is still the one it was made from.

    A server may have moved to another address, a dataset may have been renamed: what counts is the dataset's id.
    """
    copy = require_working_copy(Path.cwd())
    found = replace(copy, server=mill.target.server, dataset=_name_now(mill, copy))
    if found != copy:
        found.save()
    return found


def _name_now(mill: Session, copy: WorkingCopy) -> str:
    """What the dataset of this folder is called now, looked for by its id where its old name does not lead to it."""
    problem: MillError
    try:
        if find_dataset(mill.api, copy.project, copy.dataset).id == copy.dataset_id:
            return copy.dataset
        problem = Conflict(
            f"{copy.written} on {mill.target.server} is not the dataset this folder is linked to.",
            hint=f"Use the right --server, or delete {copy.folder} and run mill data init or clone again.",
        )
    except NotFound as error:
        problem = error
    for dataset in find_datasets(mill.api, copy.project):
        if dataset.id == copy.dataset_id:
            mill.out.note(f"{copy.written} is now named {dataset.name}.")
            return dataset.name
    raise problem


def warn_skipped(mill: Session, skipped: Mapping[bytes, str]) -> None:
    """Say how many paths were skipped, and name the first ones."""
    if not skipped:
        return
    named = ", ".join(f"{one_line(to_text(path))} ({why})" for path, why in islice(sorted(skipped.items()), _NAMED))
    more = f" and {len(skipped) - _NAMED:,} more" if len(skipped) > _NAMED else ""
    mill.out.warn(f"Skipped {format_count(len(skipped), 'path')} that a commit cannot hold: {named}{more}.")


def skipped_document(skipped: Mapping[bytes, str]) -> list[dict[str, str]]:
    """The same for programs."""
    return [{"path": to_text(path), "reason": why} for path, why in sorted(skipped.items())]
