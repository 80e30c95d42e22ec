"""What somebody typed to find something, and what was found."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

# Shorter beginnings of ids match far too much.
SHORTEST_ID = 4
# More words make no name likelier.
MOST_WORDS = 8


class Noun(StrEnum):
    """What can be found; among equally good matches, in this order."""

    PROJECT = "project"
    DATASET = "dataset"
    JOB = "job"
    RUN = "run"
    SEARCH = "search"
    MODEL = "model"
    COMPUTE = "compute"
    VOLUME = "volume"
    SITE = "site"
    SOURCE = "source"
    CONNECTION = "connection"
    TAG = "tag"
    BRANCH = "branch"
    COMMIT = "commit"
    USER = "user"


class Match(StrEnum):
    EXACT = "exact"
    PREFIX = "prefix"
    PART = "part"


@dataclass(frozen=True, slots=True)
class FindText:
    """Every word must occur in a name; `project/name` and `name#7` narrow it down as they do on the command line."""

    words: tuple[str, ...]
    project: str | None = None
    number: int | None = None
    id_prefix: str | None = None

    @classmethod
    def parse(cls, text: str) -> FindText:
        written = text.strip().lower()
        project, slash, name = written.partition("/")
        if not slash or not project or " " in project:
            project, name = "", written
        numbered = re.fullmatch(r"(.*)#(\d{1,9})", name)
        if numbered:
            name = numbered[1]
        is_id = len(written) >= SHORTEST_ID and re.fullmatch(r"[0-9a-z]{1,64}", written) is not None
        return cls(
            words=tuple(name.split()[:MOST_WORDS]),
            project=project or None,
            number=int(numbered[2]) if numbered else None,
            id_prefix=written if is_id else None,
        )

    @property
    def is_empty(self) -> bool:
        return not (self.words or self.project or self.number is not None)

    @property
    def name(self) -> str:
        return " ".join(self.words)


@dataclass(frozen=True, slots=True)
class Found:
    noun: Noun
    id: str
    # As people write it: `train#3` for a job, the whole id for a commit.
    name: str
    match: Match
    project: str | None = None
    dataset: str | None = None
    # The state of a job or run, the message of a commit, the site of a compute or volume.
    detail: str | None = None
    at: datetime | None = None
