"""A small world for tests of work: one project, two people, one agent with a volume, a clock that stands still."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from millpond.db import actors, caches, jobs, leases, nodes, runs
from millpond.model.cached_state import CachedState
from millpond.model.job import Job
from millpond.model.people import Actor, Project, Role
from millpond.model.run import Run
from millpond.model.volume import Volume
from millpond.services.caches.fills import reports as cache_reports
from millpond.services.computes import agents as agent_service
from millpond.services.deps import Deps
from millpond.services.jobs import idle, schedule, submit, waiting, why
from millpond.services.jobs import placements as placement_service
from millpond.testing.builders_work import AddedAgent, observed
from millpond.testing.clock import FakeClock
from millpond.testing.events import FakeEvents
from millpond.testing.server import add_user
from millpond.wire.desired import Desired, DesiredPlacement
from millpond.wire.jobs import JobCreate
from millpond.wire.observed import FillSeen, PlacementSeen, VolumeSeen


@dataclass
class World:
    deps: Deps
    clock: FakeClock
    events: FakeEvents
    project: Project
    maria: Actor
    agent: AddedAgent
    volume: Volume

    def submit(self, name: str | None = None, *, command: tuple[str, ...] = ("true",), **wanted: Any) -> Job:
        self.clock.advance(0.001)  # so that jobs are queued in the order they were submitted
        request = JobCreate(name=name, command=list(command), **wanted)
        return submit.submit(self.deps, self.maria, self.project, request)

    def schedule(self) -> None:
        schedule.run_once(self.deps, self.clock.now())

    def look(self) -> None:
        """What the server does all the time: see what has not changed for too long."""
        now = self.clock.now()
        placement_service.expire(self.deps, now)
        waiting.stop_overdue(self.deps, now)
        idle.stop_idle(self.deps, now)

    def sync(self, *placements: PlacementSeen, **told: Any) -> Desired:
        """The agent tells what it sees: its volume is well, unless told otherwise."""
        told.setdefault("volumes", [VolumeSeen(id=self.volume.id, disk_free_bytes=self.volume.capacity_bytes)])
        seen = observed(placements=list(placements), **told)
        agent = agent_service.observe(self.deps, self.agent.actor, seen)
        self.look()
        return agent_service.desired(self.deps, agent, seen)

    def placed(self, name: str = "train", **wanted: Any) -> tuple[Job, DesiredPlacement]:
        """A job that was submitted, placed, and told to the agent."""
        job = self.submit(name, **wanted)
        self.schedule()
        found = [placement for placement in self.sync().placements if placement.job_id == job.id]
        return self.job(job.id), found[0]

    def fill_all(self) -> None:
        """The agent has filled everything it was asked to."""
        for fill in self.sync().fills:
            seen = FillSeen(cached_id=fill.cached_id, attempt=fill.attempt, state="ready")
            cache_reports.observe_fills(self.deps, self.agent.agent, [seen])

    def job(self, job_id: str) -> Job:
        with self.deps.db.read() as tx:
            found = jobs.get(tx, job_id)
        assert found is not None
        return found

    def why(self, job_id: str) -> list[str]:
        """What `mill why` says."""
        return list(why.why(self.deps, self.maria, self.project, job_id).reasons)

    def run(self, run_id: str) -> Run:
        with self.deps.db.read() as tx:
            found = runs.get(tx, run_id)
        assert found is not None
        return found

    def leased(self) -> dict[str, CachedState]:
        """State of each leased commit."""
        with self.deps.db.read() as tx:
            held = leases.holders_on(tx, self.volume.id, self.clock.now())
            views = [caches.get(tx, cached_id) for cached_id in held]
        return {view.cached.commit_id: view.cached.state for view in views if view}

    def actor(self, name: str, role: Role | None, project: str = "default") -> Actor:
        user = add_user(self.deps, name, roles={project: role} if role else {})
        with self.deps.db.read() as tx:
            return actors.of_user(tx, user)

    def told(self, topic: str) -> list[dict[str, Any]]:
        return [data for published, _, data in self.events.published if published == topic]

    def forget_agents(self) -> None:
        """As if no agent had ever told of a node."""
        with self.deps.db.write() as tx:
            nodes.report(tx, self.agent.agent.id, self.agent.agent.compute_id, [], self.clock.now())
