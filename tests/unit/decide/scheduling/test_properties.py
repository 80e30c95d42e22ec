"""What holds for every plan, whatever the cluster: searched by Hypothesis."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import replace
from random import Random

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from millpond.decide.scheduling import rules
from millpond.decide.scheduling.plan import Plan
from millpond.decide.scheduling.planner import Planner, plan
from millpond.decide.scheduling.shares import Claimant, divide_shares
from millpond.decide.scheduling.snapshot import WHOLE, Node, Pending, Project, Running, Snapshot
from millpond.testing.scheduling import Cluster, a_gpu_node, a_pending, a_project

PROJECTS = ("a", "b", "c")
quick = settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large], deadline=None)

sizes = st.sampled_from([0, 0.2, 0.5, 0.6, 1, 1, 1, 2, 2, 3, 4, 8])


@st.composite
def nodes(draw: st.DrawFn) -> tuple[Node, ...]:
    shape = draw(st.lists(st.sampled_from([0, 1, 2, 4, 8]), min_size=1, max_size=4))
    together = draw(st.booleans())
    return tuple(
        a_gpu_node(f"n{number}", gpus, compute="farm" if together else f"n{number}", cpu=16)
        for number, gpus in enumerate(shape)
    )


@st.composite
def projects(draw: st.DrawFn) -> tuple[Project, ...]:
    return tuple(
        a_project(
            name,
            draw(st.sampled_from([0, 1, 2, 3, 4, 8])),
            over_quota=draw(st.sampled_from([True, True, True, False])),
            limit=draw(st.sampled_from([None, None, None, 300])),
        )
        for name in PROJECTS
    )


@st.composite
def jobs(draw: st.DrawFn) -> list[Pending]:
    return [
        a_pending(
            f"j{number:02}",
            draw(st.sampled_from(PROJECTS)),
            gpus := draw(sizes),
            processes=draw(st.sampled_from([0, 0, 0, 0, 2, 3])) if gpus >= 1 else 0,
            cpu=draw(st.sampled_from([0, 0, 4])),
            priority=draw(st.sampled_from([0, 0, 0, 5])),
            preemptible=draw(st.sampled_from([True, True, True, False])),
            time_limit=draw(st.sampled_from([None, None, 60.0, 600.0])),
        )
        for number in range(draw(st.integers(1, 14)))
    ]


@st.composite
def stories(draw: st.DrawFn) -> tuple[Cluster, list[Pending | int]]:
    """A cluster, and what happens to it: a job is submitted, or the n-th of the running ones ends."""
    cluster = Cluster(draw(nodes()), draw(projects()), rebalance=draw(st.booleans()))
    story: list[Pending | int] = []
    for job in draw(jobs()):
        story.append(job)
        if draw(st.integers(0, 3)) == 0:
            story.append(draw(st.integers(0, 5)))
    return cluster, story


def follow(cluster: Cluster, event: Pending | int) -> tuple[Snapshot, Plan]:
    cluster.now += 1
    if isinstance(event, int):
        ending = sorted(cluster.running)[event : event + 1]
        cluster.delete(*ending)
    else:
        cluster.pending[event.job.id] = replace(event, job=replace(event.job, submitted=cluster.now))
    before = cluster.snapshot()
    made = plan(before)
    cluster.follow(made)
    return before, made


@quick
@given(stories(), st.randoms(use_true_random=False))
def test_every_plan_keeps_the_rules(told: tuple[Cluster, list[Pending | int]], random: Random) -> None:
    cluster, story = told
    kept = Planner(cluster.snapshot())
    for event in story:
        before, made = follow(cluster, event)
        check_plan(cluster, before, made)
        assert plan(shuffled(before, random)) == made
        assert follow_in_place(kept, before, event) == made
        come_to_rest(cluster, kept)


def come_to_rest(cluster: Cluster, kept: Planner) -> None:
    """Let victims end, wait again and be planned for, until nothing happens any more; no job is preempted twice."""
    stopped = set(cluster.ending)
    for _ in range(len(cluster.projects) * 4):
        check_only_the_clock_moved(cluster)
        if not cluster.ending:
            return
        end_victims(cluster, kept)
        cluster.now += 1
        before = cluster.snapshot()
        made = plan(before)
        assert kept.plan(before.now) == made
        cluster.follow(made)
        check_plan(cluster, before, made)
        assert not stopped & set(cluster.ending), "preempted twice"
        stopped |= set(cluster.ending)
    raise AssertionError("plans do not come to rest")


def check_only_the_clock_moved(cluster: Cluster) -> None:
    cluster.now += 100
    again = plan(cluster.snapshot())
    assert again.changes_nothing, again


def check_plan(cluster: Cluster, before: Snapshot, made: Plan) -> None:
    check_no_gpu_is_promised_twice(cluster)
    check_nobody_in_quota_is_preempted_for_another_project(before, made)
    check_no_victim_could_be_left_out(before, made, cluster)
    check_what_fits_is_started(cluster)


def check_no_gpu_is_promised_twice(cluster: Cluster) -> None:
    taken: dict[tuple[str, int], int] = defaultdict(int)
    cpus: dict[str, int] = defaultdict(int)
    for running in cluster.running.values():
        size = running.job.size
        assert len(running.seats) == size.seats
        for seat in running.seats:
            cpus[seat.node] += size.cpu
            assert len(set(seat.gpu_ids)) == len(seat.gpu_ids) == -(-size.gpu // WHOLE)
            for index in seat.gpu_ids:
                taken[seat.node, index] += min(size.gpu, WHOLE)
    assert all(amount <= WHOLE for amount in taken.values())
    gpus, cpu = {n.id: n.gpus for n in cluster.nodes}, {n.id: n.cpu for n in cluster.nodes}
    assert all(index < gpus[node] for node, index in taken)
    assert all(amount <= cpu[node] for node, amount in cpus.items())


def check_nobody_in_quota_is_preempted_for_another_project(before: Snapshot, made: Plan) -> None:
    if not made.preemptions:
        return
    known = {one.job.id: one.job for one in before.running} | {one.job.id: one.job for one in before.pending}
    # A job of its own project that starts in the same plan may take its place within the quota.
    started = tuple(Running(known[start.job], start.seats) for start in made.starts)
    accounts = Planner(replace(before, running=(*before.running, *started), pending=())).pools[0].accounts
    for stop in made.preemptions:
        taker, victim = known[stop.taker], known[stop.job]
        assert victim.preemptible
        if taker.project == victim.project:
            assert stop.rule == rules.PRIORITY
            assert taker.priority > victim.priority
        else:
            assert victim.id in accounts[victim.project].over


def check_no_victim_could_be_left_out(before: Snapshot, made: Plan, cluster: Cluster) -> None:
    """It was needed for the room on its taker's nodes or, within a project, for a limit or beside a reservation."""
    jobs = {one.job.id: one.job for one in before.pending}
    for start in made.starts:
        job, seats = jobs[start.job], Counter(seat.node for seat in start.seats)
        for victim in start.victims:
            after = [one for one in cluster.running.values() if one.job.id != start.job]
            spared = next(one for one in before.running if one.job.id == victim)
            kept = replace(before, running=(*after, spared), pending=(), reservations=())
            pool = Planner(kept).pools[0]
            reserved = {node for one in (*before.reservations, *made.reservations) for node in one.nodes}
            bounded = reserved & seats.keys() or not rules.may_hold(pool.accounts[job.project], job.size.gpus)
            if bounded and spared.job.project == job.project:
                continue
            rooms = pool.fleet.rooms
            assert any(rooms[node].count(job.size, count) < count for node, count in seats.items()), (start, victim)


def check_what_fits_is_started(cluster: Cluster) -> None:
    pool = Planner(cluster.snapshot()).pools[0]
    pool.begin(cluster.now)
    pool.refresh_reservations()
    for account in pool.accounts.values():
        for line in account.heads():
            wanted = line.head
            if rules.obstacle(account, line, cluster.now) is not None or wanted.job.size.processes:
                continue
            claim = rules.is_claim(account, line)
            for room in pool.fleet.open_rooms(None):
                free = room.fits(wanted.job.size) and rules.may_use(room, wanted, cluster.now, claim=claim)
                assert not free, (wanted, room.node)


def shuffled(snapshot: Snapshot, random: Random) -> Snapshot:
    return replace(
        snapshot,
        nodes=tuple(random.sample(snapshot.nodes, len(snapshot.nodes))),
        projects=tuple(random.sample(snapshot.projects, len(snapshot.projects))),
        running=tuple(random.sample(snapshot.running, len(snapshot.running))),
        pending=tuple(random.sample(snapshot.pending, len(snapshot.pending))),
        reservations=tuple(random.sample(snapshot.reservations, len(snapshot.reservations))),
    )


def follow_in_place(kept: Planner, before: Snapshot, event: Pending | int) -> Plan:
    """The same event told to a planner that is kept."""
    if isinstance(event, int):
        gone = {job for pool in kept.pools for job in pool.running} - {one.job.id for one in before.running}
        for job in gone:
            kept.leave(job)
    else:
        kept.wait(next(one for one in before.pending if one.job.id == event.job.id))
    return kept.plan(before.now)


def end_victims(cluster: Cluster, kept: Planner) -> None:
    ended = list(cluster.ending)
    begun = [name for name, one in cluster.running.items() if one.nominated]
    cluster.end_victims()
    for name in ended:
        kept.wait(cluster.pending[name])
    for name in begun:
        kept.change(cluster.running[name])


@quick
@given(stories())
def test_every_job_starts_in_time_when_nothing_new_arrives(told: tuple[Cluster, list[Pending | int]]) -> None:
    """Attempts end within T, so each step lets everything end that ran since the step before."""
    cluster, story = told
    for event in story:
        follow(cluster, event)
    waiting = set(cluster.pending)
    steps = 2 * (len(waiting) + 1)
    done: set[str] = set()
    for _ in range(steps):
        done |= set(cluster.running)
        cluster.delete(*cluster.running)
        cluster.now += 1000
        cluster.settle()
    done |= set(cluster.running)
    pool = Planner(replace(cluster.snapshot(), running=())).pools[0]
    for account in pool.accounts.values():
        for line in account.heads():
            assert rules.obstacle(account, line, cluster.now) is not None, line.head


amounts = st.integers(0, 12).map(lambda gpus: gpus * 50)


@given(st.lists(st.tuples(amounts, amounts), min_size=1, max_size=5), st.integers(0, 20), st.integers(1, 400))
def test_a_larger_quota_never_lowers_its_owners_share(teams: list[tuple[int, int]], gpus: int, more: int) -> None:
    def claimants(first: int) -> list[Claimant]:
        quotas = [first, *(quota for quota, _ in teams[1:])]
        return [
            Claimant(f"p{number}", quota, max(quota, WHOLE), demand)
            for number, (quota, (_, demand)) in enumerate(zip(quotas, teams, strict=True))
        ]

    before = divide_shares(gpus * WHOLE, claimants(teams[0][0]))["p0"]
    assert divide_shares(gpus * WHOLE, claimants(teams[0][0] + more))["p0"] >= before
