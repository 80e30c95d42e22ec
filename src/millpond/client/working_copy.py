"""A working copy: a folder whose `.mill/config.json` says which dataset it belongs to and which commit it holds."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from millpond.client.files import write_atomically
from millpond.errors import NotFound, SetupError
from millpond.lake.external_files import StandIns, encode_stand_ins, load_stand_ins, with_fetched
from millpond.model.names import DEFAULT_BRANCH
from millpond.model.tree import Entry

FOLDER = ".mill"
_STAND_INS = "stand-ins"


@dataclass(frozen=True, slots=True)
class WorkingCopy:
    """`head` is the commit this folder last agreed with: what `sync` expects the branch to be at still.

    `moving_to` is the commit that was being brought here when that was interrupted: what lies here is a mixture.
    `only` are patterns when the folder holds but a part of it; the rest stays as it is in the lake.
    """

    root: Path
    server: str
    project: str
    dataset: str
    dataset_id: str
    branch: str = DEFAULT_BRANCH
    head: str | None = None
    only: tuple[str, ...] = ()
    moving_to: str | None = None

    @property
    def folder(self) -> Path:
        return self.root / FOLDER

    @property
    def written(self) -> str:
        return f"{self.project}/{self.dataset}"

    def at(self, head: str | None, branch: str | None = None) -> WorkingCopy:
        return replace(self, head=head, branch=branch or self.branch)

    def moving(self, to: str) -> WorkingCopy:
        """Noted before the first file changes: whatever lies here after a crash is then understood."""
        moving = replace(self, moving_to=to)
        moving.save()
        return moving

    def arrived(self, head: str, branch: str | None = None) -> WorkingCopy:
        """Noted when the last file has changed."""
        arrived = replace(self.at(head, branch), moving_to=None)
        arrived.save()
        return arrived

    @property
    def stand_ins(self) -> StandIns:
        """Which files here stand for external entries."""
        return load_stand_ins(self.folder / _STAND_INS)

    def note_fetched(self, external: Sequence[tuple[Entry, Entry]]) -> None:
        """Remember what came from outside the lake: unchanged, it is not sent."""
        if external:
            write_atomically(self.folder / _STAND_INS, encode_stand_ins(with_fetched(self.stand_ins, external)))

    def save(self) -> None:
        document = {key: value for key, value in asdict(self).items() if key != "root"}
        content = json.dumps(document, indent=2).encode() + b"\n"
        write_atomically(self.folder / "config.json", content)


def load_working_copy(root: Path) -> WorkingCopy | None:
    """The working copy whose root is exactly `root`; None when there is none."""
    path = root / FOLDER / "config.json"
    try:
        document = json.loads(path.read_text("utf-8"))
        return WorkingCopy(
            root=root,
            server=document["server"],
            project=document["project"],
            dataset=document["dataset"],
            dataset_id=document["dataset_id"],
            branch=document.get("branch", DEFAULT_BRANCH),
            head=document.get("head"),
            only=tuple(document.get("only", ())),
            moving_to=document.get("moving_to"),
        )
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (ValueError, KeyError, TypeError) as error:
        raise SetupError(
            f"Cannot read {path}: {error}", hint=f"Remove {path.parent} and run: mill data init"
        ) from error


def find_working_copy(directory: Path) -> WorkingCopy | None:
    """The working copy `directory` lies in, looking upwards."""
    here = directory.absolute()
    for root in (here, *here.parents):
        found = load_working_copy(root)
        if found:
            return found
    return None


def require_working_copy(directory: Path) -> WorkingCopy:
    found = find_working_copy(directory)
    if found is None:
        raise NotFound(
            f"{directory.absolute()} is not linked to a dataset.",
            hint="Link it: mill data init NAME. Or clone a dataset: mill data clone DATASET",
        )
    return found
