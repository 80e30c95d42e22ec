"""Names in the bytes of gRPC messages, against Triton's own messages."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tritonclient.grpc import service_pb2

from millpond.serve.router.wire_names import WireError, WireNames, read_names, with_names

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=300)


@given(TEXTS, TEXTS, TEXTS, st.binary(max_size=300))
def test_names_are_read_and_replaced(model: str, version: str, identity: str, raw: bytes) -> None:
    message = service_pb2.ModelInferRequest(
        model_name=model, model_version=version, id=identity, raw_input_contents=[raw]
    )
    message.inputs.add(name="x", datatype="FP32", shape=[1, 2])
    message.parameters["p"].int64_param = 7
    content = message.SerializeToString()
    assert read_names(content) == WireNames(model, version, identity)
    changed = service_pb2.ModelInferRequest.FromString(with_names(content, "other", ""))
    message.model_name, message.model_version = "other", ""
    assert changed == message


@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(content: bytes) -> None:
    try:
        read_names(content)
    except WireError:
        return


@pytest.mark.parametrize(
    "content", [b"\x0a", b"\x0a\xff", b"\x0a\x05abc", b"\x0b", b"\x09abc", b"\x0a\x01\xff", b"\xff" * 12]
)
def test_what_is_cut_off_is_refused(content: bytes) -> None:
    with pytest.raises(WireError):
        read_names(content)
