"""An agent brings workspaces to what the server wants, step by step, whatever happened before."""

from __future__ import annotations

import asyncio
import os
import shutil
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, nullcontext
from pathlib import Path
from typing import Any

import pytest

from millpond.agent.agent import Agent, Tools
from millpond.agent.checkpoint import Checkpoints
from millpond.agent.drivers.process import ProcessDriver
from millpond.agent.facts import Declared, node_facts
from millpond.agent.isolation import Accounts, Isolation, detect
from millpond.agent.kept_outputs import CommittedOutputs
from millpond.agent.workspaces import WorkspaceLake
from millpond.errors import Conflict, StoreUnavailable
from millpond.lake.pages import Row
from millpond.lake.push import PushOptions, push_directory
from millpond.lake.reader import TreeReader
from millpond.testing.agents import FakeServer, a_placement, a_workspace
from millpond.testing.lake import DirectLake
from millpond.volumes.volume import CacheVolume, CommitPlace, adopt
from millpond.volumes.workspaces.identities import identified
from millpond.volumes.workspaces.layout import WorkspaceFolder, lacks_layer
from millpond.volumes.workspaces.overlay import unmount
from millpond.wire.desired import DesiredMount, DesiredVolume
from millpond.wire.workspaces import (
    DesiredRestore,
    DesiredSnapshot,
    DesiredSource,
    DesiredWorkspace,
    WorkspaceSeen,
)
from tests.integration.loop_disks import loop_disk

pytestmark = pytest.mark.xdist_group("keepers")

PLACE = CommitPlace("project", "dataset", "c" * 64)
CACHED = DesiredSource(
    kind="commit", project_id="project", dataset="d", dataset_id="dataset", commit_id="c" * 64, cached=True, files=3
)
ACCOUNT = 3


class Site:
    """A volume with a cached commit, a fake server, and agents that come and go."""

    def __init__(self, state: Path, volume: Path, isolation: Isolation) -> None:
        (state / "placements").mkdir(parents=True, exist_ok=True)
        self.state, self.isolation, self.server = state, isolation, FakeServer()
        self.volume = CacheVolume(volume, "v1")
        if not self.volume.identity.exists():
            adopt(self.volume, "lake")
        tree = self.volume.commit(PLACE)
        for name in ("a/one", "a/two", "three"):
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            (tree / name).write_bytes(name.encode())
            (tree / name).chmod(0o444)
        self.lake = DirectLake()
        self.kept: list[tuple[int, int]] = []
        self.keep_fails: list[Exception] = []
        self.server.want(DesiredVolume(id="v1", path=str(volume), tended=True))

    @asynccontextmanager
    async def agent(self) -> AsyncIterator[None]:
        tools = Tools(
            server=self.server.connection(),
            driver=ProcessDriver([node_facts("node", Declared(cpus=2))], self.isolation),
            source_of=lambda fill, waiting: nullcontext(self.lake),
            save_outputs=lambda spec, output: CommittedOutputs("", {}),
            fetch_code=lambda desired, directory: None,
            checkpoints=Checkpoints(lambda desired, directory: None, lambda spec, directory: None, lambda spec: False),
            isolation=self.isolation,
            workspace_lake=WorkspaceLake(self._fetch, self._keep, self._rows),
        )
        stop = asyncio.Event()
        running = asyncio.create_task(Agent(self.state, tools).run(stop))
        try:
            yield
        finally:
            stop.set()
            await asyncio.wait_for(asyncio.wait({running}), 5)

    def tree(self, name: str = "w1") -> Path:
        return WorkspaceFolder(self.volume, "project", name).tree

    def read(self, name: str = "w1") -> dict[str, bytes]:
        tree = self.tree(name)
        return {str(path.relative_to(tree)): path.read_bytes() for path in tree.rglob("*") if path.is_file()}

    async def ready(self, wanted: DesiredWorkspace) -> WorkspaceSeen:
        self.server.want(wanted)
        return await self.server.until_workspace(wanted.id, lambda seen: seen.state == "ready")

    async def snapshot(self, wanted: DesiredWorkspace, number: int, want: str = "near") -> WorkspaceSeen:
        asked = DesiredSnapshot.model_validate({"number": number, "name": f"s{number}", "attempt": 1, "want": want})
        self.server.want(wanted.model_copy(update={"snapshots": [asked]}))
        return await self.server.until_workspace(
            wanted.id, lambda seen: any((one.number, one.state) == (number, want) for one in seen.snapshots)
        )

    def _fetch(self, desired: DesiredWorkspace, source: DesiredSource, directory: Path) -> None:
        (directory / "fetched").write_bytes(source.commit_id.encode())

    def _rows(self, desired: DesiredWorkspace, source: DesiredSource) -> Iterator[list[Row]]:
        reader = TreeReader(self.lake, source.tree)
        for leaf in reader.leaves() if source.tree else ():
            yield list(reader.leaf(leaf.id).rows())

    def _keep(
        self, desired: DesiredWorkspace, snapshot: DesiredSnapshot, tree: Path, stat_cache: Path, record: Path
    ) -> str:
        if self.keep_fails:
            raise self.keep_fails.pop()
        identify = (lambda batches: identified(record, batches)) if record.exists() else None
        pushed = push_directory(tree, self.lake, options=PushOptions(stat_cache=stat_cache, identify=identify))
        self.lake.accept(pushed.tree.root)
        self.kept.append((snapshot.number, pushed.files_read))
        return f"commit-{snapshot.number}"


CONTENT = {"a/one": b"a/one", "a/two": b"a/two", "three": b"three"}


def run(site: Site, scenario: Callable[[], Any]) -> None:
    asyncio.run(scenario())


@pytest.fixture
def plain(tmp_path: Path) -> Site:
    (tmp_path / "volume").mkdir()
    return Site(tmp_path / "state", tmp_path / "volume", Isolation())


@pytest.fixture(params=["xfs", "btrfs", "ext4"])
def apart(request: pytest.FixtureRequest) -> Iterator[Site]:
    """On a file system of its own, with jobs under accounts of their own."""
    root = Path(tempfile.mkdtemp(prefix="millpond-workspaces-"))
    root.chmod(0o755)
    try:
        with loop_disk(request.param, root) as place:
            isolation = detect(root / "state", Accounts.parse("70000-99999"))
            if isolation.accounts is None:
                pytest.skip(f"jobs cannot be kept apart here: {isolation.why_shared}")
            yield Site(root / "state", place, isolation)
    finally:
        shutil.rmtree(root)


def test_a_workspace_comes_is_frozen_kept_restored_and_goes(plain: Site) -> None:
    async def scenario() -> None:
        wanted = a_workspace(how="reflink", source=CACHED)
        async with plain.agent():
            seen = await plain.ready(wanted)
            assert plain.read() == CONTENT and seen.files == 3 and seen.how in ("reflink", "copy")
            seen = await plain.snapshot(wanted, 1, "kept")
            (taken,) = seen.snapshots
            assert (taken.commit, taken.consistency, taken.files, taken.problem) == ("commit-1", "atomic", 3, None)
            (plain.tree() / "three").write_bytes(b"changed")
            restore = DesiredRestore(attempt=7, source=DesiredSource(kind="snapshot", workspace_id="w1", number=1))
            plain.server.want(wanted.model_copy(update={"restore": restore}))
            await plain.server.until_workspace("w1", lambda seen: seen.restored == 7)
            assert plain.read() == CONTENT
            await plain.ready(a_workspace("w2", how="copy", source=restore.source))
            assert plain.read("w2") == CONTENT
            await plain.ready(a_workspace("w3", how="fill", source=CACHED.model_copy(update={"cached": False})))
            assert plain.read("w3") == {"fetched": b"c" * 64}
            plain.server.want(wanted.model_copy(update={"want": "absent"}))
            await plain.server.until_workspace("w1", lambda seen: seen.state == "absent")
            assert not plain.tree().parent.exists()

    run(plain, scenario)


def test_what_is_not_listed_is_left_as_it_is_and_found_again(plain: Site) -> None:
    async def scenario() -> None:
        wanted = a_workspace(how="reflink", source=CACHED)
        async with plain.agent():
            await plain.ready(wanted)
            await plain.snapshot(wanted, 1)
        (plain.tree() / "mine").write_bytes(b"mine")
        leftover = plain.tree().parent.parent / ".making-w9-1-abcd"
        leftover.mkdir()
        plain.server.forget("w1")
        async with plain.agent():
            await plain.server.until(lambda: not leftover.exists())
            assert plain.server.observed is not None and plain.server.observed.workspaces == []
            assert plain.read() == {**CONTENT, "mine": b"mine"}
            seen = await plain.ready(wanted.model_copy(update={"attempt": 2}))
            assert plain.read()["mine"] == b"mine", "it was there: nothing is made anew"
            assert seen.attempt == 2
            seen = await plain.snapshot(wanted, 1)
            assert seen.snapshots[0].files == 3, "the one that was taken before"

    run(plain, scenario)


def test_problems_are_told_and_gone_when_they_are(plain: Site) -> None:
    async def scenario() -> None:
        gone = DesiredSource(kind="snapshot", workspace_id="w9", number=4)
        async with plain.agent():
            plain.server.want(a_workspace(how="reflink", source=gone))
            seen = await plain.server.until_workspace("w1", lambda seen: seen.state == "failed")
            assert seen.problem and "Snapshot 4 of workspace w9" in seen.problem and not seen.transient
            await plain.ready(a_workspace(attempt=2))
            plain.keep_fails = [Conflict("No longer wanted."), StoreUnavailable("The lake is away.")]
            wanted = a_workspace(attempt=2)
            asked = DesiredSnapshot(number=1, name="s1", attempt=1, want="kept")
            plain.server.want(wanted.model_copy(update={"snapshots": [asked]}))
            seen = await plain.server.until_workspace(
                "w1", lambda seen: bool(seen.snapshots) and seen.snapshots[0].problem == "No longer wanted."
            )
            assert seen.snapshots[0].state == "near", "what is on the volume stays"
            again = asked.model_copy(update={"attempt": 2})
            plain.server.want(wanted.model_copy(update={"snapshots": [again]}))
            await plain.server.until_workspace("w1", lambda seen: seen.snapshots[0].state == "kept")

    run(plain, scenario)


def test_only_what_changed_is_read_to_keep_a_snapshot(apart: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("millpond.lake.statcache.RACY_NANOSECONDS", -(10**12))

    async def scenario() -> None:
        wanted = a_workspace(how="reflink", source=CACHED, account=ACCOUNT, size_bytes=64 << 20)
        async with apart.agent():
            seen = await apart.ready(wanted)
            assert seen.quota == ("qgroup" if "btrfs" in str(apart.volume.root) else "measured")
            await apart.snapshot(wanted, 1, "kept")
            (apart.tree() / "three").write_bytes(b"changed")
            await apart.snapshot(wanted, 2, "kept")
            assert apart.kept == [(1, 3), (2, 1)]

    run(apart, scenario)


@pytest.mark.parametrize("how", ["reflink", "overlay"])
def test_the_first_kept_snapshot_reads_only_what_differs_from_the_commit(
    apart: Site, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("millpond.lake.statcache.RACY_NANOSECONDS", -(10**12))

    async def scenario() -> None:
        tree = push_directory(apart.volume.commit(PLACE), apart.lake).tree.root
        apart.lake.accept(tree)
        source = CACHED.model_copy(update={"tree": tree})
        wanted = a_workspace(how=how, source=source, account=ACCOUNT)
        async with apart.agent():
            await apart.ready(wanted)
            (apart.tree() / "three").write_bytes(b"changed")
            (apart.tree() / "a").rename(apart.tree() / "b")
            await apart.snapshot(wanted, 1, "kept")
            assert apart.kept == [(1, 3)], "names are a part of what is known"
            (apart.tree() / "b").rename(apart.tree() / "a")
            apart.kept.clear()
            plain = a_workspace("w2", how=how, source=source, account=ACCOUNT)
            await apart.ready(plain)
            (apart.tree("w2") / "three").write_bytes(b"changed")
            await apart.snapshot(plain, 1, "kept")
            assert apart.kept == [(1, 1)]
            clone = DesiredSource(kind="snapshot", workspace_id="w2", number=1)
            third = a_workspace("w3", how="overlay", source=clone, account=ACCOUNT)
            seen = await apart.ready(third)
            await apart.snapshot(third, 1, "kept")
            assert apart.read("w3")["three"] == b"changed"
            # Its layers, and subvolumes, have the same inodes.
            assert apart.kept[1][1] <= (1 if how == "overlay" or seen.how == "subvolume" else 3)

    run(apart, scenario)


def test_an_overlay_is_unmounted_when_the_agent_ends_and_mounted_by_the_next(apart: Site) -> None:
    async def scenario() -> None:
        wanted = a_workspace(how="overlay", source=CACHED, account=ACCOUNT)
        async with apart.agent():
            await apart.ready(wanted)
            (apart.tree() / "three").write_bytes(b"changed")
        assert apart.read() == {} and lacks_layer(apart.tree()), "no job may begin to write there"
        apart.server.forget("w1")
        async with apart.agent():
            await apart.server.until(lambda: apart.read() == {**CONTENT, "three": b"changed"})
            assert not lacks_layer(apart.tree())

    run(apart, scenario)


def test_a_job_waits_until_the_layer_of_its_workspace_is_mounted(apart: Site) -> None:
    async def scenario() -> None:
        wanted = a_workspace(how="overlay", source=CACHED, account=ACCOUNT)
        async with apart.agent():
            await apart.ready(wanted)
            unmount(apart.tree())
            mount = DesiredMount(name="w", source=str(apart.tree()), target="/nowhere/w")
            script = f"echo 5 > {apart.tree()}/new"
            apart.server.want(a_placement(command=("sh", "-c", script), account=ACCOUNT, mounts=[mount]))

            def waits() -> bool:
                seen = apart.server.placement("p1")
                return seen is not None and "not mounted" in (seen.waiting or "")

            await apart.server.until(waits)
            assert apart.read() == {}

    run(apart, scenario)


@pytest.mark.parametrize("how", ["reflink", "overlay"])
def test_a_job_writes_to_a_workspace_and_is_frozen_for_a_snapshot(apart: Site, how: str) -> None:
    async def scenario() -> None:
        wanted = a_workspace(how=how, source=CACHED, account=ACCOUNT)
        async with apart.agent():
            await apart.ready(wanted)
            mount = DesiredMount(name="w", source=str(apart.tree()), target="/nowhere/w")
            # Two files that always hold the same number, but for a moment.
            script = (
                f"cd {apart.tree()} && echo more >> a/one && n=0 && while [ ! -e stop ]; do "
                "n=$((n+1)); echo $n > x; echo $n > y; : > begun; done; rm stop; id -u"
            )
            apart.server.want(a_placement(command=("sh", "-c", script), account=ACCOUNT, mounts=[mount]))
            await apart.server.until(lambda: (apart.tree() / "begun").exists())
            in_use = wanted.model_copy(update={"in_use": True})
            seen = await apart.snapshot(in_use, 1)
            (taken,) = seen.snapshots
            assert taken.consistency in ("atomic", "frozen"), "the job stood still"
            live = DesiredSource(kind="workspace", workspace_id="w1")
            clone = await apart.ready(a_workspace("w2", how="reflink", source=live, account=ACCOUNT))
            assert clone.consistency in ("atomic", "frozen")
            (apart.tree() / "stop").touch()
            os.chown(apart.tree() / "stop", 70000 + ACCOUNT, 70000 + ACCOUNT)
            ended = await apart.server.until_placement("p1", "finished")
            assert (ended.exit_code, ended.problem) == (0, None), apart.server.logs["p1"].decode()
            assert apart.server.logs["p1"].decode().strip() == str(70000 + ACCOUNT)
            assert apart.read()["a/one"] == b"a/onemore\n"
            measured = await apart.server.until_workspace("w1", lambda seen: seen.unique_bytes is not None)
            assert measured.unique_bytes is not None and measured.unique_bytes < 1 << 20
            for name in ("w1", "w2"):
                apart.server.want(a_workspace(name, want="absent", account=ACCOUNT))
                await apart.server.until_workspace(name, lambda seen: seen.state == "absent")
            assert not apart.tree().parent.exists()

    run(apart, scenario)
