"""Every key of the lake, as in docs/design/001-lake-format.md."""

from __future__ import annotations

import re
from dataclasses import dataclass

from millpond.errors import BadFormat

LAKE = "millpond.json"
OWNERS = "owner/"
PROJECTS = "projects/"

_ID = re.compile(r"[0-9a-z]{1,64}")
_NUMBER_DIGITS = 12
_NUMBERED = re.compile(rf"[0-9]{{{_NUMBER_DIGITS}}}(?:-(?!0+$)[0-9]{{{_NUMBER_DIGITS}}})?")


def owner(number: int) -> str:
    return f"{OWNERS}{_numbered(number)}"


def record_number(key: str) -> int:
    """The number of a record, from its key."""
    return int(key.rpartition("/")[2].partition("-")[0])


def record_epoch(key: str) -> int:
    """The owner epoch a dataset record was written in, from its key."""
    return int(key.rpartition("/")[2].partition("-")[2] or 0)


@dataclass(frozen=True, slots=True)
class ProjectKeys:
    """The keys of one project: nothing in the lake belongs to two."""

    project_id: str

    def __post_init__(self) -> None:
        _checked(self.project_id)

    @property
    def prefix(self) -> str:
        return f"{PROJECTS}{self.project_id}/"

    @property
    def packs(self) -> str:
        return f"{self.prefix}packs/"

    @property
    def pages(self) -> str:
        return f"{self.prefix}pages/"

    @property
    def commits(self) -> str:
        return f"{self.prefix}commits/"

    @property
    def datasets(self) -> str:
        return f"{self.prefix}datasets/"

    def pack(self, pack_id: str) -> str:
        return self.packs + _spread(pack_id)

    def page(self, page_id: str) -> str:
        return self.pages + _spread(page_id)

    def locator(self, page_id: str) -> str:
        return f"{self.prefix}locators/{_spread(page_id)}"

    def commit(self, commit_id: str) -> str:
        return self.commits + _spread(commit_id)

    def artifacts(self, run_id: str) -> str:
        return f"{self.prefix}artifacts/{_checked(run_id)}/"

    def artifact(self, run_id: str, digest: str) -> str:
        return self.artifacts(run_id) + _checked(digest)

    def logs(self, placement_id: str) -> str:
        return f"{self.prefix}logs/{_checked(placement_id)}/"

    def log(self, placement_id: str, begin: int, end: int, rank: int = 0) -> str:
        """Bytes of a placement's log, compressed: what lies at an offset never changes, so neither does the object.

        Of a distributed job, processes other than the first have a folder each.
        """
        folder = f"{self.logs(placement_id)}{rank}/" if rank else self.logs(placement_id)
        return f"{folder}{_numbered(begin)}-{_numbered(end)}"

    def request_logs(self, endpoint_id: str) -> str:
        return f"{self.prefix}request-logs/{_checked(endpoint_id)}/"

    def request_log(self, endpoint_id: str, digest: str) -> str:
        """A file of an endpoint's request log, compressed, until it is committed."""
        return self.request_logs(endpoint_id) + _checked(digest)

    def records(self, dataset_id: str) -> str:
        return f"{self.datasets}{_checked(dataset_id)}/"

    def record(self, dataset_id: str, number: int, epoch: int = 0) -> str:
        """Each owner of the lake writes under keys of its own, so no owner can overwrite or block another's record."""
        return f"{self.records(dataset_id)}{_numbered(number)}{f'-{_numbered(epoch)}' if epoch else ''}"


def is_page(key: str) -> bool:
    parts = key.split("/")
    return len(parts) == 5 and parts[0] == "projects" and parts[2] == "pages"


def is_record(key: str) -> bool:
    """Whether it is one of the records of a dataset."""
    parts = key.split("/")
    return len(parts) == 5 and f"{parts[0]}/" == PROJECTS and parts[2] == "datasets" and _is_numbered(parts[4])


def id_in(below: str, key: str) -> str | None:
    """The id that a key below `packs/`, `pages/` or `commits/` stands for; None for what the lake did not put there."""
    directory, _, identifier = key.removeprefix(below).partition("/")
    return identifier if _ID.fullmatch(identifier) and directory == identifier[:2] else None


def is_id(text: str) -> bool:
    return _ID.fullmatch(text) is not None


def _is_numbered(text: str) -> bool:
    """True for `<n>` and `<n>-<epoch>`, epoch 0 being left out."""
    return _NUMBERED.fullmatch(text) is not None


def _spread(identifier: str) -> str:
    """The first two characters as a directory of their own keep directories small."""
    return f"{_checked(identifier)[:2]}/{identifier}"


def _checked(identifier: str) -> str:
    if not _ID.fullmatch(identifier):
        raise BadFormat(f"{identifier[:100]!r} is not an id of the lake.")
    return identifier


def _numbered(number: int) -> str:
    if not 0 <= number < 10**_NUMBER_DIGITS:
        raise BadFormat(f"{number} cannot number a record.")
    return f"{number:0{_NUMBER_DIGITS}d}"
