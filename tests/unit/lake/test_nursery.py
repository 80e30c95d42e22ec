"""Workers are copies of one process, end when they are told to whatever they are doing, and end with their orders."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

import psutil
import pytest

from millpond.lake import writer_process
from millpond.lake.nursery import Nursery
from millpond.lake.worker import Worker
from tests.workers import nurseries, workers

PROGRAM = writer_process.__name__
SECONDS = 60


@pytest.fixture
def nursery() -> Iterator[Nursery]:
    with closing(Nursery()) as made:
        yield made


def begin(nursery: Nursery, target: Path) -> tuple[Worker, psutil.Process]:
    """A worker that has begun, and its process."""
    before = workers()
    worker = nursery.start(PROGRAM)
    writer_process.send(worker.orders, (bytes(target), False, set()))
    # It answers an order, even if by what is wrong with it.
    writer_process.send(worker.orders, (7, "http://", None))
    number, *_ = writer_process.receive(worker.answers)
    assert number == 7
    [process] = [one for one in workers() if one not in before]
    return worker, process


def finish(worker: Worker) -> None:
    with suppress(BrokenPipeError):
        worker.orders.close()
    assert writer_process.receive(worker.answers) is None, "its answers end with it"
    worker.answers.close()


def test_one_process_has_all_workers(nursery: Nursery, tmp_path: Path) -> None:
    begun = [begin(nursery, tmp_path) for _ in range(2)]
    assert len(nurseries()) == 1
    for worker, process in begun:
        finish(worker)
        process.wait(SECONDS)


def test_one_that_is_stopped_is_killed(nursery: Nursery, tmp_path: Path) -> None:
    worker, process = begin(nursery, tmp_path)
    process.suspend()
    worker.kill()
    finish(worker)
    process.wait(SECONDS)


def test_a_nursery_that_is_gone_is_replaced(nursery: Nursery, tmp_path: Path) -> None:
    worker, process = begin(nursery, tmp_path)
    [gone] = nurseries()
    gone.kill()
    gone.wait(SECONDS)
    another, _ = begin(nursery, tmp_path)
    worker.kill()  # nobody is left to do it
    for one in (worker, another):
        finish(one)
    process.wait(SECONDS)


def test_what_it_has_not_begun_with_yet_is_killed(nursery: Nursery) -> None:
    worker = nursery.start(PROGRAM)
    worker.kill()
    finish(worker)


STARTING = """
import sys
from millpond.lake import writer_process
from millpond.lake.nursery import Nursery

nursery = Nursery()
worker = nursery.start(writer_process.__name__)
writer_process.send(worker.orders, (sys.argv[1].encode(), False, set()))
writer_process.send(worker.orders, (7, "http://", None))
writer_process.receive(worker.answers)
print("begun", flush=True)
sys.stdin.read()
"""


def test_all_end_with_whoever_started_them(tmp_path: Path) -> None:
    arguments = [sys.executable, "-c", STARTING, str(tmp_path)]
    with subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as program:
        assert program.stdout is not None
        assert program.stdout.readline() == b"begun\n"
        family = psutil.Process(program.pid).children(recursive=True)
        assert len(family) == 2
        program.send_signal(signal.SIGKILL)
    _, left = psutil.wait_procs(family, timeout=SECONDS)
    assert not left
