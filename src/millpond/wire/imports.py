"""Connections, imports and sources: what lies outside the lake, and how it comes into datasets."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, PlainSerializer, SecretStr

from millpond.wire.base import Change, Request, Response, Time
from millpond.wire.data import Commit

_SECRET = 20_000
# Stars wherever it is printed; itself only where a client sends it.
Secret = Annotated[SecretStr, PlainSerializer(SecretStr.get_secret_value, return_type=str, when_used="json")]


class Credentials(Request):
    """What opens a place. S3: `key_id` and `secret`; Google Cloud Storage: `service_account`, the text of its key
    file; https: `user` and `password`, or `bearer`. Never sent back."""

    key_id: str | None = Field(default=None, max_length=500)
    secret: Secret | None = Field(default=None, max_length=_SECRET)
    session_token: Secret | None = Field(default=None, max_length=_SECRET)
    service_account: Secret | None = Field(default=None, max_length=_SECRET)
    user: str | None = Field(default=None, max_length=500)
    password: Secret | None = Field(default=None, max_length=_SECRET)
    bearer: Secret | None = Field(default=None, max_length=_SECRET)


class ConnectionCreate(Request):
    name: str
    url: str = Field(description="s3://bucket/prefix, gs://bucket/prefix or https://host/path.", max_length=4000)
    # Of S3 only; Amazon's own without an endpoint.
    endpoint: str | None = Field(default=None, max_length=1000)
    region: str | None = None
    credentials: Credentials | None = None
    # Members may also put objects there, by moves and mirrors; s3:// only.
    writable: bool = False


class ConnectionChange(Change):
    """What is left out stays. New credentials in place of the old ones; null: from now on without any."""

    credentials: Credentials | None = None
    writable: bool = False


class ObjectUrls(Request):
    """Sign a request for each of these objects. `PUT` and `DELETE` need a connection that is writable."""

    method: Literal["GET", "PUT", "DELETE"] = "GET"
    uris: list[Annotated[str, Field(max_length=4000)]] = Field(max_length=1000)


class SignedUrls(Response):
    """In the order of the objects. Each works for an hour, without credentials."""

    urls: list[str]


class Connection(Response):
    """A place that a project may import from. Of its credentials only that there are some is shown."""

    id: str
    project: str
    name: str
    kind: str = Field(description="s3, gs, https, or the scheme of a plug-in's places.")
    url: str
    endpoint: str | None
    region: str | None
    has_credentials: bool
    created_at: Time
    created_by: str
    writable: bool = False


class ConnectionTest(Response):
    """`objects` are the first few that were found; `problem` says why nothing could be read."""

    works: bool
    objects: list[str] = []
    problem: str | None = None
    hint: str | None = None


class Import(Request):
    """Register what lies at a place. The objects stay where they are; no byte is copied."""

    connection: str
    uri: str = Field(max_length=4000, description="An object, a prefix, or with `listing` a text that names files.")
    listing: bool = False
    # The directory of the dataset they go to; empty for its root.
    path: str = Field(default="", max_length=20_000)
    branch: str = "main"
    message: str = ""


class Skipped(Response):
    """An object that did not come along, and why."""

    uri: str
    reason: str


class Imported(Response):
    """What an import did. `commit` is what the branch is at now; none if it is still empty."""

    commit: Commit | None
    added: int
    changed: int
    removed: int
    unchanged: int
    bytes: int
    skipped_count: int = 0
    skipped: list[Skipped] = []


class SourceCreate(Request):
    """What a place holds is brought into a dataset now and again every so often, only differences each time."""

    name: str | None = None
    dataset: str
    connection: str
    uri: str = Field(max_length=4000)
    listing: bool = False
    path: str = Field(default="", max_length=20_000)
    branch: str = "main"
    # Into the lake; otherwise objects are registered and stay where they are.
    copies: bool = False
    every_seconds: int = Field(default=3600, ge=60, le=31 * 86_400)


class SourceChange(Request):
    """What is null stays. Who resumes a source is the one in whose name it commits from then on."""

    paused: bool | None = None
    every_seconds: int | None = Field(default=None, ge=60, le=31 * 86_400)


class SourceResult(Response):
    """What the last run that succeeded did; `commit_id` only if something had changed."""

    commit_id: str | None
    added: int
    changed: int
    removed: int
    unchanged: int
    bytes: int
    skipped_count: int = 0
    skipped: list[Skipped] = []


class Source(Response):
    id: str
    project: str
    name: str
    dataset: str
    connection: str
    uri: str
    listing: bool
    path: str
    branch: str
    copies: bool
    every_seconds: int
    # In whose name it commits; none if that user is gone.
    user: str | None
    state: Literal["running", "waiting", "failing", "paused"]
    created_at: Time
    started_at: Time | None
    ended_at: Time | None
    # None while it is paused.
    next_at: Time | None
    result: SourceResult | None
    problem: str | None
    failures: int
