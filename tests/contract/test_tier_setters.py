"""The built-in setter of tiers, a program of the administrator's, against the contract."""

from __future__ import annotations

from pathlib import Path

import pytest

from millpond.errors import BadRequest, Invalid
from millpond.services.places.tier_setters import TierFailed, TierSetter, open_setter
from millpond.testing.tier_setters import ASKED, TierSetterContract


def program(directory: Path, script: str, name: str = "array") -> TierSetter:
    directory.mkdir(exist_ok=True)
    (directory / name).write_text(f"#!/bin/sh\n{script}\n")
    (directory / name).chmod(0o755)
    return open_setter(f"command:{name}", directory)


class TestCommandTierSetter(TierSetterContract):
    @pytest.fixture
    def setter(self, tmp_path: Path) -> TierSetter:
        return program(tmp_path, 'echo "$MILL_TIER $MILL_BYTES_PER_SECOND" >> set; echo "$MILL_BYTES_PER_SECOND"')

    @pytest.fixture
    def broken(self, tmp_path: Path) -> TierSetter:
        return program(tmp_path, "echo 'the array is away' >&2; exit 3")


def test_the_program_is_told_all_of_it(tmp_path: Path) -> None:
    names = ["VOLUME", "SITE", "PATH", "TIER", "TIER_THROUGHPUT", "BYTES_PER_SECOND", "CAPACITY_BYTES"]
    told = " ".join(f"$MILL_{name}" for name in names)
    program(tmp_path, f'echo "{told}" > told').set_tier(ASKED)
    assert (tmp_path / "told").read_text() == "nfs lab /mnt/nfs premium 4 400000000 1000000000000\n"


@pytest.mark.parametrize(
    ("script", "words"),
    [("exit 1", "exit code 1: no message"), ("echo fast", "answered 'fast'"), ("echo no >&2; exit 9", "code 9: no")],
)
def test_what_the_program_does_wrong_is_told(tmp_path: Path, script: str, words: str) -> None:
    with pytest.raises(TierFailed, match=words):
        program(tmp_path, script).set_tier(ASKED)


def test_a_setter_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Invalid, match="no executable 'away'"):
        open_setter("command:away", tmp_path)
    with pytest.raises(BadRequest, match="no plug-in 'cloud'") as refused:
        open_setter("cloud:pool", tmp_path)
    assert "command" in (refused.value.hint or "")
