"""Outputs of steps as scripts read them: values as they are, files as a folder of a dataset."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from millpond.client.dataset import Dataset, DatasetEntry
from millpond.model.names import DatasetRef

_WRITTEN = re.compile(r"^[^/@:\s]+/[^/@:\s]+@[0-9a-f]{64}(?::|$)")


@dataclass(frozen=True, slots=True)
class OutputFiles:
    """Files that a step made: those of `dataset` below `folder`, or all of it if that is empty."""

    dataset: Dataset
    folder: str

    def files(self) -> Iterator[DatasetEntry]:
        """Each with its path inside the output, sorted; an output that is one file has the path ''."""
        for entry in self.dataset.files(self.folder):
            inside = entry.path.removeprefix(self.folder)
            if not self.folder or not inside or inside.startswith("/"):
                yield replace(entry, path=inside.removeprefix("/"))

    def read(self, path: str = "") -> bytes:
        """One file of it; without a path, an output that is one file."""
        return self.dataset.read("/".join(part for part in (self.folder, path) if part))

    def path(self) -> Path:
        """It as local files, not to be changed."""
        return self.dataset.path() / self.folder


def read_output(value: Any, *, server: str) -> Any:
    """What the server says of an output (`project/dataset@commit:path` for files), as it is read here."""
    if isinstance(value, list):
        return [read_output(one, server=server) for one in value]
    # Texts are outputs, too: only a whole commit id tells that these are files.
    if not isinstance(value, str) or not _WRITTEN.match(value):
        return value
    ref = DatasetRef.parse(value)
    return OutputFiles(Dataset(f"{ref.project}/{ref.dataset}@{ref.ref}", server=server), ref.path or "")
