"""Checks of versions: a job loads the version and runs it, and what it found out is kept with the version.

Code of models (pickles, model.py) runs in that job alone, under the account of its project.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from logging import getLogger

from sqlalchemy import Connection

from millpond.db import commits, datasets, jobs, models
from millpond.decide import model_checks
from millpond.decide.model_backend import backend_of
from millpond.errors import Conflict, MillError, NotFound
from millpond.model.job import Job
from millpond.model.job_spec import JobInput, JobSpec
from millpond.model.model import ModelVersion, ModelVersionView, VersionState
from millpond.model.model_check import CheckState, ModelCheck
from millpond.model.names import CODE_DATASET, OUTPUT_DATASET, environment_name, model_dataset
from millpond.model.people import Actor, Project, Role
from millpond.model.run import Run
from millpond.requirements import Requirements
from millpond.services.datasets import files
from millpond.services.deps import Deps
from millpond.services.flows.lake_files import commit_files, digest_of_files
from millpond.services.jobs import submit
from millpond.services.models import version_files, versions
from millpond.services.models.models import publish, record
from millpond.services.people import access
from millpond.services.serving.program import PACKAGE, program_files, requirements

logger = getLogger(__name__)

TOPIC = "model-checks"
SECONDS = 2.0
_REPORT = "check.json"
_MOST_REPORT = 1 << 20
_TIMEOUT_SECONDS = 3600
# A model that fails is no failure of the job: its report is what was asked for.
_COMMAND = (
    f'python -m {PACKAGE}.check "${{variable}}" --name "$MODEL_NAME" --version {{number}} '
    f'--json "$MILL_OUTPUT/{_REPORT}"; '
    f'test -s "$MILL_OUTPUT/{_REPORT}"'
)


@dataclass(frozen=True, slots=True)
class CheckOptions:
    """`on` is a template or queue. Without an environment, the machine's own Python has what is needed."""

    on: str | None = None
    builds_environment: bool = True


def start(
    deps: Deps, actor: Actor, project: Project, model: str, version: str, asked: CheckOptions
) -> ModelVersionView:  # fmt: skip
    """Start to check a version; the one that is being checked already is the answer as it is."""
    access.require(actor, project, Role.MEMBER)
    view = versions.get(deps, project, model, version)
    if view.version.check is not None and view.version.check.state is CheckState.RUNNING:
        return view
    if view.state is VersionState.ELSEWHERE:
        raise Conflict(
            f"Cannot check {view.written}: its files are not in the lake.",
            hint=f"Register it from a folder: mill model register {view.model} --from DIRECTORY",
        )
    submit.enqueue(deps, actor, project, _spec(deps, actor, project, view, asked), also=_note(deps, actor, view))
    return versions.get(deps, project, model, str(view.version.number))


def settle_all(deps: Deps, now: datetime) -> None:
    """Keep what checks found out whose jobs have ended."""
    with deps.db.read() as tx:
        running = [(one, jobs.get(tx, job_id)) for one, job_id in models.being_checked(tx)]
    for version, job in running:
        if job is None or job.status.state.is_finished:
            _settle(deps, version, job)


def _settle(deps: Deps, version: ModelVersion, job: Job | None) -> None:
    assert version.check is not None
    try:
        report = _report(deps, job) if job is not None else None
    except MillError as error:  # the lake is away: later
        logger.warning("check_not_read job=%s error=%s", job.id if job else None, error.message)
        return
    found = model_checks.ended(version.check, job, report)
    with deps.db.write() as tx:
        models.keep_check(tx, version.dataset_id, version.number, found)
        model = models.get(tx, version.dataset_id)
    if model is not None:
        publish(deps, model.dataset, "version", version=version.number)


def _report(deps: Deps, job: Job) -> bytes | None:
    """The file that the job has left, if it has."""
    if job.status.output_commit is None:
        return None
    with deps.db.read() as tx:
        dataset = datasets.find(tx, job.project_id, OUTPUT_DATASET)
        commit = commits.get(tx, job.status.output_commit)
    if dataset is None or commit is None:
        return None
    try:
        found = files.open_file(deps, dataset, commit, _REPORT)
    except NotFound:
        return None
    return b"".join(found.read(deps, 0, found.size)) if found.size <= _MOST_REPORT else None


def _spec(deps: Deps, actor: Actor, project: Project, view: ModelVersionView, asked: CheckOptions) -> JobSpec:
    backend = backend_of(view.written, version_files.paths(deps, project, view))
    dataset = model_dataset(view.model)
    return JobSpec(
        command=("sh", "-c", _COMMAND.format(variable=environment_name(dataset), number=view.version.number)),
        env={"MODEL_NAME": view.model},
        inputs=(JobInput(f"{project.name}/{dataset}", str(view.version.number)),),
        code_commit=_code(deps, project, program_files(), "check", actor.name),
        environment=_environment(deps, project, backend, actor.name) if asked.builds_environment else None,
        on=asked.on,
        timeout_seconds=_TIMEOUT_SECONDS,
        tags={"model-check": view.written},
    )


def _environment(deps: Deps, project: Project, backend: str, author: str) -> str:
    lines = tuple(requirements(backend).splitlines())
    content = {name: text.encode() for name, text in Requirements(lines).files().items()}
    return _code(deps, project, content, "environment", author)


def _code(deps: Deps, project: Project, content: Mapping[str, bytes], what: str, author: str) -> str:
    branch = f"{what}-{digest_of_files(content)[:32]}"
    return commit_files(deps, project, CODE_DATASET, content, branch=branch, author=author).id


def _note(deps: Deps, actor: Actor, view: ModelVersionView) -> submit.Also:
    def note(tx: Connection, job: Job, run: Run) -> None:
        check = ModelCheck(CheckState.RUNNING, job.id, actor.name, deps.clock.now())
        models.keep_check(tx, view.version.dataset_id, view.version.number, check)
        model = models.get(tx, view.version.dataset_id)
        if model is not None:
            record(tx, deps, actor, "model.check", model.dataset, version=view.version.number, job=job.id)

    return note
