"""Invariants 3 and 4 over the pure decisions, against a plain model of a disk.

The model is a disk with files: a commit is a set of them, and commits of one project share what they have in common.
Fills are admitted, wait, begin and end in any order; what is measured is measured late; people pin and hold. Whatever
happens, the disk never holds more than it may, nothing that is held goes, no project has more than its limit, and a
commit is filled at most once at a time.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from millpond.decide.admission import Admit, Asked, VolumeSpace, admit, fills_to_start, usable_room
from millpond.decide.eviction import VolumeLimits, plan_evictions
from millpond.decide.forecast import forecast
from millpond.decide.stock import Room, Stock, StockedCommit, evictable, freed_by, linking, shares_of, used_room
from millpond.model.cached_state import CachedState
from millpond.model.quantity import DAY
from millpond.model.volume import Share
from millpond.testing.clock import NOON

FILE, DIRECTORY = 10, 1
CAPACITY, RESERVE, DISK = 90, 10, 95
INODES, KEPT_INODES = 12, 1
LIMIT = {"small": 35}
# Which files each commit has; those of one project overlap.
TREES: dict[str, tuple[str, frozenset[int]]] = {
    "a1": ("large", frozenset({1, 2, 3})),
    "a2": ("large", frozenset({2, 3, 4})),
    "a3": ("large", frozenset({3, 4, 5, 6, 7})),
    "b1": ("small", frozenset({1, 2})),
    "b2": ("small", frozenset({1, 2, 3})),
    "b3": ("small", frozenset({8, 9, 10})),
}
COMMITS = st.sampled_from(sorted(TREES))


@dataclass(frozen=True)
class Row:
    """What the server knows of a commit."""

    state: CachedState
    reserved: Room
    attempt: int = 0
    base: str | None = None
    pinned: bool = False
    holds: int = 0
    asked: int = 0
    used: int = 0


class StockMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.hours = 0
        self.order = 0
        self.rows: dict[str, Row] = {}
        self.measured: dict[str, list[Share]] = {}
        # The disk: commits that are whole, and those that are being written (which may have everything already).
        self.there: set[str] = set()
        self.writing: set[str] = set()

    # What the server does ------------------------------------------------------------------------

    @rule(commit=COMMITS, beside=st.booleans())
    def ask(self, commit: str, beside: bool) -> None:
        known = self.rows.get(commit)
        if known is not None and known.state is not CachedState.FAILED:
            return
        base = self.base_of(commit) if beside else None
        needed = self.room(commit, base)
        answer = admit(self.space(), self.stock().without(commit), Asked(commit, needed, TREES[commit][0], base))
        if not isinstance(answer, Admit):
            self.check_refusal(commit, needed, base)
            return
        for evict in answer.evict:
            assert evict.id != base
            self.evict(evict.id)
        self.order += 1
        self.rows[commit] = Row(CachedState.FILLING, needed, base=base, asked=self.order, used=self.hours)
        self.start()

    @rule(hours=st.integers(0, 30))
    def housekeeping(self, hours: int) -> None:
        self.hours += hours
        stock = self.stock()
        usable = usable_room(self.space(), stock)
        limits = VolumeLimits(usable.bytes, DAY, 80, 50, usable.inodes)
        now = NOON + timedelta(hours=self.hours)
        plan = plan_evictions(limits, stock, now)
        assert len({evict.id for evict in plan}) == len(plan)
        told = forecast(limits, stock, now)
        assert [step.id for step in told.goes if step.at == now and step.cause][: len(plan)] == [e.id for e in plan]
        assert {step.id for step in (*told.goes, *told.stays)} >= {held.id for held in stock.held if held.may_go}
        for evict in plan:
            self.evict(evict.id)

    @rule(commit=COMMITS, pinned=st.booleans())
    def pin(self, commit: str, pinned: bool) -> None:
        if commit in self.rows and self.rows[commit].state is not CachedState.EVICTING:
            self.rows[commit] = replace(self.rows[commit], pinned=pinned)

    @rule(commit=COMMITS, more=st.booleans())
    def hold(self, commit: str, more: bool) -> None:
        row = self.rows.get(commit)
        if row is not None and row.state is not CachedState.EVICTING:
            self.rows[commit] = replace(row, holds=max(0, row.holds + (1 if more else -1)), used=self.hours)

    @rule(commit=COMMITS)
    def clear(self, commit: str) -> None:
        """By people, also what a fill links from."""
        row = self.rows.get(commit)
        if row is not None and row.state is CachedState.READY and not row.pinned and not row.holds:
            self.evict(commit)

    # What the agent does -------------------------------------------------------------------------

    @precondition(lambda self: self.writing)
    @rule(data=st.data(), fails=st.booleans())
    def end_fill(self, data: st.DataObject, fails: bool) -> None:
        commit = data.draw(st.sampled_from(sorted(self.writing)))
        self.writing.discard(commit)
        state = CachedState.FAILED if fails else CachedState.READY
        if not fails:
            self.there.add(commit)
        self.rows[commit] = replace(self.rows[commit], state=state, used=self.hours)
        self.start()

    @rule(most=st.integers(1, 9))
    def remove(self, most: int) -> None:
        for commit in [name for name, row in self.rows.items() if row.state is CachedState.EVICTING][:most]:
            self.there.discard(commit)
            self.writing.discard(commit)
            del self.rows[commit]
            for one in linking(self.stock(), leaving=True):
                if one.base_id == commit:
                    self.rows[one.id] = replace(self.rows[one.id], base=None, reserved=self.room(one.id, None))
        self.start()

    @rule(project=st.sampled_from(["large", "small"]))
    def measure(self, project: str) -> None:
        """File by file: which of the trees that are there have it."""
        trees = [commit for commit in self.there if TREES[commit][0] == project]
        owners: dict[frozenset[str], int] = {frozenset((commit,)): 0 for commit in trees}
        for file in {file for commit in trees for file in TREES[commit][1]}:
            members = frozenset(commit for commit in trees if file in TREES[commit][1])
            owners[members] = owners.get(members, 0) + 1
        self.measured[project] = [
            Share(who, n * FILE + (DIRECTORY if len(who) == 1 else 0), n + (1 if len(who) == 1 else 0))
            for who, n in owners.items()
        ]
        self.start()

    # What must always be true --------------------------------------------------------------------

    @invariant()
    def the_disk_is_never_overfull(self) -> None:
        room = self.on_disk()
        assert room.bytes <= CAPACITY - RESERVE
        assert room.inodes <= INODES - KEPT_INODES

    @invariant()
    def no_project_has_more_than_its_limit(self) -> None:
        assert self.on_disk("small").bytes <= LIMIT["small"]

    @invariant()
    def the_accounts_cover_the_disk(self) -> None:
        used, real = used_room(self.stock()), self.on_disk()
        assert used.bytes >= real.bytes
        assert used.inodes >= real.inodes

    @invariant()
    def a_fill_waits_only_for_what_is_leaving(self) -> None:
        """Admission promised no more than it had evicted. How many files a fill has made is known when it ends: until
        then another may wait for the inodes it seems to lack."""
        leaving = any(row.state is CachedState.EVICTING for row in self.rows.values())
        assert leaving or self.writing or not any(one.is_waiting for one in self.stock().held)

    @invariant()
    def what_is_held_stays(self) -> None:
        for commit, row in self.rows.items():
            if row.pinned or row.holds:
                assert row.state is not CachedState.EVICTING
            if row.state is CachedState.READY:
                assert commit in self.there
            if row.state is CachedState.FILLING and row.base is not None:
                assert self.rows[row.base].state in (CachedState.READY, CachedState.EVICTING)

    @invariant()
    def measured_shares_free_exactly_what_the_disk_gets_back(self) -> None:
        stock = self.stock()
        whole = {name for name, row in self.rows.items() if row.state in (CachedState.READY, CachedState.EVICTING)}
        known = {member for shares in self.measured.values() for share in shares for member in share.members}
        for project in ("large", "small"):
            mine = {name for name in whole if TREES[name][0] == project}
            if not mine or not mine <= known:
                continue
            for gone in [*({name} for name in mine), mine]:
                back = self.size(mine) - self.size(mine - gone)
                assert freed_by(shares_of(stock), gone) == back

    # Parts ---------------------------------------------------------------------------------------

    def check_refusal(self, commit: str, needed: Room, base: str | None) -> None:
        """Even with everything gone that may go, there is not enough."""
        stock = self.stock().without(commit)
        gone = {one.id for one in evictable(stock, besides=[base] if base else [])}
        gone |= {name for name, row in self.rows.items() if row.state is CachedState.EVICTING}
        for one in reversed(linking(stock, leaving=True)):
            gone -= set() if one.id in gone else {one.base_id}
        left = shares_of(stock)
        stays = Room(sum(s.bytes for s in left), sum(s.inodes for s in left)) - freed_by(left, gone)
        project = TREES[commit][0]
        own = sum(s.bytes for s in left if not s.members <= gone and TREES[next(iter(s.members))][0] == project)
        fits = usable_room(self.space(), stock).holds(stays + needed)
        assert not fits or own + needed.bytes > LIMIT.get(project, 10**9)

    def evict(self, commit: str) -> None:
        row = self.rows[commit]
        assert row.state is CachedState.READY
        assert not row.pinned and not row.holds
        self.rows[commit] = replace(row, state=CachedState.EVICTING)

    def start(self) -> None:
        stock = self.stock()
        for commit in fills_to_start(usable_room(self.space(), stock), stock):
            assert commit not in self.writing, "filled twice at once"
            self.writing.add(commit)
            self.rows[commit] = replace(self.rows[commit], attempt=1)

    def base_of(self, commit: str) -> str | None:
        project = TREES[commit][0]
        found = [n for n, r in sorted(self.rows.items()) if r.state is CachedState.READY and TREES[n][0] == project]
        return found[0] if found else None

    def room(self, commit: str, base: str | None) -> Room:
        files = TREES[commit][1] - (TREES[base][1] if base else frozenset())
        return Room(len(files) * FILE + DIRECTORY, len(files) + 1)

    def size(self, commits: set[str]) -> Room:
        files = {(TREES[commit][0], file) for commit in commits for file in TREES[commit][1]}
        return Room(len(files) * FILE + len(commits) * DIRECTORY, len(files) + len(commits))

    def on_disk(self, project: str | None = None) -> Room:
        return self.size({one for one in self.there | self.writing if project in (None, TREES[one][0])})

    def space(self) -> VolumeSpace:
        """What the agent measures now."""
        real = self.on_disk()
        free, inodes = DISK - real.bytes, INODES - real.inodes
        return VolumeSpace("nfs", CAPACITY, RESERVE, free, DISK, inodes_total=INODES, inodes_free=inodes)

    def stock(self) -> Stock:
        held = [
            StockedCommit(
                id=name,
                name=name,
                state=row.state,
                attempt=row.attempt,
                reserved_bytes=row.reserved.bytes,
                written_bytes=row.reserved.bytes if name in self.writing else 0,
                requested_at=NOON + timedelta(seconds=row.asked),
                used_at=NOON + timedelta(hours=row.used),
                pinned=row.pinned,
                leased_by=("somebody",) * row.holds,
                project_id=TREES[name][0],
                reserved_inodes=row.reserved.inodes,
                written_inodes=row.reserved.inodes if name in self.writing else 0,
                base_id=row.base,
            )
            for name, row in sorted(self.rows.items())
        ]
        return Stock(held, [share for shares in self.measured.values() for share in shares], LIMIT)


TestStockMachine = StockMachine.TestCase
