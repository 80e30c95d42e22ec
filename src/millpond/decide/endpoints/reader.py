"""From the text of `endpoint.yaml` (or the same as JSON) to what it asks for, and back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from millpond.decide.endpoints.drift_rules import drift_document, read_drift
from millpond.decide.endpoints.log_rules import log_document, read_log_rules
from millpond.decide.flows.document import read_document
from millpond.decide.flows.fields import Fields, describe
from millpond.errors import BadName
from millpond.model.endpoint_spec import (
    ALL_TRAFFIC,
    ENDPOINT_SCHEMA,
    MAX_REPLICAS,
    MAX_VERSIONS,
    EndpointAccess,
    EndpointLog,
    EndpointPorts,
    EndpointRollout,
    EndpointScale,
    EndpointSite,
    EndpointSpec,
    LogLevel,
    Offline,
    Packages,
    ShadowVersion,
    WeightedVersion,
)
from millpond.model.flow import FlowProblem
from millpond.model.model import split_written
from millpond.model.names import DatasetRef, check_model_name, check_name

_KEYS = (
    "schema", "name", "versions", "shadow", "sites", "scale", "rollout", "access", "log", "drift", "ports",
    "environment",
)  # fmt: skip
_SITE_KEYS = ("min", "max", "template", "offline", "model")
_ROLLOUT_KEYS = ("step", "every", "promote_if", "else")
_CONDITIONS = ("errors_max", "p99_ratio_max", "drift_max")
_MOST_MS = 3_600_000


def read_endpoint(text: str) -> tuple[EndpointSpec | None, list[FlowProblem]]:
    """What a text asks for as far as it can be read, and what is wrong with it. Never raises."""
    document, problems = read_document(text)
    top = Fields(document, (), problems)
    if not top.is_mapping:
        return None, problems or [document.problem((), "type", "An endpoint must be a mapping.")]
    schema = top.value.get("schema")
    if schema is None:
        top.note((), "schema", "The key 'schema' is missing.", f"Begin the file with: schema: {ENDPOINT_SCHEMA}")
    elif schema != ENDPOINT_SCHEMA:
        top.note(("schema",), "schema", f"Unknown schema {schema!r}.", f"Write: schema: {ENDPOINT_SCHEMA}")
    top.only(_KEYS)
    log = _log(top.inside("log"))
    is_logged = log.level is LogLevel.FULL and log.to is not None
    spec = EndpointSpec(
        name=_name(top),
        versions=_versions(top),
        shadow=_shadow(top),
        sites=tuple(_sites(top)),
        scale=_scale(top.inside("scale")),
        rollout=_rollout(top.inside("rollout")) if "rollout" in top else None,
        access=_access(top.inside("access")),
        log=log,
        drift=read_drift(top.inside("drift"), is_logged=is_logged) if "drift" in top else None,
        ports=_ports(top.inside("ports")),
        environment=Packages(top.choice("environment", [one.value for one in Packages], Packages.AUTO.value)),
    )
    problems.sort(key=lambda one: (one.line, one.column))
    return spec, problems


def endpoint_document(spec: EndpointSpec) -> dict[str, Any]:
    """The spec as `endpoint.yaml` has it: read again, it is the same. Sections without a say are left out."""
    found: dict[str, Any] = {
        "schema": ENDPOINT_SCHEMA,
        "name": spec.name,
        "versions": [{"model": one.model, "weight": one.weight} for one in spec.versions],
    }
    if spec.shadow is not None:
        found["shadow"] = {"model": spec.shadow.model, "percent": spec.shadow.percent}
    found["sites"] = {one.site: _site_document(one) for one in spec.sites}
    found["scale"] = {
        "target_concurrency": spec.scale.target_concurrency,
        "idle_to_zero": _seconds(spec.scale.idle_to_zero_seconds),
        **({"target_p95_ms": spec.scale.target_p95_ms} if spec.scale.target_p95_ms else {}),
    }
    if spec.rollout is not None:
        found["rollout"] = _rollout_document(spec.rollout)
    found["access"] = {"public": spec.access.public, "token_quota_per_min": spec.access.token_quota_per_min}
    found["log"] = {"level": spec.log.level.value, "sample": spec.log.sample, "redact": list(spec.log.redact)}
    if spec.log.to is not None:
        found["log"] |= {"to": spec.log.to, "every": _seconds(spec.log.every_seconds)}
    found["log"] |= log_document(spec.log)
    if spec.drift is not None:
        found["drift"] = drift_document(spec.drift)
    found["ports"] = {"http": spec.ports.http, "grpc": spec.ports.grpc, "metrics": spec.ports.metrics}
    found["environment"] = spec.environment.value
    return found


def _name(top: Fields) -> str:
    name = top.text("name")
    found: str = top.parsed(("name",), lambda text: check_name(text, "endpoint"), name, name)
    return found


def _versions(top: Fields) -> tuple[WeightedVersion, ...]:
    value = top.value.get("versions")
    if not isinstance(value, list) or not 1 <= len(value) <= MAX_VERSIONS:
        said = "No versions given." if value is None else f"versions must be a list of 1 to {MAX_VERSIONS}."
        top.note(("versions",), "versions", said, "Write: versions: [{model: NAME@3, weight: 100}]")
        return ()
    found = tuple(_version(top, place, alone=len(value) == 1) for place in range(len(value)))
    total = sum(one.weight for one in found)
    if total != ALL_TRAFFIC:
        top.note(("versions",), "weights", f"The weights sum to {total}.", f"Make them sum to {ALL_TRAFFIC}.")
    if len({one.model for one in found}) < len(found):
        top.note(("versions",), "versions", "A version stands twice.", "Remove one of them.")
    return found


def _version(top: Fields, place: int, *, alone: bool) -> WeightedVersion:
    fields = Fields(top.document, ("versions", place), top.problems)
    fields.only(("model", "weight"))
    return WeightedVersion(_model(fields), fields.number("weight", ALL_TRAFFIC if alone else 0, most=ALL_TRAFFIC))


def _model(fields: Fields) -> str:
    """NAME@VERSION; of `NAME` alone, the newest version."""
    text = fields.text("model")
    if not text:
        fields.note(("model",), "model", "No model given.", "Write: model: NAME@3")
        return ""
    try:
        name, version = split_written(text)
        return f"{check_model_name(name)}@{version}"
    except BadName as error:
        fields.note(("model",), "model", error.message, error.hint or "")
        return text


def _shadow(top: Fields) -> ShadowVersion | None:
    if "shadow" not in top:
        return None
    fields = top.inside("shadow")
    fields.only(("model", "percent"))
    return ShadowVersion(_model(fields), fields.number("percent", ALL_TRAFFIC, least=1, most=ALL_TRAFFIC))


def _sites(top: Fields) -> Iterator[EndpointSite]:
    sites = top.inside("sites")
    for name in sites.value:
        fields = sites.inside(name)
        fields.only(_SITE_KEYS)
        least = fields.number("min", 1, most=MAX_REPLICAS)
        most = fields.number("max", max(1, least), least=1, most=MAX_REPLICAS)
        if most < least:
            fields.note(("max",), "value", f"max ({most}) is below min ({least}).")
        offline = fields.choice("offline", [one.value for one in Offline], Offline.SERVE.value)
        model = _model(fields) if "model" in fields else None
        yield EndpointSite(name, least, most, fields.optional_text("template"), Offline(offline), model)


def _scale(fields: Fields) -> EndpointScale:
    fields.only(("target_concurrency", "idle_to_zero", "target_p95_ms"))
    return EndpointScale(
        target_concurrency=fields.number("target_concurrency", 8, least=1),
        idle_to_zero_seconds=fields.seconds("idle_to_zero", 600),
        target_p95_ms=fields.number("target_p95_ms", 0, least=1, most=_MOST_MS),
    )


def _rollout(fields: Fields) -> EndpointRollout:
    fields.only(_ROLLOUT_KEYS)
    conditions = fields.inside("promote_if")
    conditions.only(_CONDITIONS)
    every = fields.seconds("every", 300)
    if every < 1:
        fields.note(("every",), "value", "every must be at least 1s.")
    return EndpointRollout(
        step=fields.number("step", 10, least=1, most=ALL_TRAFFIC),
        every_seconds=every,
        errors_max=_limit(conditions, "errors_max", most=1.0),
        p99_ratio_max=_limit(conditions, "p99_ratio_max"),
        drift_max=_limit(conditions, "drift_max"),
        rolls_back=fields.choice("else", ("rollback", "hold"), "rollback") == "rollback",
    )


def _limit(fields: Fields, key: str, *, most: float = 1e6) -> float | None:
    value = fields.value.get(key)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= most:
        fields.note((key,), "value", f"{key} must be a number from 0 to {most:,g}, not {describe(value)}.")
        return None
    return float(value)


def _access(fields: Fields) -> EndpointAccess:
    fields.only(("public", "token_quota_per_min"))
    return EndpointAccess(fields.flag("public", False), fields.number("token_quota_per_min", 0))


def _log(fields: Fields) -> EndpointLog:
    fields.only(("level", "sample", "redact", "to", "every", "keep", "max", "send"))
    to = fields.optional_text("to")
    if to is not None:
        fields.parsed(("to",), DatasetRef.parse_commit, to, None)
    sample = _limit(fields, "sample", most=1.0)
    return EndpointLog(
        level=LogLevel(fields.choice("level", [one.value for one in LogLevel], LogLevel.NONE.value)),
        sample=1.0 if sample is None else sample,
        redact=fields.texts("redact"),
        to=to,
        every_seconds=fields.seconds("every", 600),
        **read_log_rules(fields),
    )


def _ports(fields: Fields) -> EndpointPorts:
    fields.only(("http", "grpc", "metrics"))
    standard = EndpointPorts()
    found = EndpointPorts(
        *(fields.number(key, getattr(standard, key), least=1, most=65_535) for key in ("http", "grpc", "metrics"))
    )
    if len({found.http, found.grpc, found.metrics}) < 3:
        fields.note((), "value", "The ports must differ from each other.")
    return found


def _site_document(site: EndpointSite) -> Mapping[str, Any]:
    template = {"template": site.template} if site.template else {}
    model = {"model": site.model} if site.model else {}
    return {"min": site.min, "max": site.max, **template, "offline": site.offline.value, **model}


def _rollout_document(rollout: EndpointRollout) -> Mapping[str, Any]:
    limits = {key: getattr(rollout, key) for key in _CONDITIONS if getattr(rollout, key) is not None}
    return {
        "step": rollout.step,
        "every": _seconds(rollout.every_seconds),
        **({"promote_if": limits} if limits else {}),
        "else": "rollback" if rollout.rolls_back else "hold",
    }


def _seconds(seconds: int) -> str:
    return f"{seconds}s"
