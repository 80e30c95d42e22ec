from __future__ import annotations

import stat
from pathlib import Path

import pytest

from millpond.errors import SetupError, Unavailable
from millpond.sealing import Seal


def test_what_is_sealed_opens_with_the_same_key_for_the_same_purpose(tmp_path: Path) -> None:
    key = tmp_path / "secret.key"
    sealed = Seal.from_file(key, make=True).seal("hush", "connection 1")
    assert b"hush" not in sealed
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    again = Seal.from_file(key, make=True)
    assert again.open(sealed, "connection 1") == "hush"
    assert again.seal("hush", "connection 1") != sealed
    with pytest.raises(Unavailable, match="damaged"):
        again.open(sealed, "connection 2")
    with pytest.raises(Unavailable, match="damaged"):
        again.open(sealed[:-1] + bytes([sealed[-1] ^ 1]), "connection 1")
    with pytest.raises(Unavailable, match="another key"):
        Seal.throwaway().open(sealed, "connection 1")


def test_a_key_file_that_was_named_must_be_there_and_good(tmp_path: Path) -> None:
    with pytest.raises(SetupError, match="Cannot read"):
        Seal.from_file(tmp_path / "typo.key", make=False)
    short = tmp_path / "short.key"
    short.write_text("aGVsbG8=\n")
    short.chmod(0o600)
    with pytest.raises(SetupError, match="32 bytes"):
        Seal.from_file(short, make=False)
    good = tmp_path / "good.key"
    Seal.from_file(good, make=True)
    good.chmod(0o644)
    with pytest.raises(SetupError, match="Other users can read"):
        Seal.from_file(good, make=False)
