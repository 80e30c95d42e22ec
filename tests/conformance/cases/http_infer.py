"""HTTP: inference with JSON and binary tensors in every mixture, compression, ids, parameters, outputs, classes."""

from __future__ import annotations

import gzip
import json
import struct
import zlib
from collections.abc import Callable
from typing import Any

from tests.conformance.registry import Answer, Session, case

ADD_SUB = "/v2/models/add_sub/infer"
VALUES = [1.0, 2.0, 3.0, 4.0]
PACKED = struct.pack("<4f", *VALUES)


def tensor(name: str, /, **changes: Any) -> dict[str, Any]:
    """An input of add_sub; a change to None leaves the key out."""
    whole = {"name": name, "shape": [1, 4], "datatype": "FP32", "data": VALUES} | changes
    return {key: value for key, value in whole.items() if value is not None}


def binary(name: str, size: object = 16, /, **changes: Any) -> dict[str, Any]:
    return tensor(name, data=None, **({"parameters": {"binary_data_size": size}} | changes))


def request(**changes: Any) -> dict[str, Any]:
    return {"inputs": [tensor("INPUT0"), tensor("INPUT1")]} | changes


def posted(body: object, path: str = ADD_SUB, **headers: str) -> Callable[[Session], Answer]:
    names = {key.replace("_", "-"): value for key, value in headers.items()}
    return lambda session: session.send("POST", path, body, headers=names)


def framed(head: object, *blobs: bytes, path: str = ADD_SUB, length: object = None) -> Callable[[Session], Answer]:
    """A request with binary tensors after its JSON head; `length` lies about the head's."""
    text = head if isinstance(head, bytes) else json.dumps(head).encode()
    length = len(text) if length is None else length
    return posted(text + b"".join(blobs), path, Inference_Header_Content_Length=str(length))


def outputs(*wanted: dict[str, Any]) -> dict[str, Any]:
    return request(outputs=list(wanted))


BOTH_BINARY = {"inputs": [binary("INPUT0"), binary("INPUT1")]}
SCORES = {"name": "SCORES", "shape": [2, 4], "datatype": "FP32", "data": [0.1, 0.4, 0.2, 0.3, 0.9, 0.05, 0.05, 0.0]}


def classes(name: str, count: object, **parameters: Any) -> Callable[[Session], Answer]:
    wanted = {"name": name, "parameters": {"classification": count} | parameters}
    return posted({"inputs": [SCORES], "outputs": [wanted]}, "/v2/models/labels/infer")


CASES = {
    "json": posted(request()),
    "json_version": posted(request(), "/v2/models/add_sub/versions/1/infer"),
    "json_nested": posted(
        {"inputs": [tensor("INPUT0", data=[VALUES]), tensor("INPUT1", data=[[1, 2, 3, 4]])]},
    ),
    "json_batch": posted(
        {"inputs": [tensor(name, shape=[2, 4], data=VALUES * 2) for name in ("INPUT0", "INPUT1")]},
    ),
    "json_content_type": posted(request(), Content_Type="application/json"),
    "json_integers_for_floats": posted({"inputs": [tensor("INPUT0", data=[1, 2, 3, 4]), tensor("INPUT1")]}),
    "json_inputs_in_other_order": posted({"inputs": [tensor("INPUT1"), tensor("INPUT0")]}),
    "json_fields_in_other_order": posted(
        b'{"outputs":[{"name":"OUTPUT1"}],"inputs":[{"data":[1,2,3,4],"datatype":"FP32","shape":[1,4],"name":"INPUT0"},'
        b'{"data":[1,2,3,4],"shape":[1,4],"datatype":"FP32","name":"INPUT1"}],"id":"late"}'
    ),
    "json_unknown_field": posted(request(extra={"a": 1})),
    "json_white_space": posted(b" \n" + json.dumps(request(), indent=2).encode() + b"\n "),
    "id": posted(request(id="seventeen")),
    "id_empty": posted(request(id="")),
    "id_unicode": posted(request(id="número")),
    "id_number": posted(request(id=7)),
    "one_output": posted(outputs({"name": "OUTPUT1"})),
    "outputs_in_other_order": posted(outputs({"name": "OUTPUT1"}, {"name": "OUTPUT0"})),
    "outputs_empty": posted(outputs()),
    "output_twice": posted(outputs({"name": "OUTPUT0"}, {"name": "OUTPUT0"})),
    "output_binary": posted(outputs({"name": "OUTPUT0", "parameters": {"binary_data": True}})),
    "output_binary_false": posted(outputs({"name": "OUTPUT0", "parameters": {"binary_data": False}})),
    "output_mixed": posted(outputs({"name": "OUTPUT0", "parameters": {"binary_data": True}}, {"name": "OUTPUT1"})),
    "output_mixed_other": posted(
        outputs({"name": "OUTPUT0"}, {"name": "OUTPUT1", "parameters": {"binary_data": True}})
    ),
    "binary_data_output": posted(request(parameters={"binary_data_output": True})),
    "binary_data_output_false": posted(request(parameters={"binary_data_output": False})),
    "binary_data_output_overruled": posted(
        request(
            parameters={"binary_data_output": True},
            outputs=[{"name": "OUTPUT0", "parameters": {"binary_data": False}}, {"name": "OUTPUT1"}],
        )
    ),
    "binary": framed(BOTH_BINARY, PACKED, PACKED),
    "binary_octet_stream": posted(
        json.dumps(BOTH_BINARY).encode() + PACKED + PACKED,
        Inference_Header_Content_Length=str(len(json.dumps(BOTH_BINARY))),
        Content_Type="application/octet-stream",
    ),
    "binary_and_json": framed({"inputs": [binary("INPUT0"), tensor("INPUT1")]}, PACKED),
    "json_and_binary": framed({"inputs": [tensor("INPUT0"), binary("INPUT1")]}, PACKED),
    "binary_in_out": framed(BOTH_BINARY | {"parameters": {"binary_data_output": True}}, PACKED, PACKED),
    "binary_header_without_binary": framed(request()),
    "binary_other_order": framed({"inputs": [binary("INPUT1"), binary("INPUT0")]}, PACKED, bytes(16)),
    "gzip": posted(gzip.compress(json.dumps(request()).encode()), Content_Encoding="gzip"),
    "deflate": posted(zlib.compress(json.dumps(request()).encode()), Content_Encoding="deflate"),
    "gzip_binary": posted(
        gzip.compress(json.dumps(BOTH_BINARY).encode() + PACKED + PACKED),
        Content_Encoding="gzip",
        Inference_Header_Content_Length=str(len(json.dumps(BOTH_BINARY))),
    ),
    "accept_gzip": posted(request(), Accept_Encoding="gzip"),
    "accept_deflate": posted(request(), Accept_Encoding="deflate"),
    "accept_identity": posted(request(), Accept_Encoding="identity"),
    "accept_several": posted(request(), Accept_Encoding="br, deflate;q=0.5, gzip;q=0.8"),
    "accept_unknown": posted(request(), Accept_Encoding="br"),
    "accept_gzip_binary": posted(request(parameters={"binary_data_output": True}), Accept_Encoding="gzip"),
    "accept_gzip_error": posted(request(inputs=[]), Accept_Encoding="gzip"),
    "classes_with_labels": classes("CLASSES", 2),
    "classes_without_labels": classes("PLAIN", 3),
    "classes_of_integers": classes("WHOLE", 1),
    "classes_more_than_there_are": classes("CLASSES", 9),
    "classes_zero": classes("CLASSES", 0),
    "classes_negative": classes("CLASSES", -1),
    "classes_word": classes("CLASSES", "two"),
    "classes_binary": classes("CLASSES", 2, binary_data=True),
    "version_default": posted(
        {"inputs": [{"name": "X", "shape": [1], "datatype": "INT64", "data": [0]}]}, "/v2/models/versions/infer"
    ),
    "version_first": posted(
        {"inputs": [{"name": "X", "shape": [1], "datatype": "INT64", "data": [0]}]},
        "/v2/models/versions/versions/1/infer",
    ),
    "version_not_served": posted(
        {"inputs": [{"name": "X", "shape": [1], "datatype": "INT64", "data": [0]}]},
        "/v2/models/versions/versions/2/infer",
    ),
}


def _inspected(**changes: Any) -> Callable[[Session], Answer]:
    """What the model itself is told of a request."""
    body = {"inputs": [{"name": "X", "shape": [2], "datatype": "INT32", "data": [1, 2]}]} | changes

    def ask(session: Session) -> Answer:
        answer = session.send("POST", "/v2/models/inspect/infer", body)
        if answer["status"] == 200:
            answer["body"]["outputs"][0]["data"] = json.loads(answer["body"]["outputs"][0]["data"][0])
        return answer

    return ask


CASES |= {
    "told_nothing": _inspected(),
    "told_id": _inspected(id="seven"),
    "told_parameters": _inspected(parameters={"text": "a", "flag": True, "count": 3, "negative": -3}),
    "told_float_parameter": _inspected(parameters={"rate": 0.5}),
    "told_null_parameter": _inspected(parameters={"nothing": None}),
    "told_list_parameter": _inspected(parameters={"many": [1, 2]}),
    "told_object_parameter": _inspected(parameters={"inner": {"a": 1}}),
    "told_parameters_list": _inspected(parameters=[1]),
    "told_priority": _inspected(parameters={"priority": 3}),
    "told_priority_word": _inspected(parameters={"priority": "high"}),
    "told_priority_negative": _inspected(parameters={"priority": -1}),
    "told_timeout": _inspected(parameters={"timeout": 5_000_000}),
    "told_timeout_word": _inspected(parameters={"timeout": "soon"}),
    "told_sequence": _inspected(parameters={"sequence_id": 5, "sequence_start": True, "sequence_end": False}),
    "told_sequence_word": _inspected(parameters={"sequence_id": "five"}),
    "told_triton_parameter": _inspected(parameters={"triton_enable_empty_final_response": True}),
    "told_reserved_parameter": _inspected(parameters={"triton_other": 1}),
    "told_header_parameter": _inspected(parameters={"binary_data_output": False}),
}


@case
def told_header(session: Session) -> Answer:
    """Headers are not parameters unless a server is started to forward them."""
    body = {"inputs": [{"name": "X", "shape": [1], "datatype": "INT32", "data": [1]}]}
    answer = session.send("POST", "/v2/models/inspect/infer", body, headers={"X-Trace": "abc"})
    answer["body"]["outputs"][0]["data"] = json.loads(answer["body"]["outputs"][0]["data"][0])
    return answer


@case
def get_is_refused(session: Session) -> Answer:
    return session.send("GET", ADD_SUB)


@case
def generate(session: Session) -> Answer:
    """The generate extension, which this model does not need."""
    return session.send("POST", "/v2/models/inspect/generate", {"X": [1, 2]})


@case
def chunked(session: Session) -> Answer:
    """A body without a length, in chunks."""
    text = json.dumps(request()).encode()
    response = session.web.post(ADD_SUB, content=iter([text[:20], text[20:]]))
    return {"status": response.status_code, "body": response.json()}


@case
def keep_alive(session: Session) -> Answer:
    """Many requests on one connection, with an error among them."""
    return [
        session.send("POST", ADD_SUB, body)["status"]
        for body in (request(), b"{", request(), request(inputs=[]), request())
    ]
