"""The configuration as the server uses it: frozen, checked, with what is derived from it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from ..errors import ServeError
from .message import TYPE_NAMES, PbConfig

Dims = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class TensorConfig:
    """An input or output. `dims` are those of one element of a batch; -1 is free.

    `reshape` is what the model itself wants instead, where the configuration says so.
    """

    name: str
    datatype: str
    dims: Dims
    reshape: Dims | None = None
    optional: bool = False
    label_file: str = ""


@dataclass(frozen=True, slots=True)
class QueuePolicy:
    """0 is no limit. A request that waited too long is rejected, or served after all that have not."""

    timeout_us: int = 0
    allow_timeout_override: bool = False
    delay_when_late: bool = False
    max_size: int = 0


@dataclass(frozen=True, slots=True)
class Batching:
    """How requests are collected: at once while an instance is free, or after `delay_us` for a preferred size."""

    preferred: Dims = ()
    delay_us: int = 0
    queue: QueuePolicy = QueuePolicy()


@dataclass(frozen=True)
class ModelConfig:
    """`message` is what clients are told. `batching` is None where each request runs alone."""

    name: str
    backend: str
    platform: str
    max_batch_size: int
    inputs: Mapping[str, TensorConfig]
    outputs: Mapping[str, TensorConfig]
    instances: int
    batching: Batching | None
    parameters: Mapping[str, str]
    message: PbConfig

    @cached_property
    def required_inputs(self) -> frozenset[str]:
        return frozenset(name for name, each in self.inputs.items() if not each.optional)


def freeze(message: PbConfig) -> ModelConfig:
    """The configuration of a completed message; 400 if it contradicts itself."""
    name = message.name
    _check_tensors(name, message)
    batching = _batching(message) if message.HasField("dynamic_batching") else None
    if batching is not None and message.max_batch_size == 0:
        raise ServeError(400, f"config of model '{name}': dynamic_batching needs max_batch_size of 1 or more")
    if batching is not None and any(size < 1 or size > message.max_batch_size for size in batching.preferred):
        raise ServeError(
            400, f"config of model '{name}': preferred_batch_size must be from 1 to {message.max_batch_size}"
        )
    return ModelConfig(
        name=name,
        backend=message.backend,
        platform=message.platform,
        max_batch_size=message.max_batch_size,
        inputs={entry.name: _tensor(entry, optional=entry.optional) for entry in message.input},
        outputs={entry.name: _tensor(entry, label_file=entry.label_filename) for entry in message.output},
        instances=max(1, sum(group.count for group in message.instance_group)),
        batching=batching,
        parameters={key: value.string_value for key, value in message.parameters.items()},
        message=message,
    )


def _tensor(entry: PbConfig, *, optional: bool = False, label_file: str = "") -> TensorConfig:
    reshape = tuple(entry.reshape.shape) if entry.HasField("reshape") else None
    return TensorConfig(
        entry.name, TYPE_NAMES[entry.data_type], tuple(entry.dims), reshape, optional=optional, label_file=label_file
    )


def _batching(message: PbConfig) -> Batching:
    written = message.dynamic_batching
    queue = written.default_queue_policy
    return Batching(
        preferred=tuple(sorted(set(written.preferred_batch_size))),
        delay_us=written.max_queue_delay_microseconds,
        queue=QueuePolicy(
            timeout_us=queue.default_timeout_microseconds,
            allow_timeout_override=queue.allow_timeout_override,
            delay_when_late=queue.timeout_action == queue.DELAY,
            max_size=queue.max_queue_size,
        ),
    )


def _check_tensors(name: str, message: PbConfig) -> None:
    for kind, entries in (("input", message.input), ("output", message.output)):
        names = [entry.name for entry in entries]
        for entry in entries:
            what = f"config of model '{name}': {kind} '{entry.name}'"
            if not entry.name or names.count(entry.name) > 1:
                raise ServeError(400, f"{what} needs a name of its own")
            if entry.data_type == 0:
                raise ServeError(400, f"{what} needs a data_type")
            if any(size < -1 or size == 0 for size in entry.dims):
                raise ServeError(400, f"{what} has dims that are neither positive nor -1")
