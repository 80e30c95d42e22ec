"""Sends a backup elsewhere: a tar of its files as they lie in its place. Only an encrypted one leaves this way."""

from __future__ import annotations

import tarfile
from collections.abc import Iterator
from dataclasses import dataclass

from millpond.blobs.store import BlobStore
from millpond.errors import Forbidden
from millpond.model.backup import Backup
from millpond.model.people import Actor
from millpond.services.backups.manifest import ID, encode, manifest_key, part_key
from millpond.services.backups.reading import load_manifest
from millpond.services.backups.schedule import place_of
from millpond.services.deps import Deps
from millpond.services.people import audit


@dataclass(frozen=True, slots=True)
class Download:
    backup: Backup
    pieces: Iterator[bytes]


def open_download(deps: Deps, actor: Actor, backup_id: str) -> Download:
    """Forbidden for a backup that is not encrypted: it holds the keys of this server."""
    store = place_of(deps).store
    manifest = load_manifest(store, backup_id)
    if manifest.encryption is None or not ID.fullmatch(backup_id):
        raise Forbidden(
            "The backup is not encrypted and holds the keys of this server.",
            hint="Copy it on the server's machine, or start the server with --backup-passphrase-file.",
        )
    with deps.db.write() as tx:
        audit.record(tx, now=deps.clock.now(), actor=actor, action="backup.download", subject=backup_id)
    keys = [part_key(backup_id, number) for number in range(len(manifest.parts))]
    return Download(manifest.backup, _pieces(store, keys, manifest_key(backup_id), encode(manifest)))


def _pieces(store: BlobStore, keys: list[str], last: str, manifest: bytes) -> Iterator[bytes]:
    """`backup.json` comes last: what broke off is no backup."""
    for key in keys:
        yield from _member(key, store.get(key))
    yield from _member(last, manifest)
    yield bytes(2 * tarfile.BLOCKSIZE)


def _member(name: str, data: bytes) -> Iterator[bytes]:
    info = tarfile.TarInfo(name)
    info.size, info.mode = len(data), 0o600
    yield info.tobuf(tarfile.USTAR_FORMAT)
    yield data
    yield bytes(-len(data) % tarfile.BLOCKSIZE)
