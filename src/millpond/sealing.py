"""Sealing secrets that must be kept: AES-GCM with a key that lies in a file, never in the database."""

from __future__ import annotations

import os
from base64 import b64decode, b64encode
from hashlib import sha256
from pathlib import Path

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from millpond.errors import SetupError, Unavailable

_KEY_BYTES = 32
_NONCE_BYTES = 12
_MARK_BYTES = 4


class Seal:
    """Seals text so that it can be opened only with this key, and only for what it was sealed for."""

    def __init__(self, key: bytes) -> None:
        self._cipher = AESGCM(key)
        # Tells a lost key from damage; says nothing about the key.
        self._mark = sha256(b"millpond seal\0" + key).digest()[:_MARK_BYTES]

    @property
    def mark(self) -> str:
        """Equal for equal keys; says nothing about them."""
        return self._mark.hex()

    @classmethod
    def throwaway(cls) -> Seal:
        """A key that ends with the process."""
        return cls(os.urandom(_KEY_BYTES))

    @classmethod
    def from_file(cls, path: Path, *, make: bool) -> Seal:
        """The key in `path`; with `make` one is made (0600) when there is none. SetupError for what cannot be used."""
        if not make:
            return cls(_read(path))
        try:
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except FileExistsError:
            return cls(_read(path))
        except OSError as error:
            raise SetupError(f"Cannot create the key file {path}: {error.strerror}.") from error
        key = os.urandom(_KEY_BYTES)
        with os.fdopen(descriptor, "wb") as file:
            file.write(b64encode(key) + b"\n")
            file.flush()
            os.fsync(file.fileno())
        return cls(key)

    def seal(self, text: str, purpose: str) -> bytes:
        """`purpose` names the row: what is sealed for one cannot be opened for another."""
        nonce = os.urandom(_NONCE_BYTES)
        return self._mark + nonce + self._cipher.encrypt(nonce, text.encode(), purpose.encode())

    def open(self, sealed: bytes, purpose: str) -> str:
        """Unavailable if it was sealed with another key, or for something else."""
        mark, nonce = sealed[:_MARK_BYTES], sealed[_MARK_BYTES : _MARK_BYTES + _NONCE_BYTES]
        hint = "Restore the server's key file (MILL_SECRET_KEY_FILE), or enter the credentials again."
        if mark != self._mark:
            raise Unavailable("The credentials were encrypted with another key than this server's.", hint=hint)
        try:
            return self._cipher.decrypt(nonce, sealed[_MARK_BYTES + _NONCE_BYTES :], purpose.encode()).decode()
        except (InvalidTag, ValueError) as error:
            raise Unavailable("The encrypted credentials are damaged.", hint=hint) from error


def _read(path: Path) -> bytes:
    try:
        if path.stat().st_mode & 0o007:
            raise SetupError(f"Other users can read the key file {path}.", hint=f"Run: chmod 600 {path}")
        key = b64decode(path.read_bytes(), validate=False)
    except (OSError, ValueError) as error:
        raise SetupError(f"Cannot read the key file {path}: {error}.") from error
    if len(key) != _KEY_BYTES:
        raise SetupError(f"The key file {path} does not hold a key of {_KEY_BYTES} bytes in base64.")
    return key
