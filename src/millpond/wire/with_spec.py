"""Responses that carry a job's specification: whole, and with its fields beside it for whoever reads them there."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from pydantic import GetJsonSchemaHandler, SerializerFunctionWrapHandler, model_serializer, model_validator
from pydantic.json_schema import JsonSchemaValue

from millpond.model.job_spec import JobSpec
from millpond.wire.base import Response

_FIELDS = frozenset(field.name for field in fields(JobSpec))


class WithSpec(Response):
    """`spec` is what was asked. Its fields are written beside it, too, where the response has none of the name."""

    spec: JobSpec

    @model_validator(mode="before")
    @classmethod
    def _gather(cls, body: Any) -> Any:
        """A server of an earlier version writes the fields only."""
        if not isinstance(body, dict) or "spec" in body:
            return body
        return {**body, "spec": {name: body[name] for name in _FIELDS - cls.model_fields.keys() if name in body}}

    @model_serializer(mode="wrap")
    def _spread(self, write: SerializerFunctionWrapHandler) -> dict[str, Any]:
        written = write(self)
        return {**written["spec"], **written}

    @classmethod
    def __get_pydantic_json_schema__(cls, core: Any, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        schema = spread_schema(without_serializer(core), handler)
        spec = handler.resolve_ref_schema(schema["properties"]["spec"])
        spec["required"] = sorted(spec["properties"])  # an answer has them all
        schema["required"] = sorted({*schema["required"], *spec["required"]})
        return schema


def without_serializer(core: Any) -> Any:
    """A model's schema as its fields tell it: what the serializer makes of them is a mere object to pydantic."""
    return {key: value for key, value in core.items() if key != "serialization"}


def spread_schema(core: Any, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
    """The JSON schema of a model with the fields of its `spec` beside it."""
    schema = handler.resolve_ref_schema(handler(core))
    spec = handler.resolve_ref_schema(schema["properties"]["spec"])
    schema["properties"] = {**spec["properties"], **schema["properties"]}
    schema["required"] = sorted({*schema.get("required", ()), *spec.get("required", ())})
    return schema
