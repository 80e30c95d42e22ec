"""HTTP: bad requests. The status is compared; of the message, that there is one."""

from __future__ import annotations

import gzip
import json
import struct
import zlib

from tests.conformance.cases.http_infer import (
    ADD_SUB,
    BOTH_BINARY,
    PACKED,
    binary,
    framed,
    outputs,
    posted,
    request,
    tensor,
)

FAILING = "/v2/models/failing/infer"


def _pair(**changes: object) -> dict[str, object]:
    return {"inputs": [tensor("INPUT0", **changes), tensor("INPUT1")]}


def _failing(how: str) -> dict[str, object]:
    return {"inputs": [{"name": "HOW", "shape": [1], "datatype": "BYTES", "data": [how]}]}


CASES = {
    "no_body": posted(b""),
    "no_json": posted(b"{not json"),
    "cut_json": posted(json.dumps(request()).encode()[:-20]),
    "json_then_more": posted(json.dumps(request()).encode() + b"more"),
    "json_list": posted(b"[]"),
    "json_number": posted(b"5"),
    "json_null": posted(b"null"),
    "json_nan": posted(b'{"inputs":[{"name":"INPUT0","shape":[1,4],"datatype":"FP32","data":[NaN,1,2,3]}]}'),
    "json_infinity": posted(b'{"inputs":[{"name":"INPUT0","shape":[1,4],"datatype":"FP32","data":[Infinity,1,2,3]}]}'),
    "json_not_utf8": posted(b'{"id":"\xff\xfe","inputs":[]}'),
    "json_deep": posted(b'{"inputs":' + b"[" * 200 + b"]" * 200 + b"}"),
    "empty_object": posted(b"{}"),
    "inputs_missing": posted({"id": "1"}),
    "inputs_empty": posted(request(inputs=[])),
    "inputs_object": posted(request(inputs={"INPUT0": [1]})),
    "inputs_of_numbers": posted(request(inputs=[1, 2])),
    "input_missing": posted({"inputs": [tensor("INPUT0")]}),
    "input_unknown": posted({"inputs": [tensor("INPUT0"), tensor("INPUT1"), tensor("INPUT2")]}),
    "input_renamed": posted({"inputs": [tensor("INPUT0"), tensor("INPUT9")]}),
    "input_twice": posted({"inputs": [tensor("INPUT0"), tensor("INPUT0"), tensor("INPUT1")]}),
    "input_without_name": posted(_pair(name=None)),
    "input_name_number": posted(_pair(name=5)),
    "input_without_shape": posted(_pair(shape=None)),
    "input_without_type": posted(_pair(datatype=None)),
    "input_without_data": posted(_pair(data=None)),
    "type_wrong": posted(_pair(datatype="INT32")),
    "type_unknown": posted(_pair(datatype="FP31")),
    "type_number": posted(_pair(datatype=3)),
    "shape_wrong": posted(_pair(shape=[1, 3], data=[1, 2, 3])),
    "shape_without_batch": posted(_pair(shape=[4])),
    "shape_negative": posted(_pair(shape=[-1, 4])),
    "shape_both_negative": posted(_pair(shape=[-1, -4])),
    "shape_zero_batch": posted(_pair(shape=[0, 4], data=[])),
    "shape_huge": posted(_pair(shape=[2**62, 4])),
    "shape_overflow": posted(_pair(shape=[2**64, 4])),
    "shape_text": posted(_pair(shape="1,4")),
    "shape_of_text": posted(_pair(shape=["1", "4"])),
    "shape_of_floats": posted(_pair(shape=[1.0, 4.0])),
    "shape_of_halves": posted(_pair(shape=[1.5, 4])),
    "shape_empty": posted(_pair(shape=[])),
    "shape_of_lists": posted(_pair(shape=[[1], [4]])),
    "batch_too_large": posted({"inputs": [tensor(n, shape=[9, 4], data=[1.0] * 36) for n in ("INPUT0", "INPUT1")]}),
    "batches_differ": posted({"inputs": [tensor("INPUT0", shape=[2, 4], data=[1.0] * 8), tensor("INPUT1")]}),
    "data_short": posted(_pair(data=[1, 2, 3])),
    "data_long": posted(_pair(data=[1, 2, 3, 4, 5])),
    "data_empty": posted(_pair(data=[])),
    "data_text": posted(_pair(data=["a", "b", "c", "d"])),
    "data_null": posted(_pair(data=[None] * 4)),
    "data_object": posted(_pair(data={"a": 1})),
    "data_number": posted(_pair(data=5)),
    "data_ragged": posted(_pair(data=[[1, 2], [3, 4, 5]])),
    "data_nested_otherwise": posted(_pair(data=[[1, 2], [3, 4]])),
    "output_unknown": posted(outputs({"name": "OUTPUT9"})),
    "output_without_name": posted(outputs({})),
    "output_text": posted(outputs("OUTPUT0")),  # type: ignore[arg-type]
    "outputs_object": posted(request(outputs={"name": "OUTPUT0"})),
    "output_binary_data_text": posted(outputs({"name": "OUTPUT0", "parameters": {"binary_data": "yes"}})),
    "output_shared_memory": posted(
        outputs({"name": "OUTPUT0", "parameters": {"shared_memory_region": "r", "shared_memory_byte_size": 16}})
    ),
    "input_shared_memory": posted(
        _pair(data=None, parameters={"shared_memory_region": "r", "shared_memory_byte_size": 16})
    ),
    "input_shared_memory_and_data": posted(
        _pair(parameters={"shared_memory_region": "r", "shared_memory_byte_size": 16})
    ),
    "binary_size_beyond_body": framed({"inputs": [binary("INPUT0", 1000), tensor("INPUT1")]}, PACKED),
    "binary_size_short": framed({"inputs": [binary("INPUT0", 12), tensor("INPUT1")]}, PACKED),
    "binary_size_negative": framed({"inputs": [binary("INPUT0", -16), tensor("INPUT1")]}, PACKED),
    "binary_size_text": framed({"inputs": [binary("INPUT0", "16"), tensor("INPUT1")]}, PACKED),
    "binary_size_float": framed({"inputs": [binary("INPUT0", 16.0), tensor("INPUT1")]}, PACKED),
    "binary_size_huge": framed({"inputs": [binary("INPUT0", 2**63), tensor("INPUT1")]}, PACKED),
    "binary_size_zero": framed({"inputs": [binary("INPUT0", 0), tensor("INPUT1")]}),
    "binary_size_and_data": framed(
        {"inputs": [tensor("INPUT0", parameters={"binary_data_size": 16}), tensor("INPUT1")]}, PACKED
    ),
    "binary_more_than_said": framed({"inputs": [binary("INPUT0"), tensor("INPUT1")]}, PACKED, b"more"),
    "binary_without_header": posted(json.dumps(BOTH_BINARY).encode() + PACKED + PACKED),
    "binary_missing": framed(BOTH_BINARY, PACKED),
    "header_length_beyond_body": framed(BOTH_BINARY, PACKED, PACKED, length=100_000),
    "header_length_short": framed(BOTH_BINARY, PACKED, PACKED, length=10),
    "header_length_zero": framed(BOTH_BINARY, PACKED, PACKED, length=0),
    "header_length_negative": framed(BOTH_BINARY, PACKED, PACKED, length=-5),
    "header_length_word": framed(BOTH_BINARY, PACKED, PACKED, length="many"),
    "gzip_broken": posted(b"\x1f\x8b not gzip", Content_Encoding="gzip"),
    "gzip_cut": posted(gzip.compress(json.dumps(request()).encode())[:-12], Content_Encoding="gzip"),
    "gzip_not_compressed": posted(request(), Content_Encoding="gzip"),
    "deflate_broken": posted(b"\x00\x01\x02", Content_Encoding="deflate"),
    "deflate_raw": posted(zlib.compress(json.dumps(request()).encode(), wbits=-15), Content_Encoding="deflate"),
    "encoding_unknown": posted(request(), Content_Encoding="br"),
    "encoding_identity": posted(request(), Content_Encoding="identity"),
    "model_unknown": posted(request(), "/v2/models/nothing/infer"),
    "model_unloaded": posted(request(), "/v2/models/unloaded/infer"),
    "version_unknown": posted(request(), "/v2/models/add_sub/versions/7/infer"),
    "version_word": posted(request(), "/v2/models/add_sub/versions/one/infer"),
    "model_raises": posted(_failing("raise"), FAILING),
    "model_says_error": posted(_failing("error"), FAILING),
    "model_says_invalid": posted(_failing("invalid"), FAILING),
    "model_misses_output": posted(_failing("missing"), FAILING),
    "model_makes_other_output": posted(_failing("other"), FAILING),
    "model_makes_wrong_shape": posted(_failing("shape"), FAILING),
    "model_makes_wrong_type": posted(_failing("type"), FAILING),
    "model_is_well_afterwards": posted(_failing("fine"), FAILING),
    "scalar_for_vector": posted(
        {"inputs": [{"name": "X", "shape": [2, 3], "datatype": "FP32", "data": 1.0}]}, "/v2/models/fixed/infer"
    ),
    "fixed_with_batch": posted(
        {"inputs": [{"name": "X", "shape": [1, 2, 3], "datatype": "FP32", "data": [1] * 6}]}, "/v2/models/fixed/infer"
    ),
    "parameters_text": posted(request(parameters="x")),
    "id_object": posted(request(id={})),
    "still_serves": posted(request(), ADD_SUB),
    "packed": framed({"inputs": [binary("INPUT0"), binary("INPUT1")]}, PACKED, struct.pack("<4f", 0, 0, 0, 0)),
}
