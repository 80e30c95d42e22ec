"""Models: which aliases are allowed, what a version's commit says of it, and how two versions differ."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from millpond.errors import BadName, Invalid
from millpond.model.dataset import Commit
from millpond.model.model import LATEST, MOST_ALIAS, ModelFacts, ModelVersionView

# The key of a commit's lineage that holds the facts of a version (docs/design/017-models.md).
FACTS = "model"
# Tags of versions in the bin: `deleted/3`. No alias holds a slash.
BIN_PREFIX = "deleted/"
MOST_VALUES = 1000
MOST_VALUE = 2000
_ALIAS = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_VERSION = re.compile(r"[0-9]{1,18}")
_VERSION_LIKE = re.compile(r"[vV][0-9]+")


def version_number(text: str) -> int | None:
    """The number that `3` names; None for an alias."""
    return int(text) if _VERSION.fullmatch(text) else None


def check_alias(alias: str) -> str:
    """`alias` itself if a version may be called so; BadName otherwise."""
    if not _ALIAS.fullmatch(alias) or len(alias) > MOST_ALIAS or ".." in alias or alias.endswith(".lock"):
        raise BadName(
            f"{alias[:MOST_ALIAS]!r} is not a valid alias.",
            hint=f"Use 1 to {MOST_ALIAS} letters, digits, '.', '_' and '-', starting with a letter or digit.",
        )
    is_version = _VERSION.fullmatch(alias) or _VERSION_LIKE.fullmatch(alias)
    if is_version or alias.lower() in (LATEST, "main"):
        raise BadName(f"{alias!r} is reserved.", hint="Choose an alias like champion or candidate.")
    return alias


def facts_document(name: str, number: int, facts: ModelFacts, tags: Mapping[str, str]) -> dict[str, Any]:
    """The facts as a commit's lineage holds them: no floats, because the lake's documents have none."""
    return {
        "id": f"{name}@{number}",
        "number": number,
        "source": facts.source,
        "metrics": {key: repr(value) for key, value in facts.metrics.items()},
        "params": dict(facts.params),
        "signature": facts.signature,
        "flavors": list(facts.flavors),
        "run": facts.run_id,
        "run_link": facts.run_link,
        "logged_model": facts.logged_model,
        "elsewhere": facts.is_elsewhere,
        **({"files_uri": facts.files_uri} if facts.is_elsewhere else {}),
        "tags": dict(tags),
    }


def facts_of(commit: Commit) -> ModelFacts:
    """The facts that a commit says of its version; what is missing, or strange, is left out."""
    found = commit.lineage.get(FACTS)
    known = found if isinstance(found, dict) else {}
    return ModelFacts(
        source=_text(known, "source"),
        metrics={str(key): _number(value) for key, value in _mapping(known, "metrics").items()},
        params={str(key): str(value) for key, value in _mapping(known, "params").items()},
        signature=_text(known, "signature"),
        flavors=tuple(str(one) for one in known.get("flavors") or ()),
        run_id=_text(known, "run") or None,
        run_link=_text(known, "run_link"),
        logged_model=_text(known, "logged_model") or None,
        is_elsewhere=known.get("elsewhere") is True,
        files_uri=_text(known, "files_uri") or (_text(known, "source") if known.get("elsewhere") is True else ""),
    )


def number_of(commit: Commit) -> int | None:
    """The number of the version that a commit is."""
    found = commit.lineage.get(FACTS)
    number = found.get("number") if isinstance(found, dict) else None
    return number if isinstance(number, int) else None


def tags_of(commit: Commit) -> dict[str, str]:
    """The tags that a version was registered with."""
    found = commit.lineage.get(FACTS)
    return {str(key): str(value) for key, value in _mapping(found if isinstance(found, dict) else {}, "tags").items()}


def kept_values(values: Mapping[str, Any]) -> dict[str, str]:
    """Parameters as a version keeps them: as text, not too many, long ones cut."""
    written = {key: value if isinstance(value, str) else json.dumps(value) for key, value in values.items()}
    return {
        key: text if len(text) <= MOST_VALUE else f"{text[: MOST_VALUE - 1]}…"
        for key, text in sorted(written.items())[:MOST_VALUES]
    }


def check_signature(text: str) -> str:
    """`text` itself if it is a JSON object; Invalid otherwise."""
    if not text:
        return text
    try:
        found = json.loads(text)
    except ValueError as error:
        raise Invalid("The signature is not JSON.", fields=["signature"]) from error
    if not isinstance(found, dict):
        raise Invalid("The signature must be a JSON object with inputs, outputs and params.", fields=["signature"])
    return text


# Comparing -------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ValueDifference:
    """A key of one or both versions. None: that version does not have it."""

    key: str
    before: str | float | None
    after: str | float | None

    @property
    def is_different(self) -> bool:
        return self.before != self.after and not (_is_nan(self.before) and _is_nan(self.after))


@dataclass(frozen=True, slots=True)
class FactsDifference:
    metrics: tuple[ValueDifference, ...]
    params: tuple[ValueDifference, ...]
    tags: tuple[ValueDifference, ...]
    signature: tuple[ValueDifference, ...]


def compare_facts(before: ModelVersionView, after: ModelVersionView) -> FactsDifference:
    """All keys of both versions, by name, whether they differ or not."""
    return FactsDifference(
        metrics=_differences(before.facts.metrics, after.facts.metrics),
        params=_differences(before.facts.params, after.facts.params),
        tags=_differences(before.version.tags, after.version.tags),
        signature=_differences(signature_parts(before.facts.signature), signature_parts(after.facts.signature)),
    )


def signature_parts(signature: str) -> dict[str, str]:
    """`inputs.age` → `double (required)`: one line for each column or tensor of a signature in MLflow's form."""
    found: dict[str, str] = {}
    parts = _json(signature)
    for side in ("inputs", "outputs", "params") if isinstance(parts, dict) else ():
        columns = _json(parts.get(side))
        for place, column in enumerate(columns if isinstance(columns, list) else ()):
            if isinstance(column, dict):
                found[f"{side}.{column.get('name') or place}"] = _column(column)
    return found


def _column(column: Mapping[str, Any]) -> str:
    """The type of a column; of a tensor with its shape."""
    tensor = column.get("tensor-spec")
    if isinstance(tensor, dict):
        shape = ", ".join(str(size) for size in tensor.get("shape") or ())
        return f"{tensor.get('dtype', 'tensor')} [{shape}]"
    words = str(column.get("type", "any"))
    if "default" in column:
        return f"{words} = {json.dumps(column['default'])}"
    return words if column.get("required", True) else f"{words} (optional)"


def _json(value: Any) -> Any:
    """MLflow nests JSON texts in JSON."""
    try:
        return json.loads(value) if isinstance(value, str) else value
    except ValueError:
        return None


def _differences(before: Mapping[str, Any], after: Mapping[str, Any]) -> tuple[ValueDifference, ...]:
    keys = sorted({*before, *after})
    return tuple(ValueDifference(key, before.get(key), after.get(key)) for key in keys)


def _is_nan(value: object) -> bool:
    return isinstance(value, float) and value != value


def _text(known: Mapping[str, Any], key: str) -> str:
    value = known.get(key)
    return value if isinstance(value, str) else ""


def _mapping(known: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    value = known.get(key)
    return value if isinstance(value, dict) else {}


def _number(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        return float("nan")
