"""The configuration of a model: `config.pbtxt` or `config.json` of Triton, completed from the model itself."""

from .message import TYPE_NAMES, PbConfig, config_to_json, fill_in, parse_json, read_written
from .model_config import Batching, Dims, ModelConfig, QueuePolicy, TensorConfig, freeze
from .supported import check_supported

__all__ = [
    "TYPE_NAMES",
    "Batching",
    "Dims",
    "ModelConfig",
    "PbConfig",
    "QueuePolicy",
    "TensorConfig",
    "check_supported",
    "config_to_json",
    "fill_in",
    "freeze",
    "parse_json",
    "read_written",
]
