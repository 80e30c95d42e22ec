"""Uploads what a job or a search needs before it is submitted: code, a Git revision, packages."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from millpond.cli.progress import Meter, tell
from millpond.cli.session import Session
from millpond.cli.working_copy import warn_skipped
from millpond.client.code import MOST_BYTES, commit_code, home_refused, is_nobodys_code, measure_code, too_large
from millpond.client.environment import commit_environment
from millpond.client.git import checked_out, read_state
from millpond.client.task_file import Task
from millpond.errors import BadRequest
from millpond.lake.scan import Skipped
from millpond.model.quantity import format_tree
from millpond.wire.quick.data import Commit


class Sending(NamedTuple):
    """What is uploaded before the job is submitted."""

    requirements: Path | None
    git: str | None
    code: bool
    yes: bool


def send(mill: Session, wanted: Sending, task: Task) -> dict[str, Any]:
    """Upload code and requirements; return the fields of the spec that name them."""
    if wanted.git is not None and not wanted.code:
        raise BadRequest("Cannot combine --git and --no-code.", hint="Remove one of them.")
    sent: dict[str, Any] = {}
    if wanted.requirements is not None:
        sent["environment"] = commit_environment(mill.api, mill.project, wanted.requirements).id
    if wanted.git is not None:
        commit, tags = _send_git(mill, wanted.git)
    elif wanted.code and "code_commit" not in task.document:
        commit, tags = _send_code(mill, yes=wanted.yes)
    else:
        return sent
    return {**sent, "code_commit": commit.id, "tags": {**task.document.get("tags", {}), **tags}}


def _send_git(mill: Session, written: str) -> tuple[Commit, dict[str, str]]:
    """Upload a repository at a revision, without its history."""
    with checked_out(written, Path.cwd()) as checkout, Meter(mill.out, "Uploading code") as meter:
        skipped = Skipped()
        commit = commit_code(mill.api, mill.project, checkout.folder, progress=tell(meter), whole=True, warn=skipped)
    warn_skipped(mill, skipped)
    tags = checkout.state.tags()
    mill.out.note(f"Code: {tags['git.commit'][:12]} of {tags['git.url']}, {format_tree(commit.files, commit.bytes)}")
    return commit, tags


def _send_code(mill: Session, *, yes: bool) -> tuple[Commit, dict[str, str]]:
    """Upload the working directory; return its commit and its Git revision as tags."""
    root = Path.cwd()
    if is_nobodys_code(root) and not yes:
        raise home_refused(root)
    size = measure_code(root)
    if size.bytes > MOST_BYTES and not yes:
        if not mill.may_ask:
            raise too_large(root, size)
        mill.confirm(f"{too_large(root, size).message} Upload it anyway?", yes=yes)
    with Meter(mill.out, "Uploading code") as meter:
        skipped = Skipped()
        commit = commit_code(mill.api, mill.project, root, progress=tell(meter), warn=skipped)
    warn_skipped(mill, skipped)
    mill.out.note(f"Code: {format_tree(commit.files, commit.bytes)} ({commit.id[:12]})")
    state = read_state(root)
    return commit, state.tags() if state else {}
