"""Files between a directory of this machine and a bucket, through a connection of the project: what a move does, here.

The connection that covers the bucket has its credentials; nothing is set up on this machine. Bytes are verified, only
what differs is copied, and what somebody else has changed on the other side is left as it is and told.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

from millpond.client.connections import connection_for
from millpond.client.credentials import resolve_target
from millpond.client.http import Api
from millpond.dataops import common
from millpond.dataops.errors import APIConnectionError, DataOpsError, told_as
from millpond.mover.bucket import Bucket, MoveFailed, Server
from millpond.mover.moving import Move
from millpond.mover.plan import There


class ChosenObjects(Bucket):
    """The objects of a bucket whose keys, behind the prefix, begin so."""

    def __init__(self, server: Server, root: str, begin: str = "") -> None:
        super().__init__(server, root)
        self._begin = begin

    def objects(self) -> Iterator[tuple[str, There]]:
        return ((key, there) for key, there in super().objects() if key.startswith(self._begin))


def pull_bucket_from_s3(
    s3_bucket: str, local_directory: str, s3_object_key_prefix: str = "", print_output: bool = False
) -> None:
    """Copy the objects whose keys begin so into the directory, each at its whole key."""
    folder, begin = _split(s3_object_key_prefix)
    target = Path(local_directory).expanduser() / folder
    target.mkdir(parents=True, exist_ok=True)
    _moved(_bucket(s3_bucket, folder, begin), target, outwards=False, print_output=print_output)
    common.say(print_output, "Download complete.")


def pull_object_from_s3(
    s3_bucket: str, s3_object_key: str, local_file: str | None = None, print_output: bool = False
) -> None:
    """Copy one object into a file, in the place of what is there."""
    target = Path(local_file or s3_object_key).expanduser()
    folder, name = _split(s3_object_key)
    bucket = _bucket(s3_bucket, folder, name)
    common.say(print_output, f"Downloading object {s3_object_key!r} from bucket {s3_bucket!r} to {target}.")
    try:
        there = _there(bucket, name)
        if there is None:
            raise APIConnectionError(f"There is no object {s3_object_key!r} in bucket {s3_bucket!r}.")
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=target.parent, prefix=".mill-pull-") as beside:
            came = Path(beside, "object")
            bucket.fetch(name, there, came)
            came.replace(target)
    except MoveFailed as error:
        raise APIConnectionError(str(error)) from error
    common.say(print_output, "Download complete.")


def push_directory_to_s3(
    s3_bucket: str, local_directory: str, s3_object_key_prefix: str = "", s3_extra_args: str | None = None,
    print_output: bool = False,
) -> None:  # fmt: skip
    """Copy what differs in the directory to the bucket; keys are paths below the prefix."""
    common.tell_ignored(print_output, {"s3_extra_args": s3_extra_args})
    source = Path(local_directory).expanduser()
    if not source.is_dir():
        raise DataOpsError(f"There is no directory {source}.")
    _moved(
        _bucket(s3_bucket, s3_object_key_prefix.strip("/")), source, outwards=True, print_output=print_output
    )  # fmt: skip
    common.say(print_output, "Upload complete.")


def push_file_to_s3(
    s3_bucket: str, local_file: str, s3_object_key: str | None = None, s3_extra_args: str | None = None,
    print_output: bool = False,
) -> None:  # fmt: skip
    """Copy one file to the bucket, in the place of the object that is there."""
    common.tell_ignored(print_output, {"s3_extra_args": s3_extra_args})
    source = Path(local_file).expanduser()
    if not source.is_file():
        raise DataOpsError(f"There is no file {source}.")
    key = (s3_object_key or local_file).lstrip("/")
    folder, name = _split(key)
    bucket = _bucket(s3_bucket, folder, name)
    common.say(print_output, f"Uploading file {source} to bucket {s3_bucket!r} as {key!r}.")
    try:
        there = _there(bucket, name)
        bucket.put(name, source, there.etag if there else None)
    except MoveFailed as error:
        raise APIConnectionError(str(error)) from error
    common.say(print_output, "Upload complete.")


def _bucket(name: str, folder: str, begin: str = "") -> ChosenObjects:
    """The objects below this folder of the bucket. InvalidConfig where no connection of the project covers it."""
    target = resolve_target(None, None)
    root = f"s3://{name}/{folder}/" if folder else f"s3://{name}/"
    with told_as(APIConnectionError), Api(target.server, target.token) as api:
        connection = connection_for(api, target.project, root)
    return ChosenObjects(Server(target.server, target.token or "", target.project, connection), root, begin)


def _moved(bucket: Bucket, directory: Path, *, outwards: bool, print_output: bool) -> None:
    move = Move(bucket, directory, outwards=outwards, tell=lambda line: common.say(print_output, line))
    try:
        found = move.run()
    except MoveFailed as error:
        raise APIConnectionError(str(error)) from error
    common.say(print_output, f"{found.copied} files copied, {found.unchanged} unchanged.")
    if left := [*found.conflicts, *found.failed, *found.skipped]:
        named = ", ".join(f"{path} ({why})" for path, why in left[:5])
        count = found.conflict_count + found.failed_count + found.skipped_count
        raise APIConnectionError(f"{count} files were left as they are: {named}.")


def _there(bucket: Bucket, name: str) -> There | None:
    return next((there for key, there in bucket.objects() if key == name), None)


def _split(key: str) -> tuple[str, str]:
    """The folder of a key and what is behind it."""
    folder, _, name = key.lstrip("/").rpartition("/")
    return folder, name
