"""Properties of placement that hold for any snapshot, and the questions asked beside the plan."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from millpond.decide.computes import WHOLE
from millpond.decide.placement import (
    Held,
    NearView,
    NodeView,
    QueuedJob,
    Snapshot,
    Start,
    likely_node,
    plan_starts,
    still_fits,
)
from millpond.model.job_spec import Resources
from millpond.testing.builders_work import GB, a_node, a_queued_job

nodes = st.lists(
    st.builds(
        lambda number, cpus, gpus, connected: a_node(f"n{number}", cpus=cpus, gpus=gpus, connected=connected),
        st.integers(0, 5), st.integers(1, 8), st.integers(0, 4), st.booleans(),
    ),
    max_size=4, unique_by=lambda node: node.name,
)  # fmt: skip
asked = st.tuples(st.integers(0, 6), st.one_of(st.integers(0, 100), st.sampled_from([100, 150, 200, 300])))


def queue(amounts: list[tuple[int, int]]) -> tuple[QueuedJob, ...]:
    return tuple(a_queued_job(f"j{n}", cpu=cpu, gpus=gpus) for n, (cpu, gpus) in enumerate(amounts))


def with_plan(found: list[NodeView], jobs: tuple[QueuedJob, ...]) -> tuple[list[NodeView], set[str]]:
    """The nodes after a plan has been carried out, and which jobs it started."""
    plan = plan_starts(Snapshot(tuple(found), jobs))
    amounts = {job.id: job.spec.resources for job in jobs}
    taken: dict[str, list[Held]] = defaultdict(list)
    for start in plan.starts:
        taken[start.node].append(Held(amounts[start.job_id], start.gpu_indices))
    assert {start.job_id for start in plan.starts} | plan.waits.keys() == amounts.keys()
    after = [replace(node, held=(*node.held, *taken[node.name])) for node in found]
    return after, {start.job_id for start in plan.starts}


@settings(deadline=None)
@given(nodes, st.lists(asked, max_size=12))
def test_nothing_is_promised_beyond_its_whole(found: list[NodeView], amounts: list[tuple[int, int]]) -> None:
    after, _ = with_plan(found, queue(amounts))
    for node in after:
        assert sum(held.resources.cpu for held in node.held) <= node.cpus
        shares: dict[int, int] = defaultdict(int)
        for held in node.held:
            left = held.resources.gpu_hundredths
            assert len(held.gpu_indices) == -(-left // WHOLE)
            for index in held.gpu_indices:
                shares[index] += min(left, WHOLE)
                left -= min(left, WHOLE)
        assert all(index < node.gpus and share <= WHOLE for index, share in shares.items())


@settings(deadline=None)
@given(nodes, st.lists(asked, max_size=12))
def test_whoever_waits_does_not_fit_what_is_left(found: list[NodeView], amounts: list[tuple[int, int]]) -> None:
    jobs = queue(amounts)
    after, started = with_plan(found, jobs)
    waiting = tuple(job for job in jobs if job.id not in started)
    assert plan_starts(Snapshot(tuple(after), waiting)).starts == ()


@settings(deadline=None)
@given(nodes, st.lists(asked, max_size=12), st.randoms(use_true_random=False))
def test_equal_snapshots_give_equal_plans(
    found: list[NodeView], amounts: list[tuple[int, int]], random: object
) -> None:
    jobs = queue(amounts)
    shuffled = list(found)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert plan_starts(Snapshot(tuple(found), jobs)) == plan_starts(Snapshot(tuple(shuffled), jobs))


def test_the_start_says_how_much_must_be_fetched() -> None:
    near = {"compute-local": NearView(1, frozenset({"here"}))}
    jobs = (a_queued_job("a", needs={"here": GB, "away": 2 * GB}), a_queued_job("b", needs={"here": GB}))
    first, second = plan_starts(Snapshot((a_node(),), jobs, near)).starts
    assert first.reasons == ("Placed on local: 2.0 GB of its data must be fetched.",)
    assert second.reasons == ("Placed on local: its data is cached there or on the way.",)


def test_the_start_says_how_long_fetching_takes_once_that_is_measured() -> None:
    near = {"compute-local": NearView(1, bytes_per_second=100e6)}
    (start,) = plan_starts(Snapshot((a_node(),), (a_queued_job("a", needs={"away": 2 * GB}),), near)).starts
    assert start.reasons == (
        "Placed on local: 2.0 GB of its data must be fetched, about 20.0 s at the measured bandwidth.",
    )


def test_the_likely_node_is_asked_as_if_nothing_ran() -> None:
    full = a_node(cpus=2, held=(Held(Resources(cpu=2)),))
    assert likely_node(a_queued_job("a", cpu=2), Snapshot((full,))) is not None
    assert likely_node(a_queued_job("a", cpu=3), Snapshot((full,))) is None
    assert likely_node(a_queued_job("a"), Snapshot((a_node(connected=False),))) is None


def test_room_is_looked_at_again_before_it_is_taken() -> None:
    node = a_node(gpus=2, held=(Held(Resources(gpu_hundredths=50), (0,)),))

    def fits(resources: Resources, *indices: int) -> bool:
        return still_fits([node], resources, Start("a", node.compute_id, node.name, indices, ()))

    assert fits(Resources(gpu_hundredths=100), 1)
    assert fits(Resources(gpu_hundredths=50), 0)
    assert not fits(Resources(gpu_hundredths=100), 0)
    assert not fits(Resources(gpu_hundredths=60), 0)
    assert not fits(Resources(cpu=9))
    assert not fits(Resources(gpu_hundredths=100), 2)
