"""The configuration as Triton's own message: read from files, completed, told to clients."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from google.protobuf import json_format, text_format
from tritonclient.grpc import model_config_pb2

from ..errors import ServeError

# The generated modules have no types.
PbConfig = Any
_pb: Any = model_config_pb2
_TYPE_NUMBERS: dict[str, int] = dict(_pb.DataType.items())
# "FP32" -> TYPE_FP32 and back; Triton's configurations call BYTES a string.
TYPE_NAMES: dict[int, str] = {
    number: "BYTES" if name == "TYPE_STRING" else name.removeprefix("TYPE_") for name, number in _TYPE_NUMBERS.items()
}
_NUMBERS = {name: number for number, name in TYPE_NAMES.items()}
# Whole numbers that JSON of protobuf writes as strings, and Triton as numbers.
_LONG_FIELDS = frozenset(
    {
        "dims",
        "shape",
        "versions",
        "num_versions",
        "preferred_batch_size",
        "max_queue_delay_microseconds",
        "default_timeout_microseconds",
        "default_priority_level",
        "priority_levels",
    }
)


def read_written(folder: Path) -> PbConfig | None:
    """The configuration that lies in the folder of a model, or None if there is none."""
    text = folder / "config.pbtxt"
    if text.is_file():
        try:
            return text_format.Parse(text.read_text("utf-8"), _pb.ModelConfig())
        except (text_format.ParseError, UnicodeDecodeError) as error:
            raise ServeError(400, f"cannot read {text.name} of model '{folder.name}': {error}") from None
    other = folder / "config.json"
    return parse_json(other.read_bytes(), f"{other.name} of model '{folder.name}'") if other.is_file() else None


def parse_json(text: str | bytes, what: str) -> PbConfig:
    try:
        value = json.loads(text)
        return json_format.ParseDict(value, _pb.ModelConfig())
    except (ValueError, json_format.ParseError) as error:
        raise ServeError(400, f"cannot read {what}: {error}") from None


def empty_config() -> PbConfig:
    return _pb.ModelConfig()


def fill_in(
    config: PbConfig,
    inputs: Sequence[tuple[str, str, Sequence[int]]],
    outputs: Sequence[tuple[str, str, Sequence[int]]],
    *,
    max_batch_size: int = 0,
) -> None:
    """Add inputs and outputs (name, datatype, dims with the batch) where the configuration names none.

    A model whose every tensor begins with a free dimension can batch; dims of a configuration leave that one out.
    """
    every = [*inputs, *outputs]
    can_batch = bool(every) and all(dims and dims[0] == -1 for _, _, dims in every)
    if can_batch and not (config.max_batch_size or config.input or config.output):
        config.max_batch_size = max_batch_size
        if max_batch_size:
            config.dynamic_batching.SetInParent()
    batch = config.max_batch_size > 0
    missing = [] if config.input else inputs, [] if config.output else outputs
    for target, found in zip((config.input, config.output), missing, strict=True):
        for name, datatype, dims in found:
            entry = target.add()
            entry.name = name
            entry.data_type = _NUMBERS[datatype]
            entry.dims.extend(dims[1:] if batch else dims)


def complete(config: PbConfig, name: str, backend: str, platform: str, file: str) -> None:
    """What every configuration has once its model is loaded."""
    config.name = name
    config.backend = config.backend or backend
    config.platform = config.platform or platform
    config.default_model_filename = config.default_model_filename or file
    if not config.HasField("version_policy"):
        config.version_policy.latest.num_versions = 1
    if not config.instance_group:
        config.instance_group.add(name=name)
    for index, group in enumerate(config.instance_group):
        group.name = group.name or f"{name}_{index}"
        group.count = group.count or 1
        if group.kind == _pb.ModelInstanceGroup.KIND_AUTO:
            group.kind = _pb.ModelInstanceGroup.KIND_CPU


def finish(config: PbConfig) -> None:
    """What follows from a configuration that the model has completed."""
    # Nothing here pins memory, but a configuration told by Triton has these.
    for field in ("input_pinned_memory", "output_pinned_memory"):
        if not config.optimization.HasField(field):
            getattr(config.optimization, field).enable = True
    if config.HasField("dynamic_batching") and not config.dynamic_batching.preferred_batch_size:
        config.dynamic_batching.preferred_batch_size.append(config.max_batch_size)


def config_to_json(config: PbConfig) -> dict[str, Any]:
    """The configuration as Triton tells it: every field, long numbers as numbers."""
    value = json_format.MessageToDict(
        config, preserving_proto_field_name=True, always_print_fields_with_no_presence=True
    )
    return {key: _with_numbers(key, part) for key, part in value.items()}


def _with_numbers(key: str, value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _with_numbers(name, part) for name, part in value.items()}
    if isinstance(value, list):
        return [_with_numbers(key, part) for part in value]
    return int(value) if key in _LONG_FIELDS and isinstance(value, str) else value
