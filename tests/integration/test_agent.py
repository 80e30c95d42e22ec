"""The agent with real processes, real files and a server in memory."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import AbstractContextManager, asynccontextmanager, nullcontext
from pathlib import Path

import pytest

from millpond.agent.agent import Agent, Tools
from millpond.agent.checkpoint import Checkpoints
from millpond.agent.drivers import EngineAway
from millpond.agent.drivers.process import ProcessDriver
from millpond.agent.facts import Declared, node_facts
from millpond.agent.keeper.files import read_json
from millpond.agent.keeper.processes import marked
from millpond.agent.kept_outputs import CommittedOutputs
from millpond.agent.outcome import SaveOutputs
from millpond.agent.spec import Spec
from millpond.errors import BadRequest, Conflict, Corrupt, MillError, StoreUnavailable, Unavailable
from millpond.lake.push import push_directory
from millpond.lake.store_retry import Waiting
from millpond.lake.transfer import Downloader
from millpond.testing.agents import FakeServer, a_fill, a_placement, an_input
from millpond.testing.lake import DirectLake, Thing, read_things, write_things
from millpond.volumes.volume import CommitPlace
from millpond.wire.desired import DesiredFill, DesiredPlacement, DesiredVolume
from millpond.wire.observed import NodeFacts

# Keepers are told apart by placement, and these tests use the same names: one worker runs them.
pytestmark = pytest.mark.xdist_group("keepers")

CODE = [Thing(b"pkg/module.py", b"x = 1\n"), Thing(b"run.sh", b"#!/bin/sh\necho ran\n", executable=True)]


class Site:
    """A state directory, a volume, a lake and a fake server; agents come and go."""

    def __init__(self, root: Path) -> None:
        self.state = root / "state"
        (self.state / "placements").mkdir(parents=True)
        self.volume = DesiredVolume(id="v1", path=str(root / "volume"), tended=True)
        Path(self.volume.path).mkdir(exist_ok=True)
        self.lake = DirectLake()
        self.server = FakeServer()
        self.saved: list[str] = []
        # What lies in the checkpoint of each job.
        self.kept: dict[str, str] = {}
        self.restore_fails: list[MillError] = []
        self.attempt = 0
        self.save: SaveOutputs = self._save
        self.source: Callable[[DesiredFill], Downloader] = lambda fill: self.lake
        self.driver: Callable[[list[NodeFacts]], ProcessDriver] = ProcessDriver

    @asynccontextmanager
    async def agent(self) -> AsyncIterator[asyncio.Task[None]]:
        tools = Tools(
            server=self.server.connection(),
            driver=self.driver([node_facts("node", Declared(cpus=2))]),
            source_of=self._open,
            save_outputs=lambda spec, output: self.save(spec, output),
            fetch_code=lambda desired, directory: None,
            checkpoints=Checkpoints(self._restore, self._keep, lambda spec: False),
        )
        stop = asyncio.Event()
        agent = Agent(self.state, tools)
        running = asyncio.create_task(agent.run(stop))
        try:
            yield running
        finally:
            stop.set()
            await asyncio.wait_for(asyncio.wait({running}), 2)

    def commit(self, root: Path, things: list[Thing], commit: str = "c" * 64) -> DesiredFill:
        write_things(root / commit[:4], things)
        tree = push_directory(root / commit[:4], self.lake).tree
        self.lake.accept(tree.root)
        self.attempt += 1
        return a_fill(
            f"cached-{commit[:4]}",
            commit_id=commit,
            tree=tree.root,
            files=tree.files,
            bytes=tree.bytes,
            attempt=self.attempt,
        )

    def path(self, fill: DesiredFill) -> Path:
        place = CommitPlace(fill.project_id, fill.dataset_id, fill.commit_id)
        return Path(self.volume.path, "commits", place.project_id, place.dataset_id, place.commit_id)

    def directory(self, placement: DesiredPlacement) -> Path:
        return self.state / "placements" / placement.id

    def _open(self, fill: DesiredFill, waiting: Waiting) -> AbstractContextManager[Downloader]:
        return nullcontext(self.source(fill))

    def _keep(self, spec: Spec, directory: Path) -> str | None:
        self.kept[spec.job] = (directory / "state").read_text()
        return "checkpoint"

    def _restore(self, desired: DesiredPlacement, directory: Path) -> None:
        if self.restore_fails:
            raise self.restore_fails.pop()
        (directory / "state").write_text(self.kept[desired.job_id])

    def _save(self, spec: Spec, output: Path) -> CommittedOutputs:
        self.saved.append(spec.job)
        return CommittedOutputs(f"commit-of-{sorted(path.name for path in output.iterdir())}", {})


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Callable[[Callable[[Site], Coroutine[None, None, None]]], None]]:
    """Runs a scenario in an event loop of its own; nothing of its placements may be left running."""
    ids: set[str] = set()

    def runner(scenario: Callable[[Site], Coroutine[None, None, None]]) -> None:
        async def main() -> None:
            site = Site(tmp_path)
            site.server.want(site.volume)
            try:
                await scenario(site)
            finally:
                ids.update(site.server.states)

        asyncio.run(main())

    yield runner
    assert [
        process for placement_id in ids for process in marked(placement_id) if _is_below(process.pid, tmp_path)
    ] == []


def _is_below(pid: int, folder: Path) -> bool:
    """Whether a process works in this test's folder: other tests have placements of the same names."""
    try:
        return folder in Path(f"/proc/{pid}/cwd").readlink().parents
    except FileNotFoundError:
        return False  # it has ended


Run = Callable[[Callable[[Site], Coroutine[None, None, None]]], None]


def test_a_job_from_its_data_to_its_outputs(run: Run, tmp_path: Path) -> None:
    async def scenario(site: Site) -> None:
        data = site.commit(tmp_path, [Thing(b"train/1.txt", b"one")], "d" * 64)
        code = site.commit(tmp_path, CODE, "e" * 64)
        script = (
            'cat "$MILL_DATA_DIGITS/train/1.txt"; ./run.sh; echo changed >> pkg/module.py; env; '
            'echo weights > "$MILL_OUTPUT/model.bin"; exit 4'
        )
        job = a_placement(
            command=("sh", "-c", script),
            inputs=[an_input(data, ready=False)],
            code=an_input(code, ready=False),
            env={"EPOCHS": "3", "MILL_TOKEN": "not this"},
            gpu_hundredths=100,
            gpu_indices=[1],
            cpu=2,
            memory_bytes=1000,
        )
        async with site.agent():
            site.server.want(data, code, job)
            await site.server.until_placement("p1", "preparing")
            await site.server.until_fill(data.cached_id, "ready")
            await site.server.until_fill(code.cached_id, "ready")
            site.server.want(job.model_copy(update={"inputs": [an_input(data)], "code": an_input(code)}))
            seen = await site.server.until_placement("p1", "finished")
            assert (seen.exit_code, seen.signal, seen.problem) == (4, None, None)
            assert seen.output_commit == "commit-of-['model.bin']"
            assert seen.started_at and seen.exited_at and seen.started_at < seen.exited_at
            log = site.server.logs["p1"].decode()
            assert log.startswith("oneran\n")
            assert log == (site.directory(job) / "log").read_text().replace("=mill_secret\n", "=***********\n")
            assert seen.log_bytes == len(log)
            said = dict(line.split("=", 1) for line in log.splitlines()[1:] if "=" in line)
            assert said["MILL_TOKEN"] == "***********" and said["EPOCHS"] == "3"
            assert said["MILL_RUN_ID"] == "run-p1" and said["MILL_JOB_ID"] == "job-p1"
            assert said["MILL_SERVER"] == "http://127.0.0.1:1"
            assert said["CUDA_VISIBLE_DEVICES"] == "1" and said["MILL_CPUS"] == "2"
            # A state that is over before it could be told is left out.
            told = site.server.states["p1"]
            assert told == [state for state in ("preparing", "running", "saving", "finished") if state in told]
            assert read_things(site.path(code)) == CODE, "the cached code is not the job's to change"
            site.server.forget("p1")
            await site.server.until(lambda: not site.directory(job).exists())

    run(scenario)


def test_a_checkpoint_is_saved_after_a_stop_and_restored_elsewhere(run: Run) -> None:
    async def scenario(site: Site) -> None:
        script = 'cat "$MILL_CHECKPOINT/state"; trap \'echo step 7 > "$MILL_CHECKPOINT/state"; exit 1\' TERM; '
        first = a_placement("p1", ("sh", "-c", f"{script} touch here; while :; do sleep 0.05; done"), job_id="job")
        async with site.agent():
            site.server.want(first)
            await site.server.until(lambda: (site.directory(first) / "work" / "here").exists())
            site.server.want(first.model_copy(update={"want": "stop"}))
            seen = await site.server.until_placement("p1", "finished")
            assert (seen.reason, seen.checkpoint_problem) == ("stopped", None)
            assert site.kept == {"job": "step 7\n"}
            site.restore_fails = [Unavailable("The store is away.")]
            site.server.want(a_placement("p2", ("sh", "-c", script), job_id="job", checkpoint="c1", attempt=2))
            assert (await site.server.until_placement("p2", "finished")).exit_code == 0
            assert site.server.logs["p2"].decode() == "step 7\n"

    run(scenario)


def test_a_job_without_a_gpu_sees_none(run: Run) -> None:
    async def scenario(site: Site) -> None:
        site.server.want(a_placement(command=("sh", "-c", 'test "${CUDA_VISIBLE_DEVICES-unset}" = ""')))
        async with site.agent():
            assert (await site.server.until_placement("p1", "finished")).exit_code == 0
            assert site.saved == [], "there are no outputs"

    run(scenario)


def test_a_command_that_does_not_exist(run: Run) -> None:
    async def scenario(site: Site) -> None:
        site.server.want(a_placement(command=("no-such-command",)))
        async with site.agent():
            seen = await site.server.until_placement("p1", "finished")
            assert seen.exit_code == 127 and seen.problem == "Command not found: 'no-such-command'."
            assert seen.started_at is None

    run(scenario)


def test_stop(run: Run) -> None:
    async def scenario(site: Site) -> None:
        job = a_placement(command=("sleep", "600"))
        site.server.want(job)
        async with site.agent():
            await site.server.until_placement("p1", "running")
            site.server.want(job.model_copy(update={"want": "stop"}))
            assert (await site.server.until_placement("p1", "finished")).signal == 15

    run(scenario)


def test_stopped_before_its_data_came(run: Run) -> None:
    async def scenario(site: Site) -> None:
        job = a_placement(inputs=[an_input(a_fill(), ready=False)])
        site.server.want(job)
        async with site.agent():
            await site.server.until_placement("p1", "preparing")
            site.server.want(job.model_copy(update={"want": "stop"}))
            seen = await site.server.until_placement("p1", "finished")
            assert (seen.exit_code, seen.signal, seen.started_at) == (None, None, None)

    run(scenario)


def test_what_the_server_no_longer_lists_is_ended_and_removed(run: Run) -> None:
    async def scenario(site: Site) -> None:
        job = a_placement(command=("sh", "-c", 'echo x > "$MILL_OUTPUT/x"; exec sleep 600'))
        site.server.want(job)
        async with site.agent():
            await site.server.until_placement("p1", "running")
            site.server.forget("p1")
            await site.server.until(lambda: not site.directory(job).exists())
            assert site.saved == []
            assert site.server.placement("p1") is None

    run(scenario)


def test_a_new_agent_adopts_what_runs(run: Run) -> None:
    """The log is complete and nothing is in it twice, whichever agent shipped it."""

    async def scenario(site: Site) -> None:
        script = (
            "for i in $(seq 150); do echo line $i; sleep 0.005; done; while ! test -e go; do sleep 0.02; done; exit 9"
        )
        job = a_placement(command=("sh", "-c", script))
        site.server.want(job)
        async with site.agent():
            await site.server.until(lambda: b"line 10\n" in site.server.logs["p1"])
        async with site.agent():
            await site.server.until(lambda: b"line 80\n" in site.server.logs["p1"])
        (site.directory(job) / "work" / "go").touch()
        async with site.agent():
            assert (await site.server.until_placement("p1", "finished")).exit_code == 9
        assert site.server.logs["p1"].decode().splitlines() == [f"line {n}" for n in range(1, 151)]

    run(scenario)


def test_an_end_while_there_was_no_agent_is_reported(run: Run) -> None:
    async def scenario(site: Site) -> None:
        job = a_placement(
            command=("sh", "-c", 'echo late > "$MILL_OUTPUT/late"; while ! test -e go; do sleep 0.02; done')
        )
        site.server.want(job)
        async with site.agent():
            await site.server.until_placement("p1", "running")
        (site.directory(job) / "work" / "go").touch()
        await site.server.until((site.directory(job) / "exit.json").exists)
        async with site.agent():
            seen = await site.server.until_placement("p1", "finished")
            assert seen.exit_code == 0 and seen.output_commit
        async with site.agent():
            await site.server.until_placement("p1", "finished")
        assert site.saved == ["job-p1"], "outputs are committed once"

    run(scenario)


def test_what_was_prepared_and_is_no_longer_wanted_never_starts(run: Run) -> None:
    async def scenario(site: Site) -> None:
        job = a_placement(command=("touch", str(site.state / "ran")))
        site.server.want(job)
        async with site.agent():
            await site.server.until_placement("p1", "finished")
        (site.state / "ran").unlink()
        for name in ("claim", "exit.json", "keeper.json"):
            (site.directory(job) / name).unlink()
        site.server.forget("p1")
        async with site.agent():
            await site.server.until(lambda: not site.directory(job).exists())
        assert not (site.state / "ran").exists()

    run(scenario)


def test_a_half_made_directory_is_thrown_away(run: Run) -> None:
    async def scenario(site: Site) -> None:
        (site.state / "placements" / "p1" / "work" / "half").mkdir(parents=True)
        site.server.want(a_placement(command=("sh", "-c", "test ! -e half")))
        async with site.agent():
            assert (await site.server.until_placement("p1", "finished")).exit_code == 0

    run(scenario)


def test_jobs_go_on_while_the_server_is_away(run: Run) -> None:
    async def scenario(site: Site) -> None:
        job = a_placement(command=("sh", "-c", "touch here; while ! test -e go; do sleep 0.02; done; echo done"))
        site.server.want(job)
        work = site.directory(job) / "work"
        async with site.agent():
            await site.server.until_placement("p1", "running")
            site.server.away = True
            site.server.want()
            (work / "go").touch()
            await site.server.until((site.directory(job) / "exit.json").exists)
            site.server.away = False
            seen = await site.server.until_placement("p1", "finished")
            assert seen.exit_code == 0 and site.server.logs["p1"] == b"done\n"

    run(scenario)


def test_without_the_server_a_job_ends_by_its_validity(run: Run) -> None:
    async def scenario(site: Site) -> None:
        site.server.want(a_placement(command=("sleep", "600"), valid_seconds=1))
        async with site.agent():
            await site.server.until_placement("p1", "running")
            site.server.away = True
            site.server.want()
            record = site.state / "placements" / "p1" / "exit.json"
            await site.server.until(record.exists)
            assert json.loads(record.read_text())["reason"] == "expired"
            site.server.away = False
            seen = await site.server.until_placement("p1", "finished")
            assert "no contact to the server" in (seen.problem or "")

    run(scenario)


def test_heard_by_the_server_a_job_is_renewed(run: Run) -> None:
    async def scenario(site: Site) -> None:
        job = a_placement(command=("sleep", "2.5"), valid_seconds=2)
        site.server.want(job)
        async with site.agent():
            await site.server.until_placement("p1", "running")
            for number in range(10):
                await asyncio.sleep(0.2)
                site.server.want(job.model_copy(update={"log_bytes": number}))
            assert (await site.server.until_placement("p1", "finished")).exit_code == 0

    run(scenario)


@pytest.mark.parametrize("error", [StoreUnavailable("The store is away."), Corrupt("The lake is damaged.")])
def test_outputs_that_cannot_be_saved(run: Run, error: MillError) -> None:
    async def scenario(site: Site) -> None:
        tries: list[str] = []

        def save(spec: Spec, output: Path) -> CommittedOutputs:
            tries.append(spec.job)
            if len(tries) == 1:
                raise error
            return CommittedOutputs("saved", {})

        site.save = save
        site.server.want(a_placement(command=("sh", "-c", 'echo x > "$MILL_OUTPUT/x"')))
        async with site.agent():
            seen = await site.server.until_placement("p1", "finished")
            if error.transient:
                assert (seen.output_commit, seen.problem) == ("saved", None)
            else:
                assert seen.problem == "Cannot save the outputs: The lake is damaged."

    run(scenario)


def test_usage_is_shipped(run: Run) -> None:
    async def scenario(site: Site) -> None:
        site.server.want(a_placement(command=("sh", "-c", "while :; do :; done")))
        async with site.agent():
            await site.server.until(lambda: len(site.server.usage["p1"]) >= 2)
            assert site.server.usage["p1"][-1].cpu_percent > 20
            assert site.server.usage["p1"][-1].memory_bytes > 100_000
            site.server.forget("p1")
            await site.server.until(lambda: not (site.state / "placements" / "p1").exists())

    run(scenario)


def test_many_jobs_at_once(run: Run) -> None:
    async def scenario(site: Site) -> None:
        site.server.want(*(a_placement(f"p{n}", ("sh", "-c", f"echo {n}; exit {n}")) for n in range(20)))
        async with site.agent():
            for n in range(20):
                assert (await site.server.until_placement(f"p{n}", "finished")).exit_code == n
                assert site.server.logs[f"p{n}"] == f"{n}\n".encode()

    run(scenario)


def test_news_is_answered_before_more_is_told(run: Run) -> None:
    """Of hundreds of placements one changes at every moment: reports given up for each would never be heard."""

    async def scenario(site: Site) -> None:
        async with site.agent():
            jobs = [a_placement(f"p{number}", command=("true",)) for number in range(1, 9)]
            site.server.want(*jobs)
            for job in jobs:
                await site.server.until_placement(job.id, "finished")
            assert {site.server.patience[job.id, "finished"] for job in jobs} == {0}
            assert all(observed.wait_seconds > 0 for observed in site.server.given_up)

    run(scenario)


def test_an_engine_that_is_away_keeps_back_its_own_placement_alone(run: Run) -> None:
    refusals = {"p1"}

    class AwayOnce(ProcessDriver):
        def forget(self, directory: Path) -> None:
            if directory.name in refusals:
                refusals.remove(directory.name)
                raise EngineAway("not now")
            super().forget(directory)

    async def scenario(site: Site) -> None:
        site.driver = AwayOnce
        async with site.agent():
            jobs = [a_placement(name, command=("true",)) for name in ("p1", "p2")]
            site.server.want(*jobs)
            for job in jobs:
                await site.server.until_placement(job.id, "finished")
            for job in jobs:
                site.server.forget(job.id)
            await site.server.until(lambda: not site.directory(jobs[1]).exists())
            site.server.want(a_placement("p3", command=("true",)))
            await site.server.until(lambda: not site.directory(jobs[0]).exists())

    run(scenario)


def test_an_idle_agent_is_quiet_and_news_travel_at_once(run: Run) -> None:
    async def scenario(site: Site) -> None:
        async with site.agent():
            await site.server.until(lambda: site.server.volume("v1"))
            before = site.server.syncs
            await asyncio.sleep(1.0)
            assert site.server.syncs - before <= 1
            site.server.want(a_placement(command=("sleep", "600")))
            await site.server.until_placement("p1", "running")
            began = asyncio.get_running_loop().time()
            os.kill(read_json(str(site.state / "placements/p1/keeper.json"))["command"]["pid"], 9)
            await site.server.until_placement("p1", "finished")
            assert asyncio.get_running_loop().time() - began < 1.0, "0.2 s on a machine with nothing else to do"

    run(scenario)


@pytest.mark.parametrize("error", [BadRequest("This agent speaks version 9."), Conflict("Another process.")])
def test_a_server_that_refuses_ends_the_agent(run: Run, error: MillError) -> None:
    async def scenario(site: Site) -> None:
        site.server.refusal = error
        async with site.agent() as running:
            with pytest.raises(type(error), match=error.message):
                await running

    run(scenario)


def test_fill_and_evict(run: Run, tmp_path: Path) -> None:
    async def scenario(site: Site) -> None:
        fill = site.commit(tmp_path, CODE)
        site.server.want(fill)
        async with site.agent():
            seen = await site.server.until_fill(fill.cached_id, "ready")
            assert (seen.done_files, seen.done_bytes, seen.attempt) == (fill.files, fill.bytes, 1)
            listed = site.server.volume("v1")
            assert listed and listed.commits and listed.commits[0].commit_id == fill.commit_id
            assert read_things(site.path(fill)) == CODE
            site.server.want(fill.model_copy(update={"attempt": 2, "want": "absent"}))
            await site.server.until_fill(fill.cached_id, "evicted")
            listed = site.server.volume("v1")
            assert listed and listed.commits == []
            assert not site.path(fill).exists()

    run(scenario)


def test_what_is_published_is_ready_without_a_second_fill(run: Run, tmp_path: Path) -> None:
    async def scenario(site: Site) -> None:
        fill = site.commit(tmp_path, CODE)
        site.server.want(fill)
        async with site.agent():
            await site.server.until_fill(fill.cached_id, "ready")
        site.lake.ranges.clear()
        async with site.agent():
            await site.server.until_fill(fill.cached_id, "ready")
        assert site.lake.ranges == []

    run(scenario)


def test_what_a_killed_agent_left_on_the_volume_goes(run: Run, tmp_path: Path) -> None:
    async def scenario(site: Site) -> None:
        fill = site.commit(tmp_path, CODE)
        site.server.want(fill)
        async with site.agent():
            await site.server.until_fill(fill.cached_id, "ready")
        own = Path(site.volume.path, ".millpond")
        for left in ("attempts/7", "trash/3-old"):
            # At once: a thread of the agent that has just ended may still be tidying there.
            (tmp_path / "left/tree/half").mkdir(parents=True)
            (tmp_path / "left").rename(own / left)
        async with site.agent():
            await site.server.until(lambda: os.listdir(own / "attempts") == os.listdir(own / "trash") == [])
        assert read_things(site.path(fill)) == CODE

    run(scenario)


def test_an_agent_that_does_not_tend_the_volume_leaves_it_alone(run: Run) -> None:
    async def scenario(site: Site) -> None:
        site.server.want(site.volume.model_copy(update={"tended": False}))
        async with site.agent():
            await site.server.until(lambda: site.server.volume("v1"))
            other = Path(site.volume.path, ".millpond/attempts/7")
            other.mkdir(parents=True)
            site.server.want(a_placement())
            await site.server.until_placement("p1", "finished")
            assert other.exists()

    run(scenario)


def test_a_fill_that_fails_for_good_is_told_once_and_a_new_attempt_tried(run: Run, tmp_path: Path) -> None:
    async def scenario(site: Site) -> None:
        fill = site.commit(tmp_path, CODE)

        class Damaged(DirectLake):
            def pack_range(self, pack_id: str, start: int, end: int) -> bytes:
                raise Corrupt("The pack is damaged.")

        site.source = lambda wanted: Damaged(site.lake.store)
        site.server.want(fill)
        async with site.agent():
            seen = await site.server.until_fill(fill.cached_id, "failed")
            assert seen.problem == "The pack is damaged." and not seen.transient
            site.source = lambda wanted: site.lake
            site.server.want(fill.model_copy(update={"attempt": 2}))
            assert (await site.server.until_fill(fill.cached_id, "ready")).attempt == 2

    run(scenario)


def test_a_store_that_is_away_is_tried_again(run: Run, tmp_path: Path) -> None:
    async def scenario(site: Site) -> None:
        fill = site.commit(tmp_path, CODE)

        class Away(DirectLake):
            def pack_range(self, pack_id: str, start: int, end: int) -> bytes:
                raise StoreUnavailable("The store does not answer.")

        site.source = lambda wanted: Away(site.lake.store)
        site.server.want(fill)
        async with site.agent():
            seen = await site.server.until_fill(fill.cached_id, "failed")
            assert seen.transient
            site.source = lambda wanted: site.lake
            await site.server.until_fill(fill.cached_id, "ready")

    run(scenario)


def test_a_volume_that_vanishes_is_told_and_taken_up_again(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("millpond.agent.volumes.LOOK_SECONDS", 0.05)

    async def scenario(site: Site) -> None:
        def problem() -> str | None:
            seen = site.server.volume("v1")
            return seen.problem if seen else "not seen"

        async with site.agent():
            await site.server.until(lambda: problem() is None)
            Path(site.volume.path).rename(tmp_path / "away")
            await site.server.until(lambda: "does not exist" in (problem() or ""))
            Path(site.volume.path).mkdir()
            await site.server.until(lambda: "identity file is missing" in (problem() or ""))
            assert os.listdir(site.volume.path) == [], "an empty mount point is not made into a volume"
        async with site.agent():
            await site.server.until(lambda: "identity file is missing" in (problem() or ""))
            Path(site.volume.path).rmdir()
            (tmp_path / "away").rename(site.volume.path)
            await site.server.until(lambda: problem() is None)

    run(scenario)
