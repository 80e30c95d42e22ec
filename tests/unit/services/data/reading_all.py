"""Reading a whole commit back through the services, every digest checked."""

from __future__ import annotations

from millpond.model.dataset import Commit, Dataset
from millpond.services import files
from millpond.services.deps import Deps
from millpond.services.reading import reader_of


def read_all(deps: Deps, dataset: Dataset, commit: Commit) -> dict[str, bytes]:
    found: dict[str, bytes] = {}
    for entry in reader_of(deps, dataset, commit).entries():
        path = entry.path.decode()
        file = files.open_file(deps, dataset, commit, path)
        found[path] = b"".join(file.read(deps, 0, file.size))
    return found
