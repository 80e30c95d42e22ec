"""Registering a version of a model: the next number, given once, with a commit of its own.

One transaction takes the number, writes the commit's row and reserves the record of its tag; the record is written to
the lake; a second transaction makes tag and version visible (services/commits/records.py). A crash in between is
finished by whichever server comes next: there is no number without a version, and no version without its files.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import Connection

from millpond.db import commits, datasets, models, runs
from millpond.db.datasets import PendingRecord
from millpond.decide.models import FACTS, check_alias, check_signature, facts_document, kept_values
from millpond.errors import Invalid
from millpond.lake.commits import new_commit
from millpond.lake.records import Move
from millpond.model.dataset import Commit, RefType
from millpond.model.model import Model, ModelFacts, ModelStage, ModelVersion, ModelVersionView, NewModelVersion
from millpond.model.names import check_model_name
from millpond.model.people import Actor, ActorKind, Project, Role
from millpond.services.commits import accept, records
from millpond.services.commits.accept import Proposal
from millpond.services.commits.checks.tree import CheckedTree
from millpond.services.commits.packs.trust import NOBODY, owner_of
from millpond.services.deps import Deps
from millpond.services.models import aliases, versions
from millpond.services.models import models as model_service
from millpond.services.models.model_files import read_described
from millpond.services.models.sources import Material, facts_of_run, lineage_of_run, material
from millpond.services.people import access
from millpond.services.runs.run_checks import check_notes, check_tags

_MOST_RUN_ID = 64


def register(deps: Deps, actor: Actor, project: Project, asked: NewModelVersion) -> ModelVersionView:
    """The new version of the model, durable and visible, with its aliases. The model is created if there is none.

    For the API, jobs (from their own runs), and flows, which act as the user they run as. Forbidden unless the actor is
    a member of the project, NotFound for a source that is not there.
    """
    access.require(actor, project, Role.MEMBER)
    _check(asked)
    found = _described(deps, actor, project, asked, material(deps, actor, project, asked.source))
    model = _model(deps, actor, project, asked)
    try:
        made = _commit(deps, actor, model, asked, found)
    except _MadeBefore as before:
        made = before.version
    for alias in asked.aliases:
        aliases.point(deps, actor, project, asked.model, alias, str(made.number))
    model_service.publish(deps, model.dataset, "registered", version=made.number)
    return versions.get(deps, project, asked.model, str(made.number))


class _MadeBefore(Exception):
    """It was asked for once, and is there."""

    def __init__(self, version: ModelVersion) -> None:
        self.version = version


def _check(asked: NewModelVersion) -> None:
    """Everything that needs no look at the lake, before anything is created."""
    check_model_name(asked.model)
    check_notes(asked.description)
    check_tags(asked.tags)
    check_signature(asked.signature)
    for alias in asked.aliases:
        check_alias(alias)
    if asked.run_id is not None and not (len(asked.run_id) <= _MOST_RUN_ID and asked.run_id.isprintable()):
        raise Invalid(f"A run id has at most {_MOST_RUN_ID} characters.", fields=["run_id"])


def _model(deps: Deps, actor: Actor, project: Project, asked: NewModelVersion) -> Model:
    if asked.create_model:
        return model_service.ensure(deps, actor, project, asked.model)
    with deps.db.read() as tx:
        return model_service.find(tx, project, asked.model)


def _described(deps: Deps, actor: Actor, project: Project, asked: NewModelVersion, found: Material) -> Material:
    """With what the caller says of it: that comes before what was found."""
    facts, lineage = found.facts, dict(found.lineage)
    if asked.run_id and facts.run_id is None:
        with deps.db.read() as tx:
            run = runs.get(tx, asked.run_id)
            if run is not None and run.project_id == project.id:
                facts = _with_source(facts_of_run(tx, run, facts.source), facts)
                lineage = {**lineage_of_run(tx, run), **lineage}
    facts = replace(
        facts,
        source=asked.written_source or facts.source,
        metrics=facts.metrics if asked.metrics is None else {key: float(value) for key, value in asked.metrics.items()},
        params=facts.params if asked.params is None else kept_values(asked.params),
        signature=asked.signature or facts.signature,
        run_id=asked.run_id or facts.run_id,
        run_link=asked.run_link or facts.run_link,
    )
    return replace(found, facts=facts, lineage={**lineage, **asked.lineage})


def _with_source(of_run: ModelFacts, of_files: ModelFacts) -> ModelFacts:
    return replace(of_files, metrics=of_run.metrics, params=of_run.params, run_id=of_run.run_id)


def _commit(deps: Deps, actor: Actor, model: Model, asked: NewModelVersion, found: Material) -> ModelVersion:
    proposal = Proposal(
        tree=found.tree, branch="", expected=None, parents=(), message=asked.description, owner=_owner(actor),
        upload_id=found.upload_id, origins=found.origins,
    )  # fmt: skip
    checked = accept.check(deps, model.dataset, proposal)
    facts = read_described(deps, model.dataset, found.tree, found.facts)
    registration = _Registration(deps, actor, model, asked, found, facts, checked)
    records.write(deps, registration.prepare)
    assert registration.made is not None  # set by every run of `prepare` that got to its end
    accept.announce(deps, model.dataset, registration.commit)
    return registration.made


@dataclass
class _Registration:
    """The first transaction. It may run several times; the last run counts."""

    deps: Deps
    actor: Actor
    model: Model
    asked: NewModelVersion
    found: Material
    facts: ModelFacts
    checked: CheckedTree
    made: ModelVersion | None = None

    def prepare(self, tx: Connection) -> PendingRecord:
        dataset = self.model.dataset
        # First of all, as everybody does who changes the dataset: nobody else takes a number until this ends.
        datasets.lock_next_record(tx, dataset.id)
        model = models.lock(tx, dataset.id)
        if model is None:
            raise access.not_found("model", self.asked.model)
        if self.asked.once and (before := models.made_once(tx, dataset.id, self.asked.once)):
            records.wait_for_lock(tx, dataset.id, str(before.number))
            raise _MadeBefore(before)
        number = model.next_version
        accept.keep(tx, dataset.project_id, self.checked)
        self.commit = self._commit(number)
        commits.insert(tx, self.commit)
        self.made = self._version(number)
        models.insert_version(tx, self.made)
        models.change(tx, dataset.id, next_version=number + 1, changed_at=self.commit.time)
        model_service.record(
            tx, self.deps, self.actor, "model.register", dataset, version=number, source=self.facts.source
        )
        move = Move(ref=str(number), type=RefType.TAG, commit=self.commit.id, previous=None)
        return records.reserve(tx, dataset, move, lock=str(number), by=self.actor.name, now=self.commit.time)

    def _commit(self, number: int) -> Commit:
        return new_commit(
            dataset_id=self.model.dataset.id, tree=self.found.tree, parents=(), author=self.actor.name,
            time=self.deps.clock.now(), message=self.asked.description, files=self.checked.root.files,
            bytes=self.checked.root.size, lineage=self._lineage(number),
        )  # fmt: skip

    def _lineage(self, number: int) -> Mapping[str, Any]:
        external = sorted(self.checked.root.external)
        facts = facts_document(self.asked.model, number, self.facts, self.asked.tags)
        once = {models.ONCE: self.asked.once} if self.asked.once else {}
        return {**self.found.lineage, FACTS: facts, **once, **({"external": external} if external else {})}

    def _version(self, number: int) -> ModelVersion:
        return ModelVersion(
            dataset_id=self.model.dataset.id, number=number, commit_id=self.commit.id,
            description=self.asked.description, stage=ModelStage.NONE, tags=dict(self.asked.tags),
            run_id=self.facts.run_id, changed_at=self.commit.time,
        )  # fmt: skip


def _owner(actor: Actor) -> str:
    """The server itself has sent nothing: it builds on what is verified."""
    return NOBODY if actor.kind is ActorKind.SYSTEM else owner_of(actor)
