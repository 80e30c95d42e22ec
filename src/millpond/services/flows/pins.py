"""What a run uses, fixed when it starts: components by digest, datasets, code and environments by commit."""

from __future__ import annotations

import tempfile
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from millpond.decide.flows.beside import environment_path
from millpond.decide.flows.component_reader import read_component
from millpond.decide.flows.context import FlowContext
from millpond.decide.flows.resolving import lookup_for, resolve
from millpond.errors import BadRequest, NotFound
from millpond.model.component import Component, ComponentRef
from millpond.model.dataset import Commit
from millpond.model.documents import from_document, to_document
from millpond.model.flow import Step, StepKind
from millpond.model.flow_run import FlowRunState
from millpond.model.names import CODE_DATASET
from millpond.model.people import Actor, Project
from millpond.requirements import read_requirements
from millpond.services.commits import refs
from millpond.services.datasets import datasets
from millpond.services.deps import Deps
from millpond.services.flows import lake_files
from millpond.services.flows.bundle import Bundle
from millpond.services.flows.lake_files import Part
from millpond.services.flows.library import FlowLibrary, UsedComponent


@dataclass(frozen=True, slots=True)
class PinnedCommit:
    commit: str
    tree: str


@dataclass(frozen=True, slots=True)
class PinnedComponent:
    """`digest` is the tree of its folder, `yaml` its description as it was."""

    version: str
    digest: str
    yaml: str
    code: PinnedCommit | None = None
    environment: PinnedCommit | None = None

    @property
    def component(self) -> Component:
        found, _ = read_component(self.yaml)
        assert found is not None  # it was read when the run started
        return found


@dataclass(frozen=True, slots=True)
class Pins:
    """Components by what steps write; the others by step."""

    components: Mapping[str, PinnedComponent] = field(default_factory=dict)
    datasets: Mapping[str, str] = field(default_factory=dict)
    code: Mapping[str, PinnedCommit] = field(default_factory=dict)
    environments: Mapping[str, PinnedCommit] = field(default_factory=dict)

    def document(self) -> dict[str, Any]:
        return {
            "components": {name: to_document(one) for name, one in self.components.items()},
            "datasets": dict(self.datasets),
            "code": {name: to_document(one) for name, one in self.code.items()},
            "environments": {name: to_document(one) for name, one in self.environments.items()},
        }

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> Pins:
        def commits(key: str) -> dict[str, PinnedCommit]:
            return {name: from_document(PinnedCommit, one) for name, one in document.get(key, {}).items()}

        components = document.get("components", {})
        return cls(
            {name: from_document(PinnedComponent, one) for name, one in components.items()},
            document.get("datasets", {}),
            commits("code"),
            commits("environments"),
        )


def pin(
    deps: Deps, actor: Actor, project: Project, context: FlowContext, bundle: Bundle, library: FlowLibrary,
    state: FlowRunState, steps: Collection[str],
) -> Pins:  # fmt: skip
    """Pin what these steps use. NotFound for a dataset or component that is not there, or not for this actor."""
    chosen = [context.flow.steps[name] for name in steps]
    maker = _Maker(deps, actor, project, bundle)
    written = sorted({step.component for step in chosen if step.component})
    return Pins(
        components={name: maker.component(name, library) for name in written},
        datasets=_datasets(deps, actor, project, context, state, [step for step in chosen if step.dataset]),
        code={step.name: code for step in chosen if (code := maker.code(step)) is not None},
        environments={step.name: found for step in chosen if (found := maker.environment(step)) is not None},
    )


def _datasets(
    deps: Deps, actor: Actor, project: Project, context: FlowContext, state: FlowRunState, steps: Collection[Step]
) -> dict[str, str]:
    """One that is not there is left out if every step that reads it can do without."""
    found = {}
    for step in steps:
        try:
            found[step.name] = _dataset(deps, actor, project, step, state)
        except NotFound:
            if step.name not in context.optional_datasets:
                raise
    return found


def _dataset(deps: Deps, actor: Actor, project: Project, step: Step, state: FlowRunState) -> str:
    if state.trigger_commit is None and "${trigger.commit}" in (step.dataset or ""):
        hint = "Start it by a trigger that has one, or name a branch in the flow."
        raise BadRequest(f"Step {step.name!r} reads the commit that triggered the run, and there is none.", hint=hint)
    text = str(resolve(step.dataset, lookup_for(state, {})))
    with deps.db.read() as tx:
        dataset, ref = datasets.find_written(tx, actor, text, project=project.name)
        return f"{dataset.written}@{refs.resolve(tx, dataset, ref).id}"


@dataclass(frozen=True, slots=True)
class _Maker:
    """Commits code and environments to `.code`, each content once."""

    deps: Deps
    actor: Actor
    project: Project
    bundle: Bundle

    def component(self, written: str, library: FlowLibrary) -> PinnedComponent:
        used = library.used(ComponentRef.parse(written))
        if used is None:
            raise NotFound(f"There is no component {written!r} in the library.", hint="List them: mill library list")
        version = used.component.version_text
        digest = lake_files.digest_of_files(used.files)
        if not used.component.command:
            return PinnedComponent(version, used.digest or digest, used.text)
        branch = f"component-{used.component.name}-{digest[:24]}"
        code = _pinned(used.commit) if used.commit else self._files(branch, used.files)
        return PinnedComponent(version, used.digest or code.tree, used.text, code, self._of_component(used))

    def code(self, step: Step) -> PinnedCommit | None:
        if step.kind is not StepKind.COMMAND:
            return None
        if step.code and "@" in step.code:
            return self._of_dataset(step.code)
        files = self.bundle.folder(step.code) if step.code else {}
        return self._files(f"flow-{lake_files.digest_of_files(files)[:32]}", files) if files else None

    def environment(self, step: Step) -> PinnedCommit | None:
        if step.kind is not StepKind.COMMAND or not step.environment:
            return None
        path = environment_path(self.bundle.files, step.code, step.environment)
        if path is None:
            raise BadRequest(f"Step {step.name!r}: there is no file {step.environment!r}.")
        return self._requirements(self.bundle.files, path)

    def _of_component(self, used: UsedComponent) -> PinnedCommit | None:
        needed = used.component.environment
        path = next((one for one in (needed.lock, needed.requirements) if one and one in used.files), None)
        return self._requirements(used.files, path) if path else None

    def _requirements(self, files: Mapping[str, bytes], path: str) -> PinnedCommit | None:
        """What builds these requirements; None if there are none."""
        with tempfile.TemporaryDirectory() as folder:
            for name, data in files.items():
                target = Path(folder, name)
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(data)
            found = read_requirements(Path(folder, path))
        if not found.lines:
            return None
        built = {name: text.encode() for name, text in found.files().items()}
        return self._files(f"environment-{lake_files.digest_of_files(built)[:32]}", built)

    def _files(self, branch: str, files: Mapping[str, bytes]) -> PinnedCommit:
        made = lake_files.commit_files(
            self.deps, self.project, CODE_DATASET, files, branch=branch, author=self.actor.name
        )
        return _pinned(made)

    def _of_dataset(self, text: str) -> PinnedCommit:
        with self.deps.db.read() as tx:
            dataset, ref = datasets.find_written(tx, self.actor, text, project=self.project.name)
            commit = refs.resolve(tx, dataset, ref)
        if dataset.project_id != self.project.id:
            raise BadRequest(f"Code {text!r} lies in another project.", hint="Use a dataset of the flow's own project.")
        made = lake_files.combine(
            self.deps, self.project, CODE_DATASET, [Part(commit)], author=self.actor.name, message=f"Code of {text}"
        )
        return _pinned(made)


def _pinned(commit: Commit) -> PinnedCommit:
    return PinnedCommit(commit.id, commit.tree)
