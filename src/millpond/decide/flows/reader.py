"""From the text of `flow.yaml` to a flow: its shape, keys and types. How its parts fit is checked by `rules`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from millpond.decide.flows.document import Document, Path, read_document
from millpond.decide.flows.fields import Fields, describe
from millpond.model.flow import (
    COMMIT_TYPES,
    FLOW_SCHEMA,
    VALUE_TYPES,
    Approval,
    Cached,
    Concurrency,
    Flow,
    FlowDefaults,
    FlowProblem,
    FlowRetries,
    Param,
    Port,
    Publication,
    Step,
    StepKind,
    Trigger,
    WhenBusy,
)

_FLOW_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,62}")
STEP_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,62}")
_KEYS = (
    "schema", "name", "description", "params", "defaults", "concurrency", "max_parallel", "on_failure", "steps",
    "publish", "triggers", "run_as", "ui",
)  # fmt: skip
_ANYWHERE = ("after", "when")
_WORK = (
    *_ANYWHERE, "inputs", "params", "each", "retries", "timeout", "priority", "remember", "template", "templates",
    "queue", "image", "environment",
)  # fmt: skip
_STEP_KEYS: Mapping[StepKind, tuple[str, ...]] = {
    StepKind.DATASET: ("dataset", "cached"),
    StepKind.COMPONENT: ("component", *_WORK),
    StepKind.COMMAND: ("command", "code", "outputs", *_WORK),
    StepKind.APPROVAL: ("approval", *_ANYWHERE),
}
_TRIGGER_KEYS: Mapping[str, tuple[str, ...]] = {
    "commit": ("ref", "paths", "debounce"),
    "cron": ("cron", "timezone", "missed"),
    "webhook": ("name",),
    "flow": ("flow", "state"),
}
_PARAM_KEYS = ("type", "default", "optional", "min", "max", "exclusive_min", "choices", "help", "scale")


def read_flow(text: str) -> tuple[Flow | None, Document, list[FlowProblem]]:
    """The flow of a text as far as it can be read, its document, and what is wrong. None if it is no flow at all."""
    document, problems = read_document(text)
    top = Fields(document, (), problems)
    if not top.is_mapping:
        return None, document, problems or [document.problem((), "type", "A flow must be a mapping.")]
    _check_schema(top)
    top.only(_KEYS)
    return _flow(top), document, problems


def _check_schema(top: Fields) -> None:
    schema = top.value.get("schema")
    if schema is None:
        top.note((), "schema", "The key 'schema' is missing.", f"Begin the file with: schema: {FLOW_SCHEMA}")
    elif schema != FLOW_SCHEMA:
        top.note(("schema",), "schema", f"Unknown schema {schema!r}.", f"Write: schema: {FLOW_SCHEMA}")
    elif next(iter(top.value)) != "schema":
        top.note(("schema",), "schema", "'schema' must be the first key.", at_key=True)


def _flow(top: Fields) -> Flow:
    name = top.text("name")
    if not _FLOW_NAME.fullmatch(name):
        top.note(
            ("name",), "name", f"{name!r} is not a valid name for a flow.", "Use lower-case letters, digits and '-'."
        )
    steps = top.inside("steps")
    if not steps.value:
        top.note(("steps",), "steps", "The flow has no steps.", "Add at least one under 'steps'.")
    return Flow(
        name=name,
        description=top.text("description"),
        params=read_params(top.inside("params"), also=("dataset", "secret")),
        defaults=_defaults(top.inside("defaults")),
        concurrency=_concurrency(top.inside("concurrency")),
        max_parallel=top.number("max_parallel", 0, least=1),
        continue_on_failure=top.choice("on_failure", ("stop", "continue"), "stop") == "continue",
        steps={key: step for key in steps.value if (step := _step(key, steps)) is not None},
        publish=_publications(top),
        triggers=_triggers(top),
        run_as=_run_as(top),
        ui={key: tuple(value) for key, value in top.mapping("ui").items() if isinstance(value, list)},
    )


def read_params(fields: Fields, *, also: tuple[str, ...] = ()) -> dict[str, Param]:
    """Parameters of a flow or a component; `also`: types besides those of values."""
    return {name: _param(name, fields.inside(name), also) for name in fields.value}


def _param(name: str, fields: Fields, also: tuple[str, ...]) -> Param:
    fields.only(_PARAM_KEYS)
    choices = fields.value.get("choices", [])
    if not isinstance(choices, list):
        fields.note(("choices",), "type", "choices must be a list.")
        choices = []
    return Param(
        name=name,
        type=fields.choice("type", sorted(VALUE_TYPES | set(also)), "str"),
        default=fields.value.get("default"),
        has_default="default" in fields,
        optional=fields.flag("optional", False),
        min=_bound(fields, "min"),
        max=_bound(fields, "max"),
        exclusive_min=fields.flag("exclusive_min", False),
        choices=tuple(choices),
        help=fields.text("help"),
        scale=fields.choice("scale", ("linear", "log"), "linear"),
    )


def _bound(fields: Fields, key: str) -> float | None:
    value = fields.value.get(key)
    if value is None or (isinstance(value, int | float) and not isinstance(value, bool)):
        return value
    fields.note((key,), "type", f"{key} must be a number, not {describe(value)}.")
    return None


def read_ports(fields: Fields) -> dict[str, Port]:
    """Inputs or outputs, by name."""
    found = {}
    for name in fields.value:
        one = fields.inside(name)
        one.only(("type", "required", "optional", "help"))
        kind = one.choice("type", sorted(VALUE_TYPES | COMMIT_TYPES), "directory")
        is_required = one.flag("required", not one.flag("optional", False))
        found[name] = Port(name, kind, is_required, one.text("help"))
    return found


def _step(name: str, steps: Fields) -> Step | None:
    if not STEP_NAME.fullmatch(name):
        hint = "Use lower-case letters, digits, '-' and '_', starting with a letter or digit."
        steps.note((name,), "name", f"{name!r} is not a valid name for a step.", hint, at_key=True)
    fields = steps.inside(name)
    kinds = [kind for kind in StepKind if kind.value in fields]
    if len(kinds) != 1:
        what = "has no work" if not kinds else f"has {' and '.join(kind.value for kind in kinds)}"
        hint = "A step has exactly one of: dataset, component, command, approval."
        steps.note((name,), "step", f"Step {name!r} {what}.", hint, at_key=True)
        # What looks like "no work" is often a key with a slip: `comand`.
        fields.only({key for keys in _STEP_KEYS.values() for key in keys})
        return None
    kind = kinds[0]
    fields.only(_STEP_KEYS[kind])
    inputs, optional = _inputs(fields)
    return Step(
        name=name,
        kind=kind,
        dataset=fields.optional_text("dataset"),
        cached=_cached(fields),
        component=fields.optional_text("component"),
        command=fields.texts("command"),
        code=fields.optional_text("code"),
        environment=fields.optional_text("environment"),
        image=fields.optional_text("image"),
        templates=_templates(fields),
        queue=fields.optional_text("queue"),
        inputs=inputs,
        optional_inputs=optional,
        params=fields.mapping("params"),
        outputs=read_ports(fields.inside("outputs")),
        each=_each(fields),
        after=fields.texts("after"),
        when=fields.optional_text("when"),
        approval=_approval(fields.inside("approval")) if kind is StepKind.APPROVAL else None,
        retries=_retries(fields),
        timeout_seconds=fields.seconds("timeout", None),
        priority=fields.number("priority", None, least=-100, most=100),
        remember=fields.optional_flag("remember"),
    )


def _cached(fields: Fields) -> Cached:
    # `yes` and `no` are words in YAML 1.2; true and false are what people mean by them.
    value = {True: "yes", False: "no"}.get(fields.value.get("cached", "near"), fields.value.get("cached", "near"))
    if value in {one.value for one in Cached}:
        return Cached(value)
    fields.note(("cached",), "value", f"cached cannot be {value!r}.", "Choose one of: yes, near, no.")
    return Cached.NEAR


def _templates(fields: Fields) -> tuple[str, ...]:
    given = [key for key in ("template", "templates", "queue") if key in fields]
    if len(given) > 1:
        hint = "Give one of: template, templates, queue."
        fields.note((given[1],), "where", f"{given[0]} and {given[1]} cannot be combined.", hint, at_key=True)
    one = fields.optional_text("template")
    return (one,) if one else fields.texts("templates")


def _inputs(fields: Fields) -> tuple[dict[str, Any], frozenset[str]]:
    """What each input is taken from, and which may be missing (`{from: …, optional: true}`)."""
    found: dict[str, Any] = {}
    optional = set()
    for name, value in fields.mapping("inputs").items():
        path: Path = ("inputs", name)
        if isinstance(value, dict):
            inside = Fields(fields.document, (*fields.path, *path), fields.problems)
            inside.only(("from", "optional"))
            optional |= {name} if inside.flag("optional", False) else set()
            value = inside.value.get("from")
        if not isinstance(value, str):
            fields.note(path, "type", f"Input {name!r} must be a reference, not {describe(value)}.")
            continue
        found[name] = value
    return found, frozenset(optional)


def _each(fields: Fields) -> Mapping[str, Any] | str | None:
    value = fields.value.get("each")
    if value is None or isinstance(value, str):
        return value
    if not isinstance(value, dict) or not all(isinstance(one, list | str) for one in value.values()):
        fields.note(("each",), "type", "each must be lists by name, or one reference to a list.")
        return None
    return value


def _retries(fields: Fields) -> FlowRetries | None:
    if "retries" not in fields:
        return None
    if isinstance(fields.value["retries"], dict):
        inside = fields.inside("retries")
        inside.only(("count", "for", "backoff"))
        count = inside.number("count", 0, most=100)
        return FlowRetries(count, inside.texts("for"), inside.seconds("backoff", 5))
    return FlowRetries(fields.number("retries", 0, most=100))


def _approval(fields: Fields) -> Approval:
    fields.only(("role", "message", "timeout"))
    role = fields.choice("role", ("viewer", "member", "admin"), "admin")
    return Approval(role, fields.text("message"), fields.seconds("timeout", 0))


def _defaults(fields: Fields) -> FlowDefaults:
    fields.only(("retries", "timeout", "remember", "priority"))
    return FlowDefaults(
        _retries(fields) or FlowRetries(),
        fields.seconds("timeout", 0),
        fields.flag("remember", True),
        fields.number("priority", 0, least=-100, most=100),
    )


def _concurrency(fields: Fields) -> Concurrency:
    fields.only(("limit", "then"))
    then = fields.choice("then", [one.value for one in WhenBusy], WhenBusy.QUEUE.value)
    return Concurrency(fields.number("limit", 0, least=1), WhenBusy(then))


def _publications(top: Fields) -> tuple[Publication, ...]:
    found = []
    for fields in _items(top, "publish"):
        fields.only(("output", "to"))
        found.append(Publication(fields.text("output"), fields.text("to")))
    return tuple(found)


def _triggers(top: Fields) -> tuple[Trigger, ...]:
    found = []
    for fields in _items(top, "triggers"):
        kind = fields.choice("type", _TRIGGER_KEYS, "commit")
        fields.only(("type", *_TRIGGER_KEYS[kind]))
        found.append(Trigger(kind, {key: value for key, value in fields.value.items() if key != "type"}))
    return tuple(found)


def _items(top: Fields, key: str) -> list[Fields]:
    value = top.value.get(key)
    if value is None:
        return []
    if not isinstance(value, list):
        top.note((key,), "type", f"{key} must be a list.")
        return []
    return [Fields(top.document, (key, index), top.problems) for index in range(len(value))]


def _run_as(top: Fields) -> str:
    value = top.text("run_as", "me")
    if value == "me" or value.startswith("service:"):
        return value
    top.note(("run_as",), "value", f"run_as cannot be {value!r}.", "Write 'me' or 'service:NAME'.")
    return "me"
