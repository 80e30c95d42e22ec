"""A model server with gRPC in this process, with a model that echoes, one that waits and one that fails."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import tritonclient.grpc as triton

from millpond.serve.core import ModelServer
from millpond.serve.grpc import GrpcServer, serve_grpc
from millpond.testing.serving import write_python_model

KINDS = ["BOOL", "UINT8", "UINT16", "UINT32", "UINT64", "INT8", "INT16", "INT32", "INT64", "FP16", "FP32", "FP64"]
ECHO = """
    class Model:
        def predict(self, inputs):
            return {f"out_{name}": value for name, value in inputs.items()}
"""
ECHO_CONFIG = "\n".join(
    f'{side} {{ name: "{prefix}{kind.lower()}" data_type: TYPE_{kind} dims: [-1] {more} }}'
    for side, prefix, more in (("input", "", "optional: true"), ("output", "out_", ""))
    for kind in [*KINDS, "STRING"]
)
DOUBLE = """
    class Model:
        inputs = {"x": ("FP32", [2])}
        outputs = {"y": ("FP32", [2])}

        def predict(self, inputs):
            if inputs["x"][0] < 0:
                raise ValueError("negative")
            return {"y": inputs["x"] * 2}
"""


@contextmanager
def serving_grpc(root: Path, **options: object) -> Iterator[tuple[ModelServer, GrpcServer]]:
    server = ModelServer(root)
    assert server.load_all() == {}
    grpc = serve_grpc(server, **{"listen": "tcp:127.0.0.1:0"} | options)  # type: ignore[arg-type]
    try:
        yield server, grpc
    finally:
        grpc.drain(0)
        server.close()


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("models")
    write_python_model(root, "echo", ECHO, ECHO_CONFIG)
    write_python_model(root, "double", DOUBLE)
    return root


@pytest.fixture(scope="module")
def served(root: Path) -> Iterator[str]:
    """The address, as tritonclient takes it."""
    with serving_grpc(root) as (_, grpc):
        yield grpc.address.removeprefix("tcp:")


@pytest.fixture
def client(served: str) -> Iterator[triton.InferenceServerClient]:
    with triton.InferenceServerClient(served) as client:
        yield client
