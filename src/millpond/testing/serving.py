"""A model server in this process, and small models to serve."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent

import uvloop

from millpond.serve.core import ModelServer
from millpond.serve.http import Limits, serve_http
from millpond.serve.rest import Routes


@dataclass(frozen=True, slots=True)
class ServedModels:
    """`address` is host:port, as tritonclient takes it."""

    server: ModelServer
    address: str


@contextmanager
def serving_models(
    root: Path, *, token: str | None = None, limits: Limits | None = None, load: bool = True, control: bool = True
) -> Iterator[ServedModels]:
    """Serve the models below `root` over HTTP in a thread of this process."""
    server = ModelServer(root, control=control)
    if load:
        errors = server.load_all()
        assert errors == {}, errors
    else:
        server.start_empty()
    loop = uvloop.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="serving-models")
    thread.start()

    async def listen() -> str:
        http = await serve_http(Routes(server, token), listen="tcp:127.0.0.1:0", limits=limits)
        closing.append(http.close)
        return http.address.removeprefix("tcp:")

    closing: list = []  # type: ignore[type-arg]
    try:
        yield ServedModels(server, asyncio.run_coroutine_threadsafe(listen(), loop).result(30))
    finally:
        for close in closing:
            asyncio.run_coroutine_threadsafe(close(), loop).result(30)
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()
        server.close()


def write_python_model(root: Path, name: str, code: str, config: str = "", *, version: int = 1) -> Path:
    """A model of a `model.py` in a repository; the folder of the model."""
    folder = root / name
    (folder / str(version)).mkdir(parents=True, exist_ok=True)
    (folder / str(version) / "model.py").write_text(dedent(code))
    if config:
        (folder / "config.pbtxt").write_text(dedent(config))
    return folder


def write_onnx_linear(root: Path, name: str, *, features: int = 4, version: int = 1, factor: float = 2.0) -> Path:
    """An ONNX model `y = factor * x` on rows of float32, without a configuration; the folder of the model."""
    import onnx  # noqa: PLC0415 - needed by those tests alone
    from onnx import TensorProto, helper  # noqa: PLC0415

    node = helper.make_node("Mul", ["x", "factor"], ["y"])
    tensors = [helper.make_tensor_value_info(each, TensorProto.FLOAT, ["n", features]) for each in ("x", "y")]
    constant = helper.make_tensor("factor", TensorProto.FLOAT, [1], [factor])
    graph = helper.make_graph([node], name, tensors[:1], tensors[1:], [constant])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 9
    folder = root / name
    (folder / str(version)).mkdir(parents=True, exist_ok=True)
    onnx.save(model, folder / str(version) / "model.onnx")
    return folder
