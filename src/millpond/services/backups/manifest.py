"""`backup.json`: what a backup is, how it was encrypted, and the digest of every part (docs/design/034)."""

from __future__ import annotations

import hmac
import json
import re
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from hashlib import sha256
from typing import Any

from millpond.errors import BadFormat, SetupError
from millpond.model.backup import Backup

FORMAT = "millpond.backup/1"
NAME = "backup.json"
ID = re.compile(r"[0-9]{8}T[0-9]{6}Z-[0-9a-f]{8}")
_FAMILY = "millpond.backup/"


@dataclass(frozen=True, slots=True)
class Part:
    """What lies under `data/NNNNNN`: so many bytes with this SHA-256."""

    size: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Manifest:
    backup: Backup
    parts: Sequence[Part]
    # How the key is made from the passphrase; None: not encrypted.
    encryption: Mapping[str, Any] | None = None
    # Of the whole document without it, by the key; None: not encrypted.
    mac: str | None = field(default=None)


def new_backup_id(now: datetime) -> str:
    """Sorts by time."""
    return f"{now:%Y%m%dT%H%M%SZ}-{secrets.token_hex(4)}"


def part_key(backup_id: str, number: int) -> str:
    return f"{backup_id}/data/{number:06d}"


def manifest_key(backup_id: str) -> str:
    return f"{backup_id}/{NAME}"


def signed(manifest: Manifest, mac_key: bytes | None) -> Manifest:
    return replace(manifest, mac=mac_of(manifest, mac_key)) if mac_key is not None else manifest


def mac_of(manifest: Manifest, mac_key: bytes) -> str:
    return hmac.new(mac_key, encode(replace(manifest, mac=None)), sha256).hexdigest()


def encode(manifest: Manifest) -> bytes:
    one = manifest.backup
    document: dict[str, Any] = {
        "format": FORMAT,
        "id": one.id,
        "created_at": one.created_at.isoformat(),
        "version": one.version,
        "revision": one.revision,
        "engine": one.engine,
        "database": one.database,
        "tables": one.tables,
        "rows": one.rows,
        "files": one.files,
        "bytes": one.bytes,
        "has_keys": one.has_keys,
        "encryption": manifest.encryption,
        "parts": [{"size": part.size, "sha256": part.sha256} for part in manifest.parts],
    }
    if manifest.mac is not None:
        document["mac"] = manifest.mac
    return json.dumps(document, indent=1, sort_keys=True).encode() + b"\n"


def decode(data: bytes) -> Manifest:
    """BadFormat for what is no backup; SetupError for one of a newer format."""
    try:
        found = json.loads(data)
        written = str(found["format"])
        if written != FORMAT and written.startswith(_FAMILY):
            raise SetupError(
                f"The backup has format {written}; this version reads {FORMAT}.", hint="Install the newer Millpond."
            )
        if written != FORMAT:
            raise BadFormat(f"{NAME} names the format {written[:100]!r}, which is not a backup's.")
        backup = Backup(
            id=str(found["id"]),
            created_at=datetime.fromisoformat(found["created_at"]),
            version=str(found["version"]),
            revision=str(found["revision"]),
            engine=str(found["engine"]),
            database=str(found["database"]),
            tables=int(found["tables"]),
            rows=int(found["rows"]),
            files=int(found["files"]),
            bytes=int(found["bytes"]),
            is_encrypted=found["encryption"] is not None,
            has_keys=bool(found["has_keys"]),
        )
        parts = [Part(int(part["size"]), str(part["sha256"])) for part in found["parts"]]
        return Manifest(backup, parts, found["encryption"], found.get("mac"))
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise BadFormat(f"{NAME} cannot be read: {error}.", hint="Choose another backup.") from error
