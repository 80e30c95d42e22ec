"""A child process is started again when it ends, and ended when asked."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import pytest

from millpond.loops import child as child_module
from millpond.loops.child import Child
from millpond.testing.waiting import wait_until

SLEEP = [sys.executable, "-c", "import time; time.sleep(600)"]


def is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_started_again_when_it_dies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(child_module, "_FIRST_WAIT", 0.01)
    child = Child(SLEEP, log=tmp_path / "log")
    child.start()
    first = wait_until(lambda: child.pid)
    os.kill(first, signal.SIGKILL)
    second = wait_until(lambda: child.pid if child.pid != first else None)
    child.stop()
    assert not is_running(second) and child.pid is None


def test_output_goes_to_the_log(tmp_path: Path) -> None:
    log = tmp_path / "logs" / "log"
    child = Child([sys.executable, "-c", "print('hello'); import sys; sys.exit('goodbye')"], log=log)
    child.start()
    wait_until(lambda: log.exists() and "goodbye" in log.read_text())
    child.stop()
    assert log.read_text().startswith(("hello", "goodbye"))


def test_one_that_does_not_listen_is_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(child_module, "_STOP_SECONDS", 0.2)
    ready = tmp_path / "ready"
    code = f"""
import pathlib, signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
pathlib.Path({str(ready)!r}).touch()
time.sleep(600)
"""
    child = Child([sys.executable, "-c", code], log=tmp_path / "log")
    child.start()
    wait_until(ready.exists)
    pid = child.pid
    assert pid is not None
    child.stop()
    wait_until(lambda: not is_running(pid))


def test_a_command_that_does_not_exist(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    child = Child([str(tmp_path / "nothing"), "a", "b"], log=tmp_path / "log")
    child.start()
    wait_until(lambda: "child_ended" in caplog.text)
    child.stop()
