"""How long plans take and how good they are. `make bench-scheduler [SEED=n]`; the last line is JSON.

All times are process CPU time. The peers of the simulated day are FIFO and best fit on the same jobs. In that day, jobs
of several GPUs save a checkpoint when they are preempted, within 30 s; a day in which nobody does is shown besides.
`goodput` is the lower one of a day without and one with a minimum runtime of ten minutes.
"""

from __future__ import annotations

import argparse
import json
import resource
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from random import Random
from statistics import median
from time import process_time
from typing import Any

from benchmarks.scheduler_database import plan_round, stored
from benchmarks.scheduler_load import NOW, day, full_cluster, reclaimed_cluster
from benchmarks.scheduler_peers import FirstCome
from millpond.decide.scheduling.plan import Plan
from millpond.decide.scheduling.planner import Planner, plan
from millpond.decide.scheduling.simulate import Outcome, simulate
from millpond.decide.scheduling.snapshot import Pending, Snapshot


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--growth", action="store_true", help="also 10, 100 and 5,000 nodes")
    options = parser.parse_args()
    found = speed(options.seed, growth=options.growth) | simulated_day(options.seed)
    found["rss_mb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    report("memory", found["rss_mb"], "MB (500)")
    print(json.dumps(found))


def speed(seed: int, *, growth: bool) -> dict[str, Any]:
    found: dict[str, Any] = {}
    snapshot = full_cluster(seed)
    found["plan_s"] = round(median(timed(lambda: plan(snapshot)) for _ in range(5)), 3)
    report("a plan, 1,000 nodes, 10,000 jobs waiting", found["plan_s"], "s (1.0)")
    for nodes in (10, 100, 5000) if growth else ():
        grown = full_cluster(seed, nodes=nodes, projects=min(100, nodes), queued=10 * nodes)
        report(f"  with {nodes} nodes", round(timed(lambda grown=grown: plan(grown)), 3), "s")
    with stored(snapshot) as deps:
        now = datetime.fromtimestamp(snapshot.now, UTC)
        found["round_s"] = round(median(timed(lambda: plan_round(deps, now)) for _ in range(5)), 3)
    report("the same from a database", found["round_s"], "s (2.0)")
    found["replan_share"] = round(replan(snapshot, seed) / found["plan_s"], 3)
    report("planning again after one event, 95th percentile", found["replan_share"], "× a plan (0.2)")
    reclaimed = reclaimed_cluster(seed)
    found["reclaim_s"] = round(median(timed(lambda: plan(reclaimed)) for _ in range(5)), 3)
    report("claiming a quarter of 500 full nodes", found["reclaim_s"], "s (0.5)")
    return found


def report(what: str, value: object, unit: str) -> None:
    print(f"{what:56} {value} {unit}", flush=True)


def timed(call: Callable[[], object]) -> float:
    start = process_time()
    call()
    return process_time() - start


def replan(snapshot: Snapshot, seed: int, events: int = 100) -> float:
    """The 95th percentile of one plan after one job has ended or arrived."""
    random = Random(seed)
    planner = Planner(snapshot)
    planner.plan(NOW)
    times = []
    for number in range(events):
        now = NOW + number
        if random.random() < 0.5:
            planner.leave(random.choice(sorted(planner.pools[0].running)))
        else:
            old = random.choice(snapshot.pending)
            planner.wait(replace(old, job=replace(old.job, id=f"new{number}", submitted=now)))
        start = process_time()
        made = planner.plan(now)
        times.append(process_time() - start)
        requeue(planner, snapshot, made)
    return sorted(times)[int(0.95 * events)]


def requeue(planner: Planner, snapshot: Snapshot, made: Plan) -> None:
    jobs = {one.job.id: one.job for one in snapshot.running} | {one.job.id: one.job for one in snapshot.pending}
    for stop in made.preemptions:
        if stop.job in jobs:
            planner.wait(Pending(jobs[stop.job]))


def simulated_day(seed: int) -> dict[str, Any]:
    start, arrivals = day(seed)
    until = NOW + 86_400
    began = process_time()
    ours = simulate(start, arrivals, until)
    found: dict[str, Any] = {"day_s": round(process_time() - began, 1)}
    report("a day: 100 nodes, 20 projects, 10,000 jobs", found["day_s"], "s (60)")
    best = simulate(start, arrivals, until, lambda one: FirstCome(one, backfill=True))
    fifo = simulate(start, arrivals, until, lambda one: FirstCome(one, backfill=False))
    projects = tuple(replace(project, min_runtime=600.0) for project in start.projects)
    patient = simulate(replace(start, projects=projects), arrivals, until)
    careless = simulate(start, [replace(one, grace=None) for one in arrivals], until)
    outcomes = {
        "ours": ours, "ours, 10 min at least": patient, "ours, no checkpoints": careless,
        "best fit": best, "FIFO": fifo,
    }  # fmt: skip
    for name, outcome in outcomes.items():
        report(f"  {name}", describe(outcome), "")
    return found | {
        "goodput": round(min(ours.goodput, patient.goodput), 3),
        "goodput_best_fit": round(best.goodput, 3),
        "lost_share": round(ours.lost_share, 4),
        "max_preemptions": ours.max_preemptions,
        "jain": round(ours.jain, 3),
        "jain_fifo": round(fifo.jain, 3),
    }


def describe(one: Outcome) -> str:
    return (
        f"goodput {one.goodput:.3f}, lost {one.lost_share:.4f}, Jain {one.jain:.3f}, {one.finished} finished, "
        f"mean wait {one.mean_wait():.0f} s, {one.preemptions} preemptions, at most {one.max_preemptions} of one job"
    )


if __name__ == "__main__":
    main()
