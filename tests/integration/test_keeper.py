"""The keeper alone, started as engines start it: one file, and nothing of Millpond is needed to run it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from millpond.agent.archives import KEEPER, archives
from millpond.agent.keeper.clock import boot_id, boot_time
from millpond.agent.keeper.files import read_json
from millpond.agent.keeper.processes import is_running, marked
from millpond.agent.spec import answer_clock, read_spec, renew
from millpond.testing.agents import a_spec
from millpond.testing.waiting import wait_until

# Keepers are told apart by placement, and these tests use the same names: one worker runs them.
pytestmark = pytest.mark.xdist_group("keepers")


class Kept:
    """A placement directory and the keeper started in it."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.program = directory.parent / KEEPER
        self.program.write_bytes(archives()[KEEPER])
        self.started: list[subprocess.Popen[bytes]] = []

    def start(
        self,
        *command: str,
        directory: str | None = None,
        grace: float = 5,
        log_bytes: int = 0,
        timeout: float = 0,
        epoch: tuple[float, str] | None = None,
    ) -> subprocess.Popen[bytes]:
        if read_spec(self.directory) is None:
            env = {"PATH": os.environ["PATH"], "MILL_PLACEMENT": self.directory.name}
            spec = a_spec(
                command,
                placement=self.directory.name,
                env=env,
                directory=directory or str(self.directory),
                valid_seconds=600,
                grace_seconds=grace,
                timeout_seconds=timeout,
                log_bytes=log_bytes,
                epoch=epoch,
            )
            spec.write(self.directory)
            renew(self.directory, boot_time())
        process = subprocess.Popen(
            [sys.executable, "-I", "-S", str(self.program), str(self.directory)], env={}, cwd="/"
        )
        self.started.append(process)
        return process

    def exit(self) -> dict[str, Any]:
        wait_until((self.directory / "exit.json").exists, what="exit.json")
        return dict(json.loads((self.directory / "exit.json").read_text()))

    def log(self) -> bytes:
        path = self.directory / "log"
        return path.read_bytes() if path.exists() else b""


@pytest.fixture
def kept(tmp_path: Path) -> Iterator[Kept]:
    directory = tmp_path / f"placement-{os.getpid()}"
    directory.mkdir()
    found = Kept(directory)
    yield found
    (directory / "stop").touch()
    for process in found.started:
        process.wait(timeout=60)
    assert marked(directory.name) == []


def test_of_two_keepers_one_leaves(kept: Kept) -> None:
    first, second = kept.start("sh", "-c", "echo once; sleep 0.3"), kept.start()
    assert (first.wait(timeout=60), second.wait(timeout=60)) == (0, 0)
    assert kept.log() == b"once\n"


def test_it_knows_its_command_by_more_than_a_number(kept: Kept) -> None:
    process = kept.start("sleep", "600")
    running = wait_until(lambda: read_json(str(kept.directory / "keeper.json")))
    claim = read_json(str(kept.directory / "claim"))
    assert (running["keeper"]["pid"], claim["guard"]["pid"]) == (claim["pid"], process.pid)
    assert is_running(running["command"]) and is_running(running["keeper"])
    assert not is_running({**running["command"], "start": running["command"]["start"] + 1})
    assert not is_running({**running["command"], "boot": "another"})


def test_hangup_and_interrupt_do_not_reach_the_job(kept: Kept) -> None:
    process = kept.start("sh", "-c", "trap 'echo hangup' HUP; echo ready; while ! test -e go; do sleep 0.02; done")
    wait_until(lambda: kept.log() == b"ready\n")
    process.send_signal(signal.SIGHUP)
    process.send_signal(signal.SIGINT)
    (kept.directory / "go").touch()
    assert kept.exit()["exit_code"] == 0
    assert kept.log() == b"ready\n"


def test_told_to_end_it_ends_the_command_first(kept: Kept) -> None:
    process = kept.start("sleep", "600")
    wait_until((kept.directory / "keeper.json").exists)
    process.send_signal(signal.SIGTERM)
    found = kept.exit()
    assert (found["signal"], found["reason"]) == (signal.SIGTERM, "terminated")


def test_a_command_that_runs_longer_than_it_may_is_ended(kept: Kept) -> None:
    kept.start("sleep", "600", timeout=0.2)
    found = kept.exit()
    assert (found["signal"], found["reason"]) == (signal.SIGTERM, "timeout")


def the_keeper(kept: Kept) -> int:
    running = wait_until(lambda: read_json(str(kept.directory / "keeper.json")))
    return int(running["keeper"]["pid"])


def test_a_keeper_that_cannot_act_is_not_needed_to_end_the_command(kept: Kept) -> None:
    kept.start("sh", "-c", "trap 'touch heard; exit 0' TERM; while :; do sleep 0.02; done", timeout=1)
    keeper = the_keeper(kept)
    os.kill(keeper, signal.SIGSTOP)
    try:
        wait_until((kept.directory / "heard").exists, what="SIGTERM by the guard")
    finally:
        os.kill(keeper, signal.SIGCONT)
    found = kept.exit()
    assert (found["exit_code"], found["reason"]) == (0, "timeout")


def test_told_to_end_the_guard_does_so_without_its_keeper(kept: Kept) -> None:
    process = kept.start("sh", "-c", "trap 'touch heard; exit 0' TERM; while :; do sleep 0.02; done")
    keeper = the_keeper(kept)
    os.kill(keeper, signal.SIGSTOP)
    process.send_signal(signal.SIGTERM)
    try:
        wait_until((kept.directory / "heard").exists, what="SIGTERM by the guard")
    finally:
        os.kill(keeper, signal.SIGCONT)
    assert kept.exit()["reason"] == "terminated"


def test_without_its_guard_a_keeper_ends_the_command_at_once(kept: Kept) -> None:
    process = kept.start("sh", "-c", "trap '' TERM; while :; do sleep 0.02; done", grace=600)
    the_keeper(kept)
    process.kill()
    found = kept.exit()
    assert (found["signal"], found["reason"]) == (signal.SIGKILL, "terminated")


def test_the_guard_leaves_as_its_keeper_did(kept: Kept) -> None:
    process = kept.start("sleep", "600")
    os.kill(the_keeper(kept), signal.SIGKILL)
    assert process.wait(timeout=60) == 128 + signal.SIGKILL


def test_a_stopped_command_hears_of_its_end(kept: Kept) -> None:
    kept.start("sh", "-c", "trap 'echo bye; exit 3' TERM; echo ready; while :; do sleep 0.02; done")
    wait_until(lambda: kept.log() == b"ready\n")
    running = wait_until(lambda: read_json(str(kept.directory / "keeper.json")))
    os.kill(running["command"]["pid"], signal.SIGSTOP)
    (kept.directory / "stop").touch()
    assert kept.exit()["exit_code"] == 3
    assert kept.log().endswith(b"bye\n")


def test_a_command_that_keeps_forking_is_ended(kept: Kept) -> None:
    kept.start(
        "sh", "-c", "trap '' TERM; while :; do (trap '' TERM; sleep 0.05; sleep 600) & sleep 0.05; done", grace=0.3
    )
    wait_until(lambda: len(marked(kept.directory.name)) > 5)
    (kept.directory / "stop").touch()
    assert kept.exit()["signal"] == signal.SIGKILL
    assert marked(kept.directory.name) == []


def test_a_working_directory_that_is_not_there(kept: Kept) -> None:
    kept.start("true", directory="/no/such/directory")
    found = kept.exit()
    assert found["exit_code"] == 126
    assert found["problem"] == "Cannot enter the working directory: No such file or directory."


def test_input_is_empty_and_nothing_is_inherited(kept: Kept) -> None:
    before = signal.signal(signal.SIGQUIT, signal.SIG_IGN)  # as a shell does for what it starts with `&`
    try:
        kept.start("sh", "-c", "cat; ls /proc/self/fd | wc -l; cat /proc/$$/status | grep -E '^(SigBlk|SigIgn)'")
        kept.exit()
    finally:
        signal.signal(signal.SIGQUIT, before)
    lines = kept.log().decode().splitlines()
    # 0, 1, 2 and the directory that ls itself has open.
    assert lines[0].strip() == "4"
    # 32 and 33 are the C library's own; whoever started us may have left them as they are.
    own = 0b11 << 31
    assert [int(line.split()[1], 16) & ~own for line in lines[1:]] == [0, 0]


def test_a_script_that_opens_its_output_by_name_loses_nothing_of_the_log(kept: Kept) -> None:
    kept.start("sh", "-c", "echo one; echo two > /dev/stdout; echo three > /dev/stderr; echo four | tee /dev/stderr")
    assert kept.exit()["exit_code"] == 0
    assert kept.log() == b"one\ntwo\nthree\nfour\nfour\n"


def test_what_was_written_last_is_in_the_log(kept: Kept) -> None:
    kept.start("sh", "-c", "head -c 3000000 /dev/zero | tr '\\0' x; kill -9 $$")
    assert kept.exit()["signal"] == signal.SIGKILL
    assert kept.log() == b"x" * 3_000_000


def test_it_is_small(kept: Kept) -> None:
    process = kept.start("sleep", "600")
    wait_until(lambda: (kept.directory / "usage.jsonl").exists())
    status = Path(f"/proc/{process.pid}/smaps_rollup").read_text()
    private = sum(int(line.split()[1]) for line in status.splitlines() if line.startswith("Private_"))
    assert private < 10_000, "kilobytes of its own"


def test_usage_adds_up_over_children_that_came_and_went(kept: Kept) -> None:
    write = "dd if=/dev/zero of=f bs=100k count=10 conv=fsync 2>/dev/null"
    script = f"for i in 1 2 3 4 5 6; do {write}; sleep 0.1; done; sleep 600"
    kept.start("sh", "-c", script)
    samples = kept.directory / "usage.jsonl"
    wait_until(lambda: samples.exists() and samples.read_text().count("\n") >= 2)
    found = [json.loads(line) for line in samples.read_text().splitlines()]
    assert found[-1]["write_bytes"] >= found[0]["write_bytes"]
    assert found[-1]["memory_bytes"] > 0


def test_what_happens_is_dated_by_the_servers_clock(kept: Kept) -> None:
    ahead = 3600.0
    kept.start("sleep", "600", epoch=(time.time() - boot_time() + ahead, boot_id()))
    samples = kept.directory / "usage.jsonl"
    wait_until(lambda: samples.exists() and samples.read_text().endswith("\n"))
    (kept.directory / "stop").touch()
    ended, sample = kept.exit(), json.loads(samples.read_text().splitlines()[0])
    assert time.time() + ahead - 120 < ended["started_at"] < sample["at"] < ended["exited_at"] < time.time() + ahead + 1


ELSEWHERE = """
import sys

sys.path.append({keeper!r})
from keeper import clock

here = clock.boot_time
clock.boot_time = lambda: here() + 1e6
clock.boot_id = lambda: "another"
from keeper.keeper import main

main()
"""


def on_another_machine(kept: Kept, tmp_path: Path) -> Path:
    """A keeper whose machine started at another time, and says so."""
    program = tmp_path / "elsewhere.py"
    program.write_text(ELSEWHERE.format(keeper=str(kept.program)))
    return program


def test_on_another_machine_it_begins_when_validity_is_told_by_its_own_clock(kept: Kept, tmp_path: Path) -> None:
    kept.program = on_another_machine(kept, tmp_path)
    kept.start("sh", "-c", "echo begun; exec sleep 600")
    shown = wait_until(lambda: (kept.directory / "clock").exists() and (kept.directory / "clock").read_text())
    assert shown.endswith(" another")
    assert kept.log() == b""
    answer_clock(kept.directory)
    wait_until(lambda: kept.log() == b"begun\n")
    moment, boot = (kept.directory / "renewal").read_text().split()
    assert boot == "another"
    # Never later than the truth; earlier by what the clock's word took on its way.
    assert 1e6 - 60 < float(moment) - boot_time() <= 1e6


def test_on_another_machine_it_ends_when_validity_ends(kept: Kept, tmp_path: Path) -> None:
    kept.program = on_another_machine(kept, tmp_path)
    kept.start("sleep", "600")
    wait_until((kept.directory / "clock").exists)
    answer_clock(kept.directory)
    wait_until((kept.directory / "keeper.json").exists)
    renew(kept.directory, boot_time() - 601)
    assert kept.exit()["reason"] == "expired"


def test_on_another_machine_one_that_nobody_answers_can_be_stopped(kept: Kept, tmp_path: Path) -> None:
    kept.program = on_another_machine(kept, tmp_path)
    kept.start("touch", "here")
    wait_until((kept.directory / "clock").exists)
    (kept.directory / "stop").touch()
    assert kept.exit()["reason"] == "not_started"
    assert not (kept.directory / "here").exists()


def test_what_init_lines_left_is_the_environment_of_the_command(kept: Kept) -> None:
    (kept.directory / "environment").write_bytes(b"PATH=/usr/bin:/bin\0SAID=two\nlines\0")
    kept.start("sh", "-c", 'echo "$SAID $MILL_PLACEMENT"')
    assert kept.exit()["exit_code"] == 0
    assert kept.log() == f"two\nlines {kept.directory.name}\n".encode()


WRITES_MUCH = """
i=0
while [ $i -lt 300 ]; do printf '%08d%08000d\\n' $i 0; i=$((i+1)); done
while [ ! -e go ]; do sleep 0.05; done
"""


def test_of_a_long_log_beginning_and_end_stay_on_the_disk(kept: Kept) -> None:
    kept.start("sh", "-c", WRITES_MUCH, log_bytes=256 << 10)
    size = 300 * 8009

    def gap() -> tuple[int, int]:
        file = kept.directory / "log.gap"
        begin, end = file.read_text().split() if file.exists() else ("0", "0")
        return int(begin), int(end)

    wait_until(lambda: len(kept.log()) == size and gap()[1] > size - (160 << 10), what="the middle to be let go")
    begin, end = gap()
    assert begin == 128 << 10
    assert size - end >= 128 << 10
    wait_until(lambda: (kept.directory / "log").stat().st_blocks * 512 < 400 << 10, what="room on the disk")
    (kept.directory / "go").touch()
    assert kept.exit()["exit_code"] == 0
    log = kept.log()
    assert len(log) == size
    assert set(log[132 << 10 : end]) == {0}
    assert log[end:].endswith(b"00000299" + b"0" * 8000 + b"\n")
