"""What an export says of itself, and what another side says that it has. Both come from elsewhere: checked strictly."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any

from millpond.errors import BadFormat, BadName
from millpond.lake.exports.parts import SCHEMA
from millpond.model.ids import is_digest, is_id
from millpond.model.names import check_ref_name

HAVE_SCHEMA = "millpond.have/1"


class Side(StrEnum):
    """Who reads the export: a server keeps the pages of its trees, a volume has nothing but files."""

    SERVER = "server"
    VOLUME = "volume"


@dataclass(frozen=True, slots=True)
class ExportedCommit:
    """A commit whose tree can be made of the file, and of its `base` where one is named."""

    id: str
    tree: str
    project: str
    project_id: str
    dataset: str
    dataset_id: str
    files: int
    bytes: int
    # As it was asked for; a branch, unless it was a tag or the id of a commit.
    ref: str
    branch: str | None = None
    base: str | None = None


@dataclass(frozen=True, slots=True)
class BaseCommit:
    """A commit that the other side said it has."""

    id: str
    tree: str
    project_id: str
    dataset_id: str


@dataclass(frozen=True, slots=True)
class Manifest:
    """`side` is who was said to have the bases; None where the file needs nothing beside itself."""

    lake: str
    commits: Sequence[ExportedCommit]
    bases: Sequence[BaseCommit] = ()
    side: Side | None = None

    def base_of(self, commit: ExportedCommit) -> BaseCommit | None:
        return next((base for base in self.bases if base.id == commit.base), None)


def encode_manifest(manifest: Manifest) -> bytes:
    return json.dumps({"schema": SCHEMA, **asdict(manifest)}, sort_keys=True, ensure_ascii=False).encode()


def decode_manifest(data: bytes) -> Manifest:
    """BadFormat unless every field is what it should be: ids become names of directories."""
    document = _object(data, "The manifest of the export")
    try:
        manifest = Manifest(
            lake=_text(document["lake"]),
            commits=[ExportedCommit(**one) for one in document["commits"]],
            bases=[BaseCommit(**one) for one in document["bases"]],
            side=Side(document["side"]) if document["side"] else None,
        )
        for commit in manifest.commits:
            _check_commit(commit)
        for base in manifest.bases:
            _check(is_digest(base.id), is_digest(base.tree), is_id(base.project_id), is_id(base.dataset_id))
        _check(
            document["schema"] == SCHEMA,
            bool(manifest.commits),
            all(one.base is None or manifest.base_of(one) for one in manifest.commits),
        )
    except (KeyError, TypeError, ValueError, AttributeError, BadName) as error:
        raise BadFormat("The manifest of the export does not have the right shape.") from error
    return manifest


@dataclass(frozen=True, slots=True)
class Have:
    """The commits that a server or a volume holds, by the ids of their datasets; for a server, where they came from."""

    side: Side
    commits: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def of(self, dataset_id: str) -> set[str]:
        """Those of one dataset. At a server the dataset that they were imported into has another id."""
        if self.side is Side.SERVER:
            return {commit for commits in self.commits.values() for commit in commits}
        return set(self.commits.get(dataset_id, ()))


def encode_have(have: Have) -> bytes:
    document = {"schema": HAVE_SCHEMA, "side": have.side, "commits": have.commits}
    return json.dumps(document, indent=1, sort_keys=True).encode() + b"\n"


def decode_have(data: bytes, name: str) -> Have:
    document = _object(data, name)
    schema = document.get("schema")
    if schema != HAVE_SCHEMA:
        raise BadFormat(
            f"{name} is not a list of commits that a site has (its schema is {schema!r}).",
            hint="Make one at the other site: mill data have DATASET --output FILE",
        )
    try:
        have = Have(Side(document["side"]), document["commits"])
        _check(*(is_digest(commit) for commits in have.commits.values() for commit in commits))
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise BadFormat(f"{name} does not have the right shape.") from error
    return have


def _check_commit(commit: ExportedCommit) -> None:
    _check(is_digest(commit.id), is_digest(commit.tree), is_id(commit.project_id), is_id(commit.dataset_id))
    _check(all(type(count) is int and count >= 0 for count in (commit.files, commit.bytes)))
    _text(commit.ref), _text(commit.project), _text(commit.dataset)
    if commit.branch is not None:
        check_ref_name(commit.branch)


def _check(*facts: bool | object) -> None:
    if not all(facts):
        raise ValueError


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def _object(data: bytes, what: str) -> dict[str, Any]:
    try:
        document = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise BadFormat(f"{what} is not JSON.") from error
    if not isinstance(document, dict):
        raise BadFormat(f"{what} does not have the right shape.")
    return document
