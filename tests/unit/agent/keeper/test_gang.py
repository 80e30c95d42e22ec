"""What ranks of a distributed job are told, by where all of them are."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from millpond.agent.drivers import Exited, Reason, gangs, records
from millpond.agent.keeper import gang
from millpond.agent.spec import RANKS, rank_directories, read_spec, renew
from millpond.model.job import RankPlace
from millpond.testing.agents import a_spec


def at(host: str, port: int, address: str | None = None) -> dict[str, Any]:
    return {"host": host, "node": host, "address": address or host, "port": port}


def test_ranks_of_one_machine_meet_at_its_loopback() -> None:
    env = gang.environment(1, [at("box", 20_000), at("box", 20_001)], "p1")
    assert (env["MASTER_ADDR"], env["MASTER_PORT"]) == ("127.0.0.1", "20000")
    assert (env["RANK"], env["WORLD_SIZE"], env["LOCAL_RANK"], env["LOCAL_WORLD_SIZE"]) == ("1", "2", "1", "2")
    assert (env["GROUP_RANK"], env["GROUP_WORLD_SIZE"]) == ("0", "1")


def test_ranks_of_several_machines_meet_at_the_first_ones() -> None:
    places = [at("n1", 1), at("n1", 2), at("n2", 3), at("n2", 4), at("n2", 5)]
    env = gang.environment(3, places, "p1")
    assert (env["MASTER_ADDR"], env["MASTER_PORT"]) == ("n1", "1")
    assert (env["LOCAL_RANK"], env["LOCAL_WORLD_SIZE"], env["GROUP_RANK"]) == ("1", "3", "1")
    assert (env["HOROVOD_CROSS_RANK"], env["HOROVOD_CROSS_SIZE"]) == ("1", "2")
    assert json.loads(env["TF_CONFIG"]) == {
        "cluster": {"worker": ["n1:1", "n1:2", "n2:3", "n2:4", "n2:5"]},
        "task": {"type": "worker", "index": 3},
    }


def test_a_program_takes_it_for_torchrun(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every variable that torchrun sets for its processes, but those of its own restarts and errors."""
    env = gang.environment(1, [at("n1", 1), at("n2", 2)], "p1")
    asked = (
        "LOCAL_RANK RANK GROUP_RANK ROLE_RANK ROLE_NAME LOCAL_WORLD_SIZE WORLD_SIZE GROUP_WORLD_SIZE ROLE_WORLD_SIZE"
    )
    asked += " MASTER_ADDR MASTER_PORT TORCHELASTIC_RESTART_COUNT TORCHELASTIC_MAX_RESTARTS TORCHELASTIC_RUN_ID"
    assert set(asked.split()) <= set(env)
    assert (env["TORCHELASTIC_RUN_ID"], env["TORCHELASTIC_USE_AGENT_STORE"]) == ("p1", "False")


def test_ports_of_one_job_differ_and_are_free() -> None:
    found = {gang.free_port({"rank": rank, "size": 64}, "p1") for rank in range(64)}
    assert len(found) == 64
    first = gang.free_port({"rank": 0, "size": 2}, "p1")
    with socket.create_server(("", first)):
        assert gang.free_port({"rank": 0, "size": 2}, "p1") not in (first, gang.free_port({"rank": 1, "size": 2}, "p1"))


@pytest.fixture
def laid_out(tmp_path: Path) -> Callable[..., Path]:
    def make(**fields: Any) -> Path:
        ranks = (RankPlace("box", (0, 1)), RankPlace("box", (2, 3)))
        a_spec(env={"A": "1"}, directory=str(tmp_path), ranks=ranks, **fields).write(tmp_path)
        renew(tmp_path, 1.0)
        spec = read_spec(tmp_path)
        assert spec is not None
        gangs.lay_out(tmp_path, spec, address="127.0.0.1")
        return tmp_path

    return make


def test_every_rank_has_a_directory_with_its_own_gpus(laid_out: Callable[..., Path]) -> None:
    directory = laid_out(cpu=2)
    specs = [read_spec(one) for one in rank_directories(directory)]
    assert [spec.env["CUDA_VISIBLE_DEVICES"] for spec in specs if spec] == ["0,1", "2,3"]
    assert [spec.gang["rank"] for spec in specs if spec and spec.gang] == [0, 1]
    assert all(spec and spec.env["OMP_NUM_THREADS"] == "2" and spec.env["A"] == "1" for spec in specs)


def test_validity_is_renewed_for_every_rank(laid_out: Callable[..., Path]) -> None:
    directory = laid_out()
    renew(directory, 7.5)
    assert all((one / "renewal").read_text().startswith("7.5 ") for one in rank_directories(directory))


def test_all_begin_when_all_have_come(laid_out: Callable[..., Path], monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = rank_directories(laid_out())
    monkeypatch.chdir(first)
    (first / "claim").write_text("{}")
    assert gang.may_begin(2) is None
    (second / "claim").write_text("{}")
    while gang.may_begin(2) is None:
        pass
    monkeypatch.chdir(second)
    assert gang.may_begin(2) is True


def test_none_begins_once_it_was_given_up(laid_out: Callable[..., Path], monkeypatch: pytest.MonkeyPatch) -> None:
    directory = laid_out()
    assert records.give_up(directory, "no room")
    for one in rank_directories(directory):
        (one / "claim").write_text("{}")
        monkeypatch.chdir(one)
        assert gang.may_begin(2) is False
    ended = records.exited(directory)
    assert ended is not None and (ended.reason, ended.problem) == (Reason.NOT_STARTED, "no room")


def end(directory: Path, rank: int, at: float, **how: Any) -> None:
    record = {"exit_code": None, "signal": None, "reason": None, "problem": None, "started_at": 1.0, "exited_at": at}
    (directory / RANKS / str(rank) / "exit.json").write_text(json.dumps(record | how))


def exited(directory: Path) -> Exited:
    found = records.exited(directory)
    assert found is not None and found.exited_at is not None
    return found


def test_it_has_ended_when_all_ranks_have(laid_out: Callable[..., Path]) -> None:
    directory = laid_out()
    end(directory, 0, 5.0, exit_code=0)
    assert records.exited(directory) is None
    end(directory, 1, 9.0, exit_code=0)
    ended = exited(directory)
    assert (ended.exit_code, ended.rank, ended.exited_at and ended.exited_at.timestamp()) == (0, None, 9.0)


def test_the_rank_that_failed_first_says_how_it_ended(
    laid_out: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    directory = laid_out()
    for rank in (1, 0):
        monkeypatch.chdir(directory / RANKS / str(rank))
        gang.tell_failed(rank)
    end(directory, 0, 5.0, signal=15, reason="another_rank")
    end(directory, 1, 9.0, exit_code=3)
    ended = exited(directory)
    assert (ended.exit_code, ended.signal, ended.reason, ended.rank) == (3, None, None, 1)
    assert [one.state for one in records.ranks_seen(directory)] == ["ended", "ended"]


def test_a_job_that_was_stopped_was_not_failed_by_a_rank(laid_out: Callable[..., Path]) -> None:
    directory = laid_out()
    end(directory, 0, 5.0, exit_code=0)
    end(directory, 1, 4.0, signal=15, reason="stopped")
    ended = exited(directory)
    assert (ended.signal, ended.reason, ended.rank) == (15, Reason.STOPPED, None)


def test_stop_reaches_ranks_that_are_laid_out_later(tmp_path: Path, laid_out: Callable[..., Path]) -> None:
    records.ask_to_stop(tmp_path)
    directory = laid_out()
    assert all((one / "stop").exists() for one in rank_directories(directory))
