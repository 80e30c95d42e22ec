"""How a run is made again: the job to submit, and what of the run is the same, changed, not pinned or gone."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from millpond.decide import rerun_script
from millpond.decide.command_params import find_param, set_param
from millpond.decide.templates import unfilled
from millpond.model.job_spec import JobInput, JobKind, JobSpec
from millpond.model.names import MODEL_PREFIX
from millpond.model.quantity import format_count
from millpond.model.rerun import (
    RERUN_OF,
    ParamPlace,
    PartState,
    RecordedRun,
    RerunAsked,
    RerunParam,
    RerunPart,
    RerunPlan,
    StillThere,
)

_AGAIN = (JobKind.TRAINING, JobKind.INTERACTIVE)
# What a template decides: with another one, what the job said of it no longer counts.
_PLACED: Mapping[str, Any] = {"compute": None, "gpu_type": None, "node_selector": {}, "options": {}}


def plan(recorded: RecordedRun, asked: RerunAsked, there: StillThere) -> RerunPlan:
    """Nothing is checked that submitting the job checks anyway, but for what says that something is gone."""
    if recorded.job is None:
        script = rerun_script.planned(recorded, asked)
        spec, parts, git, packages = script.spec, list(script.parts), script.git, script.packages
    else:
        spec, parts = _of_job(recorded, asked, there)
        git, packages = None, ()
    spec, data = _with_data(spec, asked.data, there)
    spec, told, params = _with_params(spec, recorded.params, asked.params)
    parts += [*data, _command(spec, recorded, told), *told]
    tags = {**spec.tags, RERUN_OF: recorded.id}
    spec = replace(spec, tags=tags, experiment=asked.experiment or recorded.experiment)
    is_gone = any(part.state is PartState.GONE for part in parts)
    return RerunPlan(
        run_id=recorded.id,
        name=asked.name or (recorded.job.name if recorded.job else _job_name(recorded.name)),
        parts=tuple(parts),
        params=tuple(params),
        spec=None if is_gone else spec,
        git=None if is_gone or asked.code_commit else git,
        packages=() if is_gone or asked.environment else packages,
    )


def _of_job(recorded: RecordedRun, asked: RerunAsked, there: StillThere) -> tuple[JobSpec, list[RerunPart]]:
    assert recorded.job is not None
    spec = unfilled(recorded.job.spec, recorded.job.status.template)
    parts = [_code(spec, asked, there), *_environment(spec, recorded, asked, there), *_place(spec, asked, there)]
    parts += [*_needs(spec, there), *map(_model, recorded.models)]
    changes: dict[str, Any] = {"after": ()}
    if asked.code_commit is not None:
        changes["code_commit"] = asked.code_commit
        changes["tags"] = {key: text for key, text in spec.tags.items() if not key.startswith("git.")}
    if asked.environment is not None:
        changes["environment"] = asked.environment
    if asked.on is not None and asked.on != spec.on:
        changes |= {"on": asked.on, **_PLACED}
    if spec.kind not in _AGAIN:
        parts.append(_part("kind", PartState.CHANGED, f"A {spec.kind.value} is run again as a job of its own."))
        changes["kind"] = JobKind.TRAINING
    if spec.after:
        count = format_count(len(spec.after), "job")
        parts.append(_part("dependencies", PartState.CHANGED, f"It does not wait for the {count} it waited for."))
    return replace(spec, **changes), parts


def _code(spec: JobSpec, asked: RerunAsked, there: StillThere) -> RerunPart:
    recorded = spec.code_commit
    if asked.code_commit is not None:
        return _part("code", PartState.CHANGED, f"Other code: commit {asked.code_commit[:12]}.")
    if recorded is None:
        return _part("code", PartState.SAME, "No code was uploaded with the job.")
    if recorded not in there.commits:
        hint = "Send the code of a folder instead: mill rerun RUN --code DIR"
        return _part("code", PartState.GONE, f"Code commit {recorded[:12]} no longer exists.", hint)
    return _part("code", PartState.SAME, f"Code commit {recorded[:12]}.")


def _environment(spec: JobSpec, recorded: RecordedRun, asked: RerunAsked, there: StillThere) -> list[RerunPart]:
    assert recorded.job is not None
    parts = []
    if spec.image is not None:
        parts.append(_image(spec.image))
    if asked.environment is not None:
        parts.append(_part("environment", PartState.CHANGED, f"Other requirements: commit {asked.environment[:12]}."))
    elif spec.environment is not None:
        parts.append(_built(spec.environment, recorded.job.status.environment_commit, there))
    elif spec.image is None:
        told = rerun_script.packages_told(recorded.origin)
        hint = "Build one from what was recorded: mill rerun RUN --packages"
        parts.append(
            _part(
                "environment", PartState.UNPINNED, f"It runs with what is installed on the compute{told}.",
                hint if told else None,
            )
        )  # fmt: skip
    return parts


def _image(image: str) -> RerunPart:
    if "@sha256:" in image:
        return _part("image", PartState.SAME, f"Image {image}.")
    return _part(
        "image", PartState.UNPINNED, f"Image {image} is named by a tag, which may mean another image now.",
        "Name images by their digest: IMAGE@sha256:…",
    )  # fmt: skip


def _built(source: str, built: str | None, there: StillThere) -> RerunPart:
    if source not in there.commits:
        hint = "Give requirements: mill rerun RUN --requirements FILE"
        return _part("environment", PartState.GONE, f"The requirements ({source[:12]}) no longer exist.", hint)
    if built is not None and built in there.commits:
        return _part("environment", PartState.SAME, f"The environment that was built for it ({built[:12]}).")
    text = f"The environment is built again from its requirements ({source[:12]}); versions they leave open may differ."
    return _part("environment", PartState.UNPINNED, text)


def _place(spec: JobSpec, asked: RerunAsked, there: StillThere) -> list[RerunPart]:
    hint = "Choose another: mill rerun RUN --on TEMPLATE"
    if asked.on is not None and asked.on != spec.on:
        before = f"; before: {spec.on or spec.compute}" if spec.on or spec.compute else ""
        return [_part("place", PartState.CHANGED, f"Runs on {asked.on}{before}.")]
    if spec.on is not None and spec.on not in there.templates:
        return [_part("place", PartState.GONE, f"Template or queue {spec.on} no longer exists.", hint)]
    if spec.compute is not None and spec.compute not in there.computes:
        return [_part("place", PartState.GONE, f"Compute {spec.compute} no longer exists.", hint)]
    where = f" on {spec.on or spec.compute}" if spec.on or spec.compute else ""
    return [_part("place", PartState.SAME, f"The same resources{where}.")]


def _needs(spec: JobSpec, there: StillThere) -> list[RerunPart]:
    lost = sorted(set(spec.secrets.values()) - there.secrets)
    parts = [
        _part("secret", PartState.GONE, f"Secret {name} no longer exists.", f"Create it: mill secret set {name}")
        for name in lost
    ]
    if spec.secrets and not lost:
        count = format_count(len(spec.secrets), "secret")
        parts.append(_part("secret", PartState.UNPINNED, f"{count} by name; values may have changed."))
    unmounted = sorted({one.mount for one in spec.mounts} - there.mounts)
    parts += [
        _part("mount", PartState.GONE, f"Mount {name} no longer exists, or the project may not use it.",
              "See: mill mount list")
        for name in unmounted
    ]  # fmt: skip
    if spec.mounts and not unmounted:
        count = format_count(len(spec.mounts), "mount")
        parts.append(_part("mount", PartState.UNPINNED, f"{count} outside the lake; content may have changed."))
    return parts


def _model(written: str) -> RerunPart:
    """A version that the script asked for itself: which one it gets now is for the script to say."""
    name, _, version = written.rpartition("@")
    text = f"Its script read version {version} of model {name}; an alias may have moved since."
    return _part("model", PartState.UNPINNED, text, f"Name the version in the script: {written}")


def _with_data(
    spec: JobSpec, wanted: Sequence[JobInput], there: StillThere
) -> tuple[JobSpec, list[RerunPart]]:  # fmt: skip
    """The inputs at their commits, or at the refs that were asked for, and what is to be said of each."""
    inputs, parts = [], []
    left = {one.dataset: one for one in wanted}
    for own in spec.inputs:
        other = left.pop(own.dataset, None) or left.pop(own.name, None)
        if other is not None:
            inputs.append(replace(own, ref=other.ref, commit_id=""))
            text = f"{own.dataset}@{other.ref or 'main'} instead of commit {own.commit_id[:12]}."
            parts.append(_part("data", PartState.CHANGED, text))
        elif own.commit_id in there.commits:
            inputs.append(own)
            was = f", {own.ref} then" if own.ref and not own.commit_id.startswith(own.ref) else ""
            parts.append(_part("data", PartState.SAME, f"{own.dataset} at commit {own.commit_id[:12]}{was}."))
        else:
            parts.append(_lost(own, there))
    for added in left.values():
        inputs.append(added)
        parts.append(_part("data", PartState.CHANGED, f"{added.dataset}@{added.ref or 'main'} is added."))
    return replace(spec, inputs=tuple(inputs), pinned=bool(inputs)), parts


def _lost(own: JobInput, there: StillThere) -> RerunPart:
    """Whether it can be brought back, replaced by another commit, or only made again."""
    another = f"mill rerun RUN --data {own.dataset}@"
    commit = own.commit_id[:12]
    if own.commit_id in there.in_bin:
        noun, name = ("model", own.name.removeprefix(MODEL_PREFIX)) if _is_model(own) else ("data", own.name)
        text = f"{own.dataset}, read at commit {commit}, is in the bin."
        return _part("data", PartState.GONE, text, f"Restore it: mill {noun} undelete {name} --project {own.project}")
    if own.dataset_id in there.datasets:
        text = f"Commit {commit} of {own.dataset} no longer exists."
        return _part("data", PartState.GONE, text, f"Use another commit: {another}REF")
    text = f"Dataset {own.dataset}, read at commit {commit}, no longer exists, or you have no access to it."
    return _part("data", PartState.GONE, text, f"Create a dataset of that name, then: {another}main")


def _is_model(own: JobInput) -> bool:
    return own.name.startswith(MODEL_PREFIX)


def _with_params(
    spec: JobSpec, known: Mapping[str, Any], changes: Mapping[str, str]
) -> tuple[JobSpec, list[RerunPart], list[RerunParam]]:
    """The spec with parameters set where they stand: in the command, in a variable, or else in MILL_PARAMS."""
    told: list[RerunPart] = []
    handed: dict[str, Any] = {}
    params = [_param(spec, key, known.get(key), changes.get(key)) for key in sorted({*known, *changes})]
    for param in params:
        if param.changed_to is None:
            continue
        spec, text = _set(spec, param, handed)
        told.append(_part("parameter", PartState.CHANGED, text))
    return replace(spec, params={**spec.params, **handed}), told, params


def _param(spec: JobSpec, key: str, value: Any, change: str | None) -> RerunParam:
    found = find_param(spec.command, key)
    place = ParamPlace.PARAMS
    if found is not None and (change is None or set_param(spec.command, key, change) is not None):
        place = ParamPlace.ARGUMENT
    elif key in spec.env:
        place = ParamPlace.VARIABLE
    outside = found if place is ParamPlace.ARGUMENT else spec.env.get(key, spec.params.get(key))
    return RerunParam(key, outside if value is None else value, place, change)


def _set(spec: JobSpec, param: RerunParam, handed: dict[str, Any]) -> tuple[JobSpec, str]:
    value = param.changed_to or ""
    was = "" if param.value is None else f", {str(param.value)[:100]} before"
    if param.place is ParamPlace.ARGUMENT:
        command = set_param(spec.command, param.key, value) or spec.command
        return replace(spec, command=command), f"{param.key}={value}{was}: an argument of the command."
    if param.place is ParamPlace.VARIABLE:
        env = {**spec.env, param.key: value}
        return replace(spec, env=env), f"{param.key}={value}{was}: an environment variable."
    handed[param.key] = typed(value, param.value)
    return spec, f"{param.key}={value}{was}: in MILL_PARAMS, no argument; it counts if the script uses run.params."


def typed(text: str, like: Any) -> Any:
    """A value from outside: as JSON reads it, unless the parameter was a text before."""
    if isinstance(like, str):
        return text
    try:
        return json.loads(text)
    except ValueError:
        return {"True": True, "False": False, "None": None}.get(text, text)


def _command(spec: JobSpec, recorded: RecordedRun, told: Sequence[RerunPart]) -> RerunPart:
    before = recorded.job.spec.command if recorded.job else rerun_script.recorded_command(recorded.origin)
    if not spec.command[0]:
        return _part("command", PartState.GONE, rerun_script.why_no_command(recorded.origin))
    state = PartState.SAME if tuple(before) == spec.command else PartState.CHANGED
    return _part("command", state, f"{shlex.join(spec.command)[:500]}")


def _job_name(text: str) -> str | None:
    """A run's name as a job can have it; None if nothing is left of it."""
    return re.sub(r"[^a-z0-9._-]+", "-", text.lower()).strip("._-").replace("..", ".")[:50] or None


def _part(part: str, state: PartState, text: str, hint: str | None = None) -> RerunPart:
    return RerunPart(part, state, text, hint)
