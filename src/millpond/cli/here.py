"""The working copy a command is called in, and what its commands have in common."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from millpond.cli.session import Session
from millpond.client.commits import find_dataset, find_datasets
from millpond.client.working_copy import WorkingCopy, require_working_copy
from millpond.errors import Conflict, MillError, NotFound
from millpond.lake.scan import Warn
from millpond.model.path import to_text


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


def warn_with(mill: Session) -> Warn:
    return lambda path, why: mill.out.warn(f"{to_text(path)} {why} and is skipped")
