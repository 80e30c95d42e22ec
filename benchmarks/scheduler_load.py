"""Made-up clusters and queues for the scheduler's benchmark: the same seed gives the same load."""

from __future__ import annotations

from dataclasses import replace
from math import exp
from random import Random

from millpond.decide.scheduling.fleet import Fleet
from millpond.decide.scheduling.simulate import Arrival
from millpond.decide.scheduling.snapshot import WHOLE, Job, Node, Pending, Place, Project, Running, Size, Snapshot

SITES = 10
DATASETS = 50
GPUS = 8
NOW = 1_000_000.0
GRACE = 30.0


def full_cluster(seed: int, *, nodes: int = 1000, projects: int = 100, queued: int = 10_000) -> Snapshot:
    """95 % of the GPUs taken; the queue of the issue: fractions, single GPUs, 2 to 4, 8, gangs of 2 to 16 nodes."""
    random = Random(seed)
    made = _nodes(random, nodes)
    teams = _projects(random, projects, nodes * GPUS)
    places = _places(random)
    running = _running(random, made, teams)
    pending = [_pending(random, number, teams, places) for number in range(queued)]
    return Snapshot(NOW, made, teams, running, tuple(pending))


def reclaimed_cluster(seed: int, *, nodes: int = 500) -> Snapshot:
    """Full of over-quota jobs; one project claims a quarter of the GPUs in jobs of 8."""
    random = Random(seed)
    made = _nodes(random, nodes)
    takers = nodes * GPUS // 4
    teams = (Project("taker", {"": takers * WHOLE}), *(Project(f"giver-{n:02}", {"": 0}) for n in range(20)))
    running = _running(random, made, teams[1:], share=1.0)
    jobs = [Job(f"t-{n:04}", "taker", Size(gpu=GPUS * WHOLE), submitted=NOW + n) for n in range(takers // GPUS)]
    return Snapshot(NOW, made, teams, running, tuple(Pending(job) for job in jobs))


def day(seed: int, *, nodes: int = 100, projects: int = 20, jobs: int = 10_000) -> tuple[Snapshot, list[Arrival]]:
    """Log-normal durations with a median of 20 minutes; as many GPU-hours are asked for as 1.2 days have."""
    random = Random(seed)
    made = tuple(replace(node, offers=frozenset()) for node in _nodes(random, nodes))
    teams = _projects(random, projects, nodes * GPUS)
    arrivals = []
    for number in range(jobs):
        size = random.choices(
            [
                Size(gpu=100), Size(gpu=50), Size(gpu=200), Size(gpu=400), Size(gpu=800),
                Size(gpu=800, processes=random.randint(2, 4)),
            ],
            [45, 15, 15, 10, 10, 5],
        )[0]  # fmt: skip
        job = Job(f"j{number:05}", random.choice(teams).name, size, submitted=NOW + random.random() * 86_400)
        # Training on several GPUs saves a checkpoint when it is told to stop, within its grace; small jobs save none.
        grace = GRACE if size.gpus > WHOLE else None
        arrivals.append(Arrival(Pending(job), 1200 * exp(random.gauss(0, 1)), grace=grace))
    asked = sum(one.duration * one.pending.job.size.gpus / WHOLE for one in arrivals)
    factor = 1.2 * 86_400 * nodes * GPUS / asked
    arrivals = [replace(one, duration=one.duration * factor) for one in arrivals]
    return Snapshot(NOW, made, teams), arrivals


def _nodes(random: Random, count: int) -> tuple[Node, ...]:
    return tuple(
        Node(
            f"n{number:04}",
            compute=f"site{number % SITES}",
            zone=f"site{number % SITES}",
            gpus=GPUS,
            cpu=64,
            memory=512 * 10**9,
            offers=frozenset({f"rack={random.randrange(4)}"}) if random.random() < 0.1 else frozenset(),
        )
        for number in range(count)
    )


def _projects(random: Random, count: int, gpus: int) -> tuple[Project, ...]:
    weights = [random.choice([1, 2, 4, 8]) for _ in range(count)]
    return tuple(
        Project(f"team-{number:03}", {"": gpus * weight // sum(weights) * WHOLE})
        for number, weight in enumerate(weights)
    )


def _places(random: Random) -> list[tuple[Place, ...]]:
    """Each dataset is cached at some sites: there it costs nothing to begin, elsewhere a fill."""
    found = []
    for _ in range(DATASETS):
        near = {site for site in range(SITES) if random.random() < 0.3}
        fill = random.randint(10, 1000)
        found.append(tuple(Place(f"site{site}", 0 if site in near else fill) for site in range(SITES)))
    return found


def _running(
    random: Random, nodes: tuple[Node, ...], teams: tuple[Project, ...], share: float = 0.95
) -> tuple[Running, ...]:
    """Jobs on random nodes until that share of the GPUs is taken, of projects in proportion to their quotas.

    A size that does not fit on its node is made smaller.
    """
    quotas = [team.quotas[""] or WHOLE for team in teams]
    open_rooms = list(Fleet(nodes).rooms.values())
    wanted, taken = round(share * sum(node.gpus for node in nodes) * WHOLE), 0
    found: list[Running] = []
    while taken < wanted:
        room = random.choice(open_rooms)
        gpu = random.choices([100, random.choice([20, 25, 50]), random.choice([200, 300, 400]), 800], [55, 27, 13, 5])[
            0
        ]
        size = Size(gpu=gpu if room.fits(Size(gpu=gpu)) else min(WHOLE, max(room.free)))
        job = Job(
            f"r{len(found):05}", random.choices(teams, quotas)[0].name, size, submitted=NOW - random.random() * 86_400,
            time_limit=random.choice([None, 3600.0, 86_400.0]),
        )  # fmt: skip
        started = NOW - random.random() * 40_000
        found.append(Running(job, (room.take(job.id, size),), started, started if random.random() < 0.5 else None))
        taken += size.gpus
        if not any(room.free):
            open_rooms.remove(room)
    return tuple(found)


def _pending(random: Random, number: int, teams: tuple[Project, ...], places: list[tuple[Place, ...]]) -> Pending:
    size = random.choices(
        [
            Size(gpu=100), Size(gpu=random.choice([20, 25, 50])), Size(gpu=random.choice([200, 300, 400])),
            Size(gpu=800), Size(gpu=800, processes=random.randint(2, 16)),
        ],
        [40, 20, 25, 10, 5],
    )[0]  # fmt: skip
    job = Job(f"q{number:05}", random.choice(teams).name, size, submitted=NOW - random.random() * 20_000)
    requires = frozenset({f"rack={random.randrange(4)}"}) if random.random() < 0.02 else frozenset[str]()
    return Pending(job, requires, random.choice(places))
