"""A server in the test's process that has something of everything. Its services are real; the test plays its agent."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import httpx

from millpond.blobs.memory import MemoryStore
from millpond.blobs.signing import LocalSigner
from millpond.db import (
    actors,
    backup_runs,
    clusters,
    connections,
    datasets,
    egress,
    endpoint_analyses,
    lake_replicas,
    links,
    mirrors,
    projects,
    sources,
    users,
    workspaces,
)
from millpond.model.backup import BackupRun, BackupRunState, BackupWork
from millpond.model.cluster import (
    Cluster,
    ClusterKind,
    ClusterProcess,
    ClusterProcessState,
    ClusterRole,
    ClusterSpec,
    ClusterState,
)
from millpond.model.connection import Place, ProjectConnection
from millpond.model.egress import Egress, EgressBudget
from millpond.model.endpoint_analysis import Analysis, AnalysisKind, AnalysisState
from millpond.model.ids import new_id
from millpond.model.lake_replica import LakeReplica
from millpond.model.mirror import Mirror
from millpond.model.model import FromRun, NewModelVersion
from millpond.model.people import Role
from millpond.model.run import NewRun
from millpond.model.source import Source
from millpond.model.topology import Bandwidth
from millpond.model.workspace import Workspace, WorkspaceState
from millpond.services.endpoints import metrics as endpoint_metrics
from millpond.services.lake.fence import FencedStore, NoFence
from millpond.services.models import registration
from millpond.services.runs import artifacts, runs
from millpond.testing.builders_work import add_agent, add_commit, add_volume
from millpond.testing.clock import FakeClock
from millpond.testing.events import FakeEvents
from millpond.testing.server import ADMIN, SECRET, RunningServer, add_user, running_server
from millpond.wire.desired import Desired
from millpond.wire.observed import NodeFacts, PlacementSeen, ServiceSeen
from tests.unit.services.endpoints.test_endpoints import create
from tests.unit.services.endpoints.test_request_logs import placement_of
from tests.unit.services.endpoints.test_rounds import Serving
from tests.unit.services.world import World


@dataclass(frozen=True, slots=True)
class Busy:
    url: str
    token: str
    # Has the endpoint answered so many requests in all.
    serve: Callable[[int], None]

    def scrape(self, path: str = "/metrics") -> str:
        answer = httpx.get(f"{self.url}{path}", headers={"Authorization": f"Bearer {self.token}"}, trust_env=False)
        assert answer.status_code == 200, answer.text
        return answer.text


class _World(World):
    """Whose node has GPUs."""

    def sync(self, *placements: PlacementSeen, **told: Any) -> Desired:
        node = NodeFacts(name="local", cpus=64, memory_bytes=64 * 10**9, gpus=4)
        return super().sync(*placements, **{"node": node, **told})


@contextmanager
def busy_server(directory: Path) -> Iterator[Busy]:
    clock = FakeClock()
    store = FencedStore(MemoryStore(LocalSigner(SECRET)), NoFence())
    with running_server(
        directory / "data", clock=clock, store=store, backup_to=directory / "backups"
    ) as server:  # fmt: skip
        serve = _fill(server, clock)
        yield Busy(server.url, server.token_of(ADMIN), serve)


def _fill(server: RunningServer, clock: FakeClock) -> Callable[[int], None]:
    """What counts requests of the endpoint from now on."""
    deps = server.deps
    add_user(deps, "maria", roles={"default": Role.MEMBER})
    with deps.db.read() as tx:
        project, user = projects.find(tx, "default"), users.find(tx, "maria")
        assert project is not None and user is not None
        maria = actors.of_user(tx, user)
    world = _World(deps, clock, FakeEvents(), project, maria, add_agent(deps.db, gpus=4), add_volume(deps.db))
    _ended_job(world)
    endpoint_id, placement = _endpoint(world)
    world.placed("runs", gpu_hundredths=100)
    world.submit("waits", gpu_hundredths=400)
    world.schedule()
    _cluster(world, placement)
    _data(world)
    _places(world)
    limits = {"lake_bytes": 10**9, "jobs": 10}
    answer = server.admin.patch("/projects/default/quota", json=limits)
    assert answer.is_success, answer.text
    loops = server.app.state.metrics.loops()
    for name in ("schedule", "housekeeping"):
        loops.observe(name, 0.1, False)
    assert server.admin.get("/projects").is_success
    return partial(_count, world, endpoint_id, placement)


def _ended_job(world: World) -> None:
    """It failed, over a commit that was cached for it."""
    add_commit(world.deps.db, "xray", size=1000)
    job, placement = world.placed("fails", inputs=["xray"])
    world.fill_all()
    seen = PlacementSeen(id=placement.id, state="running", started_at=world.clock.now())
    world.sync(seen)
    world.clock.advance(5)
    world.sync(PlacementSeen(id=placement.id, state="finished", started_at=world.clock.now(), exit_code=1))
    assert world.job(job.id).status.state.value == "failed"


def _endpoint(world: World) -> tuple[str, str]:
    """With requests, and drift; its id, and the placement of its router."""
    deps = world.deps
    run = runs.create(deps, world.maria, world.project, NewRun(name="train")).run.id
    artifacts.put(deps, world.maria, world.project, run, "model/1/model.onnx", b"onnx")
    registration.register(deps, world.maria, world.project, NewModelVersion("chest", FromRun(run, "model")))
    made = create(
        world, environment="none", drift={"reference": "xray@main:x.csv"}, log={"level": "full", "to": "r@main"}
    )
    serving = Serving(world)
    serving.turn(3)
    placement = placement_of(serving)
    for requests in (30, 130):
        _count(world, made.endpoint.id, placement, requests)
    now = world.clock.now()
    found = Analysis(
        id=new_id(), endpoint_id=made.endpoint.id, kind=AnalysisKind.DRIFT, key="k", since=now, until=now,
        created_by="maria", created_at=now, state=AnalysisState.DONE, ended_at=now,
        report={"columns": {"inputs.x": {"psi": 0.4}}}, alerts=("inputs.x drifts.",),
    )  # fmt: skip
    with deps.db.write() as tx:
        endpoint_analyses.insert(tx, found)
    return made.endpoint.id, placement


def _count(world: World, endpoint_id: str, placement: str, requests: int) -> None:
    world.clock.advance(15)
    version = {
        "model": "chest", "version": 1, "requests": requests, "errors": {"500": 2}, "latency": [requests, 0],
        "replicas_ready": 1, "outstanding": 3,
        "batches": {"sizes": [0, 0, requests // 10], "rows": requests, "queued": requests, "queue_sum_s": 0.5},
    }  # fmt: skip
    told = {"id": endpoint_id, "held": 4, "versions": [version]}
    stats = {
        "since": "s", "started": world.clock.now().timestamp() - 1000, "bounds_s": [0.01], "endpoints": [told],
        # As the scheduler of a cluster tells them: see _cluster.
        "metrics": {'dask_scheduler_tasks{state="processing"}': 3, 'dask_scheduler_workers{state="idle"}': 1},
    }  # fmt: skip
    world.sync(PlacementSeen(id=placement, state="running", service=ServiceSeen(stats=stats)))
    endpoint_metrics.sample_all(world.deps, world.clock.now())


def _cluster(world: World, placement: str) -> None:
    """Whose scheduler told numbers: `placement`, of the router, stands for its own."""
    deps, now, site = world.deps, world.clock.now(), world.agent.agent
    cluster = Cluster(
        id=new_id(), project_id=world.project.id, project=world.project.name, name="dask", created_by="maria",
        user_id=world.maria.user_id or "", created_at=now, changed_at=now, site_id=site.site_id, site=site.site,
        spec=ClusterSpec(kind=ClusterKind.DASK), wanted=1, state=ClusterState.READY,
    )  # fmt: skip
    with deps.db.write() as tx:
        clusters.insert(tx, cluster, secret=b"sealed")
        for role in (ClusterRole.SCHEDULER, ClusterRole.WORKER):
            process = ClusterProcess(
                id=new_id(), cluster_id=cluster.id, role=role, job_id=new_id(), job_name=role.value, created_at=now,
                state=ClusterProcessState.READY, ready_at=now, placement_id=placement, ready={"scheduler": "tls://a:1"},
            )  # fmt: skip
            clusters.insert_process(tx, process)


def _data(world: World) -> None:
    """A workspace, a mirror that is behind, a source that has run."""
    deps, now, volume = world.deps, world.clock.now(), world.volume
    workspace = Workspace(
        id=new_id(), project_id=world.project.id, project=world.project.name, name="mine", owner_id="o", owner="maria",
        volume_id=volume.id, volume=volume.name, volume_path=str(volume.path), site_id=volume.site_id,
        site=volume.site, size_bytes=10**9, state=WorkspaceState.READY, created_at=now, changed_at=now,
        unique_bytes=1000, shared_bytes=500,
    )  # fmt: skip
    place = ProjectConnection(
        new_id(), world.project.id, "bucket", Place.parse("s3://bucket"), None, now, "maria", writable=True
    )
    shared: dict[str, Any] = {"project_id": world.project.id, "connection_id": place.id, "user_id": None}
    with deps.db.write() as tx:
        workspaces.insert(tx, workspace)
        connections.insert(tx, place)
        mirrors.insert(
            tx,
            Mirror(
                id=new_id(), name="away", workspace_id=workspace.id, uri="s3://bucket/away/", every_seconds=3600,
                created_at=now, next_at=now, lag_head="x", lag_commits=2, lag_bytes=7, lag_since=now, **shared,
            ),
        )  # fmt: skip
        dataset = datasets.find(tx, world.project.id, "xray")
        assert dataset is not None
        sources.insert(
            tx,
            Source(
                id=new_id(), name="inwards", dataset_id=dataset.id, uri="s3://bucket/in/", listing=False, path=b"",
                branch="main", copies=True, every_seconds=3600, created_at=now, next_at=now, ended_at=now, **shared,
            ),
        )  # fmt: skip


def _places(world: World) -> None:
    """A backup, a replica of the lake, a measured way, what came over it and what it may cost."""
    now, volume, project = world.clock.now(), world.volume, world.project.id
    with world.deps.db.write() as tx:
        made = BackupRun(new_id(), BackupWork.CREATE, BackupRunState.QUEUED, "millpond", now)
        backup_runs.insert(tx, made)
        backup_runs.begin(tx, made.id, now=now, silent_since=now)
        backup_runs.end(tx, made.id, BackupRunState.DONE, now, backup_id="b", bytes=1000)
        lake_replicas.insert(tx, LakeReplica(new_id(), "far", "s3://far", None, "", None, now, "admin"))
        links.put_bandwidth(tx, Bandwidth(volume.id, "lake", 10**8, 3, now))
        egress.add(tx, Egress(now.date().isoformat(), project, volume.site_id, "lake", 1000, 0.5))
        egress.put_budget(tx, EgressBudget(project, "admin", now, bytes=10**6))
