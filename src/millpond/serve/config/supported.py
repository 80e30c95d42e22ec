"""What a configuration may ask for, and this server cannot: told by name, never ignored."""

from __future__ import annotations

from ..errors import ServeError
from .message import PbConfig

# Fields of the message that no model may set here, and why.
_UNSUPPORTED = {
    "sequence_batching": "requests of a sequence are not kept together",
    "ensemble_scheduling": "ensembles are not served; chain the models in a model.py",
    "batch_input": "inputs made from the batch are not supported",
    "batch_output": "outputs cut by the batch are not supported",
    "model_operations": "custom operations are not loaded",
    "model_repository_agents": "repository agents are not run",
}


def check_supported(config: PbConfig, name: str) -> None:
    """400 with every key that is set and not supported."""
    found = [f"{key} ({why})" for key, why in _UNSUPPORTED.items() if _is_set(config, key)]
    if config.model_transaction_policy.decoupled:
        found.append("model_transaction_policy.decoupled (a request has one response)")
    if config.response_cache.enable:
        found.append("response_cache (responses are not cached)")
    if config.platform == "ensemble" or config.backend == "ensemble":
        found.append("platform: ensemble (ensembles are not served; chain the models in a model.py)")
    found += _of_batching(config) + _of_tensors(config) + _of_instances(config)
    if found:
        raise ServeError(400, f"config of model '{name}' has keys that are not supported: {'; '.join(found)}")
    if config.name and config.name != name:
        raise ServeError(400, f"config of model '{name}' names it '{config.name}': make both the same")
    if config.max_batch_size < 0:
        raise ServeError(400, f"config of model '{name}': max_batch_size must be 0 or more")


def _is_set(config: PbConfig, key: str) -> bool:
    value = getattr(config, key)
    return (
        config.HasField(key)
        if config.DESCRIPTOR.fields_by_name[key].message_type and not _repeats(value)
        else bool(value)
    )


def _repeats(value: object) -> bool:
    return hasattr(value, "add") or hasattr(value, "append")


def _of_batching(config: PbConfig) -> list[str]:
    batching = config.dynamic_batching
    found = []
    if batching.priority_levels or batching.priority_queue_policy:
        found.append("dynamic_batching.priority_levels (requests are served in their order)")
    if batching.preserve_ordering and sum(group.count or 1 for group in config.instance_group) > 1:
        found.append("dynamic_batching.preserve_ordering with several instances")
    return found


def _of_tensors(config: PbConfig) -> list[str]:
    found = []
    for entry in config.input:
        if entry.allow_ragged_batch:
            found.append(f"input '{entry.name}': allow_ragged_batch")
        if entry.is_shape_tensor:
            found.append(f"input '{entry.name}': is_shape_tensor")
    found += [f"output '{entry.name}': is_shape_tensor" for entry in config.output if entry.is_shape_tensor]
    return found


def _of_instances(config: PbConfig) -> list[str]:
    found = []
    for group in config.instance_group:
        if group.passive:
            found.append("instance_group.passive")
        if group.HasField("rate_limiter") and (group.rate_limiter.resources or group.rate_limiter.priority):
            found.append("instance_group.rate_limiter")
    return found
