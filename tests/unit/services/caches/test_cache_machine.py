"""Invariants 3 and 4 against a plain model: people ask, jobs hold, time passes, and an agent does what it is told.

The model is a disk: what the agent has written there. It begins, finishes, fails and forgets in any order, and tells
old news again. Whatever happens, one commit is filled at most once at a time, what is leased or pinned stays, and
the disk never holds more than capacity without reserve.
"""

from __future__ import annotations

import shutil
import tempfile
from contextlib import ExitStack, suppress
from pathlib import Path
from random import Random
from unittest.mock import patch

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from millpond.db import caches as rows
from millpond.errors import DoesNotFit, InUse, NotReady
from millpond.model.cached_state import CachedState
from millpond.services.caches import eviction, job_caches
from millpond.services.caches import requests as cache_requests
from millpond.services.caches.fills import desired as desired_fills
from millpond.services.caches.fills import reports as cache_reports
from millpond.services.deps import Deps
from millpond.services.places import volumes as volume_service
from millpond.settings import Settings
from millpond.testing.builders_data import (
    GB,
    a_dataset,
    a_sized_commit,
    a_volume,
    an_agent,
    the_admin,
    the_volume,
    told,
)
from millpond.testing.builders_work import add_job
from millpond.testing.clock import FakeClock
from millpond.testing.events import FakeEvents
from millpond.testing.server import making_deps
from millpond.wire.desired import DesiredFill
from millpond.wire.observed import FillSeen

SIZES = (30, 40, 50, 60)
CAPACITY, RESERVE = 100 * GB, 10 * GB
COMMITS = st.integers(0, len(SIZES) - 1)
JOBS = st.integers(0, 2)


class CacheMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.stack = ExitStack()
        folder = Path(tempfile.mkdtemp())
        self.stack.callback(shutil.rmtree, folder)
        # Ids decide where all else is equal, and an example must go the same way each time.
        self.stack.enter_context(patch("millpond.model.ids.secrets.token_bytes", Random(0).randbytes))
        self.clock = FakeClock()
        made = making_deps(Settings(data_dir=folder), clock=self.clock, events=FakeEvents())
        self.deps: Deps = self.stack.enter_context(made)
        # The disk: commits that are being written or are published, by the attempt that did it.
        self.filling: dict[str, int] = {}
        self.published: set[str] = set()
        self.held: dict[str, set[str]] = {}
        self.pinned: set[str] = set()
        self.reports: list[FillSeen] = []

    @initialize()
    def set_up(self) -> None:
        self.agent = an_agent(self.deps)
        a_volume(self.deps, self.agent, capacity=CAPACITY, reserve_bytes=RESERVE)
        self.volume = the_volume(self.deps)
        dataset = a_dataset(self.deps)
        self.commits = [a_sized_commit(self.deps, dataset, size=size * GB) for size in SIZES]
        self.size = {commit.id: commit.bytes for commit in self.commits}
        self.jobs = [add_job(self.deps.db, name=f"job-{n}") for n in range(3)]
        self.held = {job.id: set() for job in self.jobs}

    # People and jobs -----------------------------------------------------------------------------

    @rule(number=COMMITS, is_settled=st.booleans())
    def ask(self, number: int, is_settled: bool) -> None:
        name = f"xray@{self.commits[number].id}"
        with suppress(DoesNotFit, NotReady):
            cache_requests.request(self.deps, the_admin(self.deps), dataset=name, volume="nfs")
        if is_settled:
            self.settle()

    @rule(number=COMMITS)
    def clear(self, number: int) -> None:
        view = self.row(number)
        if view is None:
            return
        try:
            cache_requests.clear(self.deps, the_admin(self.deps), view.cached.id)
        except InUse:
            assert self.is_kept(self.commits[number].id)

    @rule(number=COMMITS, pinned=st.booleans())
    def pin(self, number: int, pinned: bool) -> None:
        view = self.row(number)
        if view is None:
            return
        try:
            cache_requests.pin(self.deps, the_admin(self.deps), view.cached.id, pinned=pinned)
        except InUse:
            return
        commit_id = self.commits[number].id
        (self.pinned.add if pinned else self.pinned.discard)(commit_id)

    @rule(job=JOBS, wanted=st.sets(COMMITS, min_size=1, max_size=3))
    def hold(self, job: int, wanted: set[int]) -> None:
        commits = [self.commits[number].id for number in sorted(wanted)]
        try:
            with self.deps.db.write() as tx:
                found = job_caches.ensure_cached_for_job(
                    tx,
                    now=self.clock.now(),
                    job_id=self.jobs[job].id,
                    requested_by=the_admin(self.deps).name,
                    commits=commits,
                    volume_id=self.volume.id,
                )
        except (DoesNotFit, NotReady):
            return
        live = {view.cached.commit_id for view in found if view.cached.state is not CachedState.FAILED}
        self.held[self.jobs[job].id] |= live
        self.settle()

    @rule(job=JOBS)
    def let_go(self, job: int) -> None:
        with self.deps.db.write() as tx:
            job_caches.release_for_job(tx, self.jobs[job].id, now=self.clock.now())
        self.held[self.jobs[job].id].clear()

    @rule(hours=st.integers(0, 30))
    def housekeeping(self, hours: int) -> None:
        self.clock.advance(hours * 3600)
        eviction.evict_all(self.deps)

    # The agent -----------------------------------------------------------------------------------

    @rule(is_finished=st.booleans())
    def fill(self, is_finished: bool) -> None:
        """Begin everything that is wanted, and finish it or not."""
        for fill in self.wanted("present"):
            if fill.commit_id not in self.published:
                self.filling[fill.commit_id] = fill.attempt
            self.tell(told(fill, "filling", done_bytes=1))
            self.the_disk_is_never_overfull()
            if is_finished:
                self.filling.pop(fill.commit_id, None)
                self.published.add(fill.commit_id)
                self.tell(told(fill, "ready"))

    @rule()
    def fail(self) -> None:
        for fill in self.wanted("present")[:1]:
            self.filling.pop(fill.commit_id, None)
            self.tell(told(fill, "failed", problem="a bad name"))

    @rule(is_heard=st.booleans())
    def remove(self, is_heard: bool) -> None:
        for fill in self.wanted("absent"):
            assert not self.is_kept(fill.commit_id), "told to remove what is leased or pinned"
            self.filling.pop(fill.commit_id, None)
            self.published.discard(fill.commit_id)
            report = told(fill, "evicted")
            if is_heard:
                self.tell(report)
            else:
                self.reports.append(report)

    @precondition(lambda self: self.reports)
    @rule(data=st.data())
    def tell_old_news(self, data: st.DataObject) -> None:
        cache_reports.observe_fills(self.deps, self.agent, [data.draw(st.sampled_from(self.reports))])

    def settle(self) -> None:
        """The agent does all it is told, until nothing is left to do."""
        while desired_fills.desired_for(self.deps, self.agent)[1]:
            self.remove(is_heard=True)
            self.fill(is_finished=True)

    # What must always be true --------------------------------------------------------------------

    @invariant()
    def the_disk_is_never_overfull(self) -> None:
        there = self.published | self.filling.keys()
        assert sum(self.size[commit_id] for commit_id in there) <= CAPACITY - RESERVE

    @invariant()
    def the_accounts_cover_the_disk(self) -> None:
        shown = volume_service.get(self.deps, "nfs")
        assert shown.used_bytes <= CAPACITY - RESERVE
        assert shown.free_bytes == CAPACITY - RESERVE - shown.used_bytes

    @invariant()
    def each_commit_is_filled_once(self) -> None:
        _, fills = desired_fills.desired_for(self.deps, self.agent)
        assert len({fill.commit_id for fill in fills}) == len(fills)
        assert len({fill.attempt for fill in fills}) == len(fills)

    @invariant()
    def what_is_held_stays(self) -> None:
        with self.deps.db.read() as tx:
            state = {view.cached.commit_id: view.cached.state for view in rows.of_volume(tx, self.volume.id)}
        for commit_id in self.size:
            if self.is_kept(commit_id):
                assert state[commit_id] is not CachedState.EVICTING
            if state.get(commit_id) is CachedState.READY:
                assert commit_id in self.published

    # Parts ---------------------------------------------------------------------------------------

    def row(self, number: int) -> rows.CachedView | None:
        with self.deps.db.read() as tx:
            return rows.find(tx, self.volume.id, self.commits[number].id)

    def is_kept(self, commit_id: str) -> bool:
        return commit_id in self.pinned or any(commit_id in held for held in self.held.values())

    def wanted(self, want: str) -> list[DesiredFill]:
        return [fill for fill in desired_fills.desired_for(self.deps, self.agent)[1] if fill.want == want]

    def tell(self, report: FillSeen) -> None:
        self.reports.append(report)
        cache_reports.observe_fills(self.deps, self.agent, [report])

    def teardown(self) -> None:
        self.stack.close()


TestCacheMachine = CacheMachine.TestCase
# An example is a database and some hundred transactions: a third of the usual number.
TestCacheMachine.settings = settings(max_examples=settings.default.max_examples // 3, stateful_step_count=30)
