"""HTTP: each datatype as JSON and binary, both ways; bounds; BYTES; FP16; BF16."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from typing import Any

from tests.conformance.cases.http_infer import framed, posted
from tests.conformance.registry import Answer, Session, case

PATH = "/v2/models/types/infer"
# Datatype: values, and the same packed.
SAMPLES: dict[str, tuple[list[Any], bytes]] = {
    "BOOL": ([True, False], b"\x01\x00"),
    "UINT8": ([0, 255], b"\x00\xff"),
    "UINT16": ([0, 65535], struct.pack("<2H", 0, 65535)),
    "UINT32": ([0, 2**32 - 1], struct.pack("<2I", 0, 2**32 - 1)),
    "UINT64": ([0, 2**64 - 1], struct.pack("<2Q", 0, 2**64 - 1)),
    "INT8": ([-128, 127], b"\x80\x7f"),
    "INT16": ([-32768, 32767], struct.pack("<2h", -32768, 32767)),
    "INT32": ([-(2**31), 2**31 - 1], struct.pack("<2i", -(2**31), 2**31 - 1)),
    "INT64": ([-(2**63), 2**63 - 1], struct.pack("<2q", -(2**63), 2**63 - 1)),
    "FP16": ([1.5, -2.0], struct.pack("<2e", 1.5, -2.0)),
    "FP32": ([1.5, -0.1], struct.pack("<2f", 1.5, -0.1)),
    "FP64": ([1.5, -0.1], struct.pack("<2d", 1.5, -0.1)),
    "BYTES": (["a", "größe"], b"\x01\x00\x00\x00a" + struct.pack("<I", 7) + "größe".encode()),
}


def _one(datatype: str, /, **changes: Any) -> dict[str, Any]:
    return {"name": datatype, "shape": [1, 2], "datatype": datatype} | changes


def _json(datatype: str, data: object, /, **changes: Any) -> Callable[[Session], Answer]:
    wanted = [{"name": f"OUT_{datatype}"}]
    return posted({"inputs": [_one(datatype, data=data) | changes], "outputs": wanted}, PATH)


def _to_binary(datatype: str, data: object, /, **changes: Any) -> Callable[[Session], Answer]:
    wanted = [{"name": f"OUT_{datatype}", "parameters": {"binary_data": True}}]
    return posted({"inputs": [_one(datatype, data=data) | changes], "outputs": wanted}, PATH)


def _binary(datatype: str, packed: bytes, /, *, out: bool = True, **changes: Any) -> Callable[[Session], Answer]:
    size = {"binary_data_size": len(packed)}
    wanted = [{"name": f"OUT_{datatype}", "parameters": {"binary_data": out}}]
    return framed({"inputs": [_one(datatype, parameters=size) | changes], "outputs": wanted}, packed, path=PATH)


CASES: dict[str, Callable[[Session], Answer]] = {}
for _name, (_values, _packed) in SAMPLES.items():
    CASES |= {
        f"{_name.lower()}_json": _json(_name, _values),
        f"{_name.lower()}_json_to_binary": _to_binary(_name, _values),
        f"{_name.lower()}_binary": _binary(_name, _packed),
        f"{_name.lower()}_binary_to_json": _binary(_name, _packed, out=False),
    }
CASES |= {
    "bytes_empty": _json("BYTES", ["", ""]),
    "bytes_not_text_to_json": _binary("BYTES", struct.pack("<I", 2) + b"\xff\xfe" + struct.pack("<I", 0), out=False),
    "bytes_zero_inside": _binary("BYTES", struct.pack("<I", 3) + b"a\x00b" + struct.pack("<I", 0)),
    "bytes_cut_short": _binary("BYTES", struct.pack("<I", 9) + b"a" + struct.pack("<I", 0)),
    "bytes_too_few": _binary("BYTES", struct.pack("<I", 1) + b"a"),
    "bytes_too_many": _binary("BYTES", (struct.pack("<I", 1) + b"a") * 3),
    "bytes_numbers": _json("BYTES", [1, 2]),
    "bytes_escapes": _json("BYTES", ['"quoted"\n', "\u0000\u20ac"]),
    "empty_tensor": _json("FP32", [], shape=[0, 2]),
    "empty_tensor_binary": _binary("FP32", b"", shape=[0, 2]),
    "float_nan_to_json": _binary("FP32", struct.pack("<2f", float("nan"), float("inf")), out=False),
    "float_large": _json("FP32", [1e39, -1e39]),
    "float_as_text": _json("FP32", ["1.5", "2"]),
    "float_for_integer": _json("INT32", [1.0, 2.5]),
    "integer_beyond_uint8": _json("UINT8", [256, 1]),
    "integer_beyond_int8": _json("INT8", [-129, 1]),
    "integer_beyond_int32": _json("INT32", [2**31, 1]),
    "integer_beyond_int64": _json("INT64", [2**63, 1]),
    "integer_beyond_uint64": _json("UINT64", [2**64, 1]),
    "negative_for_unsigned": _json("UINT32", [-1, 1]),
    "number_for_bool": _json("BOOL", [1, 0]),
    "number_two_for_bool": _json("BOOL", [2, 0]),
    "bool_for_number": _json("INT32", [True, False]),
    "bool_binary_two": _binary("BOOL", b"\x02\x00"),
    "null_value": _json("FP32", [None, 1.0]),
    "fp16_nan_json": _binary("FP16", struct.pack("<2e", float("nan"), 1.0), out=False),
    "bf16_for_fp32": _json("FP32", [1.0, 2.0], datatype="BF16"),
    "lower_case_type": _json("FP32", [1.0, 2.0], datatype="fp32"),
    "config_type": _json("FP32", [1.0, 2.0], datatype="TYPE_FP32"),
    "numpy_type": _json("FP32", [1.0, 2.0], datatype="float32"),
    "no_inputs": posted({"inputs": []}, PATH),
}


@case
def two_types(session: Session) -> Answer:
    """Two optional inputs, the outputs of which are asked for by name."""
    body = {
        "inputs": [_one("INT8", data=[1, 2]), _one("BYTES", data=["x", "y"])],
        "outputs": [{"name": "OUT_BYTES"}, {"name": "OUT_INT8"}],
    }
    answer = session.send("POST", PATH, body)
    answer.get("body", {}).get("outputs", []).sort(key=json.dumps)
    return answer


BF16 = b"\x80\x3f\x20\xc0"  # 1.0 and -2.5


@case
def bf16_binary(session: Session) -> Answer:
    one = {"name": "B", "shape": [2], "datatype": "BF16", "parameters": {"binary_data_size": 4}}
    wanted = [{"name": "OUT_B", "parameters": {"binary_data": True}}]
    return framed({"inputs": [one], "outputs": wanted}, BF16, path="/v2/models/packed/infer")(session)


@case
def bf16_to_json(session: Session) -> Answer:
    one = {"name": "B", "shape": [2], "datatype": "BF16", "parameters": {"binary_data_size": 4}}
    return framed({"inputs": [one], "outputs": [{"name": "OUT_B"}]}, BF16, path="/v2/models/packed/infer")(session)


@case
def fp32_by_capsule(session: Session) -> Answer:
    one = {"name": "F", "shape": [2], "datatype": "FP32", "data": [1.5, 2.5]}
    return session.send("POST", "/v2/models/packed/infer", {"inputs": [one], "outputs": [{"name": "OUT_F"}]})
