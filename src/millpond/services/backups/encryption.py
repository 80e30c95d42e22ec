"""Encrypting a backup's parts: AES-256-GCM, with a key made from a passphrase by scrypt."""

from __future__ import annotations

import hmac
import os
from base64 import b64decode, b64encode
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.scrypt import Scrypt

from millpond.errors import BadFormat, Corrupt, Forbidden, SetupError

# 128 * n * r bytes of memory: 32 MiB, and a tenth of a second.
_N, _R, _P = 1 << 15, 8, 1
_MOST_N, _MOST_R, _MOST_P = 1 << 20, 32, 16
_SALT_BYTES = 16
_CIPHER, _KDF = "AES-256-GCM", "scrypt"
_CHECKED = b"millpond backup passphrase"
LEAST_PASSPHRASE = 8


@dataclass(frozen=True, slots=True)
class Keys:
    """One half encrypts the parts, the other signs `backup.json`. A backup has a salt, and so keys, of its own."""

    encryption: bytes
    mac: bytes

    def encrypt(self, data: bytes, number: int, *, is_last: bool) -> bytes:
        return AESGCM(self.encryption).encrypt(_nonce(number), data, _bound(is_last=is_last))

    def decrypt(self, data: bytes, number: int, *, is_last: bool) -> bytes:
        """Corrupt for a part that was changed, or that stands in the place of another."""
        try:
            return AESGCM(self.encryption).decrypt(_nonce(number), data, _bound(is_last=is_last))
        except InvalidTag as error:
            raise Corrupt(f"Part {number} of the backup was changed.", hint="Choose another backup.") from error


def read_passphrase(path: Path) -> str:
    """The passphrase in a file, without the end of its line. SetupError for one that is missing or too short."""
    try:
        passphrase = path.read_text("utf-8").strip("\r\n")
    except (OSError, UnicodeDecodeError) as error:
        raise SetupError(f"Cannot read the passphrase file {path}: {error}.") from error
    if len(passphrase) < LEAST_PASSPHRASE:
        raise SetupError(
            f"The passphrase in {path} has fewer than {LEAST_PASSPHRASE} characters.",
            hint=f"Make one: openssl rand -base64 32 > {path}",
        )
    return passphrase


def new_encryption(passphrase: str) -> tuple[Mapping[str, Any], Keys]:
    """What `backup.json` says of the encryption, and the keys."""
    said: dict[str, Any] = {
        "cipher": _CIPHER, "kdf": _KDF, "n": _N, "r": _R, "p": _P,
        "salt": b64encode(os.urandom(_SALT_BYTES)).decode(),
    }  # fmt: skip
    keys = _derive(said, passphrase)
    return {**said, "check": _check(keys)}, keys


def keys_for(said: Mapping[str, Any], passphrase: str | None) -> Keys:
    """The keys of an encrypted backup. Forbidden for a passphrase that is missing or wrong."""
    if passphrase is None:
        raise Forbidden("The backup is encrypted.", hint="Name the file with its passphrase: --passphrase-file FILE")
    keys = _derive(said, passphrase)
    if not hmac.compare_digest(_check(keys), str(said.get("check"))):
        raise Forbidden("Wrong passphrase for this backup.", hint="Use the passphrase it was made with.")
    return keys


def _derive(said: Mapping[str, Any], passphrase: str) -> Keys:
    try:
        n, r, p, salt = int(said["n"]), int(said["r"]), int(said["p"]), b64decode(said["salt"], validate=True)
    except (KeyError, TypeError, ValueError) as error:
        raise BadFormat("The backup does not say how it was encrypted.") from error
    if said.get("cipher") != _CIPHER or said.get("kdf") != _KDF:
        raise BadFormat(
            f"The backup was encrypted with {said.get('cipher')} and {said.get('kdf')}, which are not known."
        )
    if not (1 < n <= _MOST_N and n & (n - 1) == 0 and 0 < r <= _MOST_R and 0 < p <= _MOST_P):
        raise BadFormat("The backup asks for scrypt parameters outside the allowed range.")
    made = Scrypt(salt=salt, length=64, n=n, r=r, p=p).derive(passphrase.encode())
    return Keys(made[:32], made[32:])


def _check(keys: Keys) -> str:
    return hmac.new(keys.mac, _CHECKED, sha256).hexdigest()[:32]


def _nonce(number: int) -> bytes:
    """Used once with its key: every backup has keys of its own."""
    return number.to_bytes(12, "big")


def _bound(*, is_last: bool) -> bytes:
    """The last part says so: a backup that was cut short is not taken for a whole one."""
    return b"millpond backup 1 last" if is_last else b"millpond backup 1 more"
