"""Where tools work: the server, the project, and the folder of this machine that they may touch."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from millpond.client.http import Api
from millpond.errors import Forbidden, NotFound
from millpond.model.names import DEFAULT_BRANCH, DatasetRef


@dataclass(frozen=True)
class Where:
    """A commit of a dataset."""

    project: str
    dataset: str
    ref: str

    @property
    def written(self) -> str:
        return f"{self.project}/{self.dataset}@{self.ref}"


@dataclass(frozen=True)
class Place:
    """`folder` is the only one whose files tools read and send, as the assistant's own project."""

    api: Api
    project: str
    folder: Path

    def commit(self, written: str) -> Where:
        """`dataset`, `dataset@ref` or `project/dataset@ref`; the branch main if no ref is given."""
        ref = DatasetRef.parse_commit(written)
        return Where(ref.project or self.project, ref.dataset, ref.ref or DEFAULT_BRANCH)

    def local(self, written: str) -> Path:
        """A path of this machine, as long as it is in the folder: also where links lead."""
        found = (self.folder / written).resolve()
        if not found.is_relative_to(self.folder.resolve()):
            raise Forbidden(
                f"{written} is outside of {self.folder}.",
                hint="Only files of that folder may be sent. Start `mill mcp --write --folder FOLDER` for another one.",
            )
        if not found.exists():
            raise NotFound(f"{written} does not exist in {self.folder}.")
        return found
