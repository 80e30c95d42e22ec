"""What a job asks for once a template has filled in what it left open; and taking that out again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass, fields, replace
from typing import Any

from millpond.model.job_spec import JobSpec
from millpond.model.template import Queue, QueueEntry, Template, TemplateSpec, TemplateUse

# Fields of a template that fill in fields of a job.
_SINGLE = ("compute", "cpu", "memory_bytes", "gpu_hundredths", "gpu_type", "min_gpu_memory_bytes", "image")
_MAPPINGS = ("node_selector", "options", "env")
# Where a template and a job must not differ: a template is a place, and the job asks for another one.
_PLACES = ("compute", "gpu_type")
_DEFAULTS = {field.name: field.default for field in fields(JobSpec) if field.default is not MISSING}


@dataclass(frozen=True, slots=True)
class TemplateChoice:
    """One way to run a job: on this template, after so many seconds of waiting for those before it."""

    spec: JobSpec
    use: TemplateUse | None = None
    opens_after: int = 0
    # How long the job waits for it before the next one is tried as well; None for the last.
    patience: int | None = None


def filled(spec: JobSpec, template: Template) -> tuple[JobSpec, TemplateUse]:
    """The spec with what the template adds. What the job says itself stays as it is; 0 counts as not said."""
    added: dict[str, Any] = {}
    for name in _SINGLE:
        value = getattr(template.spec, name)
        if value and not getattr(spec, name):
            added[name] = value
    for name in _MAPPINGS:
        own = getattr(spec, name)
        missing = {key: value for key, value in getattr(template.spec, name).items() if key not in own}
        if missing:
            added[name] = missing
    return _with(spec, added), TemplateUse(template.name, added, price(spec, template.spec))


def unfilled(spec: JobSpec, use: TemplateUse | None) -> JobSpec:
    """What was asked, without what the template added."""
    if use is None or not use.fields:
        return spec
    changes: dict[str, Any] = {}
    for name, value in use.fields.items():
        if name in _MAPPINGS:
            changes[name] = {key: own for key, own in getattr(spec, name).items() if key not in value}
        else:
            changes[name] = _DEFAULTS[name]
    return replace(spec, **changes)


def price(spec: JobSpec, template: TemplateSpec) -> float:
    """Of an hour: the template's, for as many of its size as the job has GPUs, or processes, of."""
    size = 1.0
    if spec.gpu_hundredths and template.gpu_hundredths:
        size = spec.gpu_hundredths / template.gpu_hundredths
    return template.price_per_hour * size * max(spec.processes, 1)


def conflict(spec: JobSpec, template: Template) -> str | None:
    """Why a job cannot run on this template: it asks for another place; None if it can."""
    for name in _PLACES:
        own, given = getattr(spec, name), getattr(template.spec, name)
        if own and given and own != given:
            noun = name.replace("_", " ").replace("gpu", "GPU")
            return f"template {template.name} has {noun} {given}, the job asks for {own}"
    for key, given in sorted(template.spec.node_selector.items()):
        own = spec.node_selector.get(key)
        if own is not None and own != given:
            return f"template {template.name} selects {key}={given}, the job {key}={own}"
    return None


def entries_of(on: str, queues: Mapping[str, Queue]) -> Sequence[QueueEntry]:
    """The templates that a job's `on` lists: those of a queue, or `T1,T2`, which do not wait for each other.

    None for the name of a single template, and for a queue that is gone.
    """
    if "," in on:
        return [QueueEntry(name) for name in on.split(",")]
    return queues[on].templates if on in queues else ()


def choices(
    spec: JobSpec, on: Sequence[QueueEntry], known: Mapping[str, Template]
) -> tuple[Sequence[TemplateChoice], list[str]]:
    """The ways to run a job, in the order they are tried; and why some templates are left out.

    `spec` is as asked, without anything of a template. Patience adds up: the third template is tried once those of
    the first and the second are over.
    """
    entries = [(known[one.template], one.patience_seconds) for one in on if one.template in known]
    found: list[TemplateChoice] = []
    refused: list[str] = []
    opens = 0
    for template, patience in entries:
        reason = conflict(spec, template)
        if reason is not None:
            refused.append(reason)
            continue
        full, use = filled(spec, template)
        found.append(TemplateChoice(full, use, opens, patience))
        opens += patience
    if found:
        found[-1] = replace(found[-1], patience=None)
    return found, refused


def open_choices(
    spec: JobSpec, use: TemplateUse | None, on: Sequence[QueueEntry], known: Mapping[str, Template], waited: float
) -> list[TemplateChoice]:
    """Of a job that lists templates: those whose turn has come after so many seconds; none for other jobs."""
    found, _ = choices(unfilled(spec, use), on, known)
    return [choice for choice in found if choice.opens_after <= waited]


def _with(spec: JobSpec, added: Mapping[str, Any]) -> JobSpec:
    merged: dict[str, Any] = dict(added)
    for name in _MAPPINGS:
        if name in merged:
            merged[name] = {**added[name], **getattr(spec, name)}
    return replace(spec, **merged) if merged else spec
