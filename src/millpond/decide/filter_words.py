"""The words of the filter language (decide/run_filter.py): those of runs, and how other nouns say theirs."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from millpond.model.run_query import Attribute, FieldKind

KINDS = {
    "metrics": FieldKind.METRIC, "metric": FieldKind.METRIC,
    "params": FieldKind.PARAM, "param": FieldKind.PARAM, "parameters": FieldKind.PARAM, "parameter": FieldKind.PARAM,
    "tags": FieldKind.TAG, "tag": FieldKind.TAG,
    "attributes": FieldKind.ATTRIBUTE, "attribute": FieldKind.ATTRIBUTE, "attr": FieldKind.ATTRIBUTE,
    "run": FieldKind.ATTRIBUTE,
}  # fmt: skip
_ATTRIBUTES = {attribute.value: attribute for attribute in Attribute} | {
    "run_id": Attribute.ID, "run_name": Attribute.NAME, "status": Attribute.STATE, "user_id": Attribute.USER,
    "created_by": Attribute.USER, "start_time": Attribute.STARTED_AT, "end_time": Attribute.ENDED_AT,
    "created": Attribute.STARTED_AT, "Created": Attribute.STARTED_AT,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Words:
    """What a filter of some noun may name: kinds of fields, and attributes as they are written, with their keys."""

    kinds: Collection[FieldKind]
    attributes: Mapping[str, str]
    # Keys of attributes that are moments (in milliseconds), or other numbers.
    times: Collection[str] = ()
    numbers: Collection[str] = ()
    # Tags that are attributes.
    tags: Mapping[str, str] = field(default_factory=dict)

    @property
    def written(self) -> str:
        """`metrics.KEY, params.KEY, tags.KEY`"""
        return ", ".join(f"{kind.value}.KEY" for kind in self.kinds)


RUN_WORDS = Words(
    kinds=(FieldKind.METRIC, FieldKind.PARAM, FieldKind.TAG),
    attributes={name: attribute.value for name, attribute in _ATTRIBUTES.items()},
    times=tuple(attribute.value for attribute in Attribute if attribute.is_time),
    numbers=tuple(attribute.value for attribute in Attribute if attribute.is_number and not attribute.is_time),
    # Tags of MLflow's clients that are fields of a run here.
    tags={"mlflow.parentRunId": Attribute.PARENT.value, "mlflow.runName": Attribute.NAME.value},
)
