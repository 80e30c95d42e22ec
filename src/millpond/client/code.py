"""The code of a job: the working directory as a commit of the project's `.code`, sent only when it has changed."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from millpond.client.commits import create_commit, find_commit
from millpond.client.credentials import state_dir
from millpond.client.files import write_atomically
from millpond.client.http import Api
from millpond.client.retrying_sender import until_complete
from millpond.client.transfer import ApiUploader
from millpond.errors import BadRequest, NotFound, TooLarge
from millpond.lake.code_files import IGNORE_FILES, IGNORED
from millpond.lake.push import PushOptions, push_directory
from millpond.lake.scan import Found, Warn, scan
from millpond.lake.transfer import Progress
from millpond.model.ids import new_id
from millpond.model.names import CODE_DATASET
from millpond.model.path import to_text
from millpond.model.quantity import format_bytes, format_count
from millpond.wire.quick.data import Commit, CommitCreate

MOST_BYTES = 500_000_000


@dataclass(frozen=True, slots=True)
class CodeSize:
    files: int
    bytes: int
    largest: Sequence[Found]


def measure_code(root: Path) -> CodeSize:
    """Size of the code folder before deduplication, with its largest files."""
    found = [item for item in scan(root, ignore_files=IGNORE_FILES, ignore=IGNORED) if item.status is not None]
    largest = sorted(found, key=lambda item: item.size, reverse=True)[:3]
    return CodeSize(len(found), sum(item.size for item in found), largest)


def too_large(root: Path, size: CodeSize) -> TooLarge:
    heavy = ", ".join(f"{to_text(item.path)} ({format_bytes(item.size)})" for item in size.largest)
    return TooLarge(
        f"{root} holds {format_bytes(size.bytes)} in {format_count(size.files, 'file')}, a lot "
        f"for the code of a job: {heavy}.",
        hint=(
            "Put data into a dataset (mill data init; --data) and list what is not code in "
            ".millignore. Or add --yes to send everything, or --no-code to send nothing."
        ),
    )


def is_nobodys_code(root: Path) -> bool:
    """True for a home directory and for `/`: they hold keys and tokens, and everybody in the project reads code."""
    return root.resolve() in (Path.home().resolve(), Path(root.anchor))


def home_refused(root: Path) -> BadRequest:
    return BadRequest(
        f"{root} is not uploaded as the code of a job: it may hold keys and tokens.",
        hint="Change to the folder of your code. Or add --no-code to send nothing, or --yes to send all of it.",
    )


def commit_code(
    api: Api,
    project: str,
    root: Path,
    *,
    progress: Progress | None = None,
    whole: bool = False,
    warn: Warn = lambda path, why: None,
) -> Commit:
    """Commit the code in `root`; return the folder's last commit if nothing has changed.

    `whole`: include ignored files, and remember nothing about the folder (for temporary checkouts). `warn` is called
    with each path that no commit can hold.
    """
    memory = _Memory.of(api.base_url, project, root)
    last = _still_there(api, project, memory.commit)
    options = PushOptions(stat_cache=memory.folder / f"{memory.key}.stat", ignore_files=IGNORE_FILES, ignore=IGNORED)
    if whole:
        options = PushOptions(ignore_files=())

    def push_and_commit() -> Commit:
        with ApiUploader(api, project, known_tree=last.tree if last else None) as uploader:
            pushed = push_directory(root, uploader, options=options, progress=progress, warn=warn)
            if last is not None and last.tree == pushed.tree.root:
                return last
            # A branch of its own: two people who submit at once never stand in each other's way.
            request = CommitCreate(upload=uploader.id, tree=pushed.tree.root, branch=f"code-{new_id(8)}")
            commit = create_commit(api, project, CODE_DATASET, request)
        if not whole:
            memory.save(commit.id)
        return commit

    return until_complete(push_and_commit)


@dataclass(frozen=True, slots=True)
class _Memory:
    """Remembers the last commit of a code folder."""

    folder: Path
    key: str
    commit: str | None

    @classmethod
    def of(cls, server: str, project: str, root: Path) -> _Memory:
        key = hashlib.sha256("\0".join((server, project, str(root.absolute()))).encode()).hexdigest()[:24]
        folder = state_dir() / "code"
        try:
            commit = json.loads((folder / f"{key}.json").read_text("utf-8"))["commit"]
        except (OSError, ValueError, KeyError):
            # It only saves work: without it, the code is looked at and sent as if for the first time.
            commit = None
        return cls(folder, key, commit)

    def save(self, commit: str) -> None:
        write_atomically(self.folder / f"{self.key}.json", json.dumps({"commit": commit}).encode())


def _still_there(api: Api, project: str, commit: str | None) -> Commit | None:
    try:
        return find_commit(api, project, CODE_DATASET, commit) if commit else None
    except NotFound:
        return None
