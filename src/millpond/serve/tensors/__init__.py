"""Tensors of the protocol as numpy arrays, and back: binary and JSON.

BYTES is an array of `bytes` objects. BF16, for which numpy has no type, is an array of float32.
"""

from .binary import from_binary, to_binary
from .datatypes import DATATYPES, Tensor, check_shape, datatype_of, numpy_type, wire_size
from .json_form import from_json, to_json

__all__ = [
    "DATATYPES",
    "Tensor",
    "check_shape",
    "datatype_of",
    "from_binary",
    "from_json",
    "numpy_type",
    "to_binary",
    "to_json",
    "wire_size",
]
