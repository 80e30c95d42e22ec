"""Flows whose jobs end as the test says: a real server without HTTP, and an agent that is played by the test."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from millpond.blobs.memory import MemoryStore
from millpond.blobs.signing import LocalSigner
from millpond.db import datasets, flow_runs, jobs, server
from millpond.db.engine import Database
from millpond.db.jobs import JobFilter
from millpond.db.server import ServerRow
from millpond.model.flow_run import FlowRun, FlowStep, RunOptions
from millpond.model.ids import new_id
from millpond.model.job import Job
from millpond.model.names import OUTPUT_DATASET
from millpond.model.people import SYSTEM, Role
from millpond.services.deps import Deps
from millpond.services.flows import control, lake_files, saving, starting, views
from millpond.services.flows.advance import FlowRounds
from millpond.services.flows.bundle import FILE, Bundle, read_commit
from millpond.services.flows.starting import StartRun
from millpond.services.flows.views import StepView
from millpond.services.people import projects as project_service
from millpond.settings import Settings
from millpond.testing.builders_data import an_actor
from millpond.testing.builders_work import add_agent, add_volume
from millpond.testing.clock import FakeClock
from millpond.testing.events import FakeEvents
from millpond.testing.server import ADMIN, SECRET, add_user
from millpond.wire.observed import PlacementSeen
from tests.unit.services.world import World

# Of outputs: files by path; "" for an output that is a single file.
Files: TypeAlias = Mapping[str, Mapping[str, bytes]]

HEAD = "schema: millpond.flow/1\nname: {name}\n"


def make_flows(db: Database, folder: Path) -> Flows:
    """A server on an empty database: the project default, maria in it, an agent with a volume."""
    clock, events = FakeClock(), FakeEvents()
    deps = Deps(
        db=db, store=MemoryStore(LocalSigner(SECRET)), clock=clock, events=events, settings=Settings(data_dir=folder),
        secret=SECRET,
    )  # fmt: skip
    with db.write() as tx:
        server.insert(tx, ServerRow(new_id(), None, SECRET, clock.now()))
    project = project_service.create(deps, SYSTEM, name="default")
    add_user(deps, ADMIN, roles={"default": Role.ADMIN}, is_admin=True)
    maria = an_actor(deps, "maria", default=Role.MEMBER)
    return Flows(World(deps, clock, events, project, maria, add_agent(db, cpus=64), add_volume(db)))


@dataclass
class Flows:
    """A world with flows in it, saved and run by maria."""

    world: World

    def __post_init__(self) -> None:
        self.deps = self.world.deps
        self.project = self.world.project
        self.rounds = FlowRounds(self.deps)

    def save(self, text: str, name: str = "f", files: Mapping[str, bytes] | None = None, **options: Any) -> int:
        """`text` is what follows the head of the file. The number of the version."""
        whole = HEAD.format(name=name) + text
        bundle = Bundle({FILE: whole.encode(), **(files or {})})
        actor = options.pop("actor", self.world.maria)
        view, _ = saving.save(self.deps, actor, self.project, name, bundle, **options)
        return view.version.number

    def start(self, text: str | None = None, *, name: str = "f", **asked: Any) -> Run:
        """Save the flow if its text is given, and start it. What is no field of StartRun is one of its options."""
        if text is not None:
            self.save(text, name, asked.pop("files", None))
        self.world.clock.advance(1)
        known = {key: asked.pop(key) for key in ("version", "params", "trigger") if key in asked}
        actor = asked.pop("actor", self.world.maria)
        started = StartRun(**known, options=RunOptions(**asked))
        run = starting.start(self.deps, actor, self.project, name, started)
        self.round()
        return Run(self, run.id)

    def round(self) -> None:
        """What the loop does, until nothing is left to do."""
        for _ in range(3):
            self.rounds.run_once(self.world.clock.now())

    def job_names(self) -> list[str]:
        with self.deps.db.read() as tx:
            return sorted(job.name for job in jobs.page(tx, JobFilter(), limit=10_000))

    def files_of(self, commit_id: str) -> dict[str, bytes]:
        """What lies in a commit."""
        commit = lake_files.find_commit(self.deps, commit_id)
        with self.deps.db.read() as tx:
            dataset = datasets.get(tx, commit.dataset_id)
        assert dataset is not None
        return dict(read_commit(self.deps, dataset, commit).files)


@dataclass
class Run:
    """One run, whose steps are ended by the test."""

    flows: Flows
    id: str

    @property
    def row(self) -> FlowRun:
        with self.flows.deps.db.read() as tx:
            found = flow_runs.get(tx, self.id)
        assert found is not None
        return found

    @property
    def state(self) -> str:
        return self.row.phase.value

    @property
    def reason(self) -> str:
        return self.row.reason

    @property
    def shown(self) -> Sequence[StepView]:
        """As people see it."""
        return views.get(self.flows.deps, self.flows.project, self.id).steps

    @property
    def states(self) -> dict[str, str]:
        """The state of each execution, by label: those of jobs while they go on are `queued`."""
        return {view.step.label: view.step.state.value for view in self.shown}

    def step(self, label: str) -> FlowStep:
        return next(view.step for view in self.shown if view.step.label == label)

    def why(self, label: str) -> str:
        return self.step(label).reason

    def job(self, label: str) -> Job:
        return self.flows.world.job(self.step(label).job_id or "")

    def params(self, label: str) -> Mapping[str, Any]:
        step = self.job(label).spec.step
        assert step is not None
        return step.params

    def inputs(self, label: str) -> dict[str, dict[str, bytes]]:
        """The files of each input of a step that was started, by variable and path."""
        return {one.env: self.flows.files_of(one.commit_id) for one in self.job(label).spec.inputs}

    def end(self, *labels: str, **outcome: Any) -> Run:
        """End steps: `exit_code`, `values` and `files` (by output), or anything else that an agent tells."""
        for label in labels:
            self._end(label, **outcome)
        self.flows.round()
        return self

    def _end(
        self, label: str, *, values: Mapping[str, Any] | None = None, files: Files | None = None,
        exit_code: int | None = 0, **told: Any,
    ) -> None:  # fmt: skip
        world = self.flows.world
        world.schedule()
        job = self.job(label)
        assert job.status.placement_id is not None, job.status.reasons
        world.sync(PlacementSeen(id=job.status.placement_id, state="running", started_at=world.clock.now()))
        made = {"values": dict(values or {}), "files": sorted(files or {})}
        commit = self._output(job, files) if files else None
        world.sync(
            PlacementSeen(
                id=job.status.placement_id,
                state="finished",
                exit_code=exit_code,
                output_commit=commit,
                step_made=made if values or files else None,
                **told,
            )
        )

    def _output(self, job: Job, files: Files) -> str:
        whole = {f"{name}/{path}".rstrip("/"): data for name, inside in files.items() for path, data in inside.items()}
        made = lake_files.commit_files(
            self.flows.deps, self.flows.project, OUTPUT_DATASET, whole, branch=job.id, author="maria"
        )
        return made.id

    def cancel(self) -> Run:
        control.cancel(self.flows.deps, self.flows.world.maria, self.flows.project, self.id)
        self.flows.round()
        return self

    def retry(self, from_step: str | None = None) -> Run:
        control.retry(self.flows.deps, self.flows.world.maria, self.flows.project, self.id, from_step)
        self.flows.round()
        return self

    @property
    def jobs(self) -> list[str]:
        """The jobs that were ever made for it."""
        return [name for name in self.flows.job_names() if name.startswith(f"{self.row.flow}-{self.row.number}-")]
