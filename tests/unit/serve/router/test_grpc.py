"""gRPC through the router, with Triton's own client and messages."""

from __future__ import annotations

import asyncio
import json
import threading
from collections import Counter
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import grpc
import numpy as np
import pytest
import uvloop
from tritonclient.grpc import InferenceServerClient, InferInput, service_pb2
from tritonclient.grpc.service_pb2_grpc import GRPCInferenceServiceServicer, add_GRPCInferenceServiceServicer_to_server
from tritonclient.utils import InferenceServerException

from tests.unit.serve.router.routed import Routed, routed
from tests.unit.serve.router.routes import a_token, an_endpoint


class GrpcReplica(GRPCInferenceServiceServicer):  # type: ignore[misc]
    """Adds one to what it gets, and keeps what it saw."""

    def __init__(self, path: Path) -> None:
        self.address = f"unix:{path}"
        self.seen: list[Any] = []
        self.metadata: list[dict[str, Any]] = []
        self.fails_with: grpc.StatusCode | None = None
        self.start()

    def start(self) -> None:
        self._server = grpc.server(ThreadPoolExecutor(8))
        add_GRPCInferenceServiceServicer_to_server(self, self._server)
        self._server.add_insecure_port(self.address)
        self._server.start()

    def kill(self) -> None:
        self._server.stop(0).wait()

    def ModelInfer(self, request: Any, context: Any) -> Any:
        self.seen.append(request)
        self.metadata.append(dict(context.invocation_metadata()))
        if self.fails_with is not None:
            context.abort(self.fails_with, "as told")
        values = np.frombuffer(request.raw_input_contents[0], np.float32) + 1
        answer = service_pb2.ModelInferResponse(model_name=request.model_name, model_version="1", id=request.id)
        answer.outputs.add(name="y", datatype="FP32", shape=[len(values)])
        answer.raw_output_contents.append(values.tobytes())
        return answer

    def ModelMetadata(self, request: Any, context: Any) -> Any:
        return service_pb2.ModelMetadataResponse(name=request.name, versions=["1"], platform="test")


Case = Callable[[InferenceServerClient, Routed, list[GrpcReplica]], None]


def with_grpc(tmp_path: Path, case: Case, versions: tuple[int, ...] = (3,), **endpoint: Any) -> None:
    """Run a case in a thread, with a router and replicas that speak both protocols."""

    async def run() -> None:
        async with routed(tmp_path, *versions, options={"grpc": "tcp:127.0.0.1:0"}) as (router, replicas):
            spoken = [GrpcReplica(tmp_path / f"{index}.grpc") for index in range(len(replicas))]
            entries = [one.entry(grpc=two.address, token="s") for one, two in zip(replicas, spoken, strict=True)]
            router.configure(an_endpoint(**{"replicas": entries, **endpoint}))
            client = InferenceServerClient(router.router.addresses["grpc"].removeprefix("tcp:"))
            try:
                await asyncio.to_thread(case, client, router, spoken)
            finally:
                client.close()
                for replica in spoken:
                    replica.kill()

    _run(run())


def _run(case: Coroutine[Any, Any, None]) -> None:
    uvloop.run(asyncio.wait_for(case, 60))


def an_input(values: list[float]) -> list[InferInput]:
    tensor = InferInput("x", [len(values)], "FP32")
    tensor.set_data_from_numpy(np.array(values, np.float32))
    return [tensor]


def test_inference_with_the_names_of_the_endpoint(tmp_path: Path) -> None:
    def case(client: InferenceServerClient, router: Routed, replicas: list[GrpcReplica]) -> None:
        for name, version in (("xray", ""), ("chest-xray", ""), ("xray", "3")):
            answer = client.infer(
                name, an_input([1, 2]), model_version=version, request_id="r", headers={"x-mine": "1"}
            )
            assert answer.as_numpy("y").tolist() == [2, 3]
            assert answer.get_response().model_name == name and answer.get_response().model_version == "3"
            assert answer.get_response().id == "r"
        assert {(one.model_name, one.model_version) for one in replicas[0].seen} == {("chest-xray", "")}
        assert replicas[0].metadata[0]["authorization"] == "Bearer s" and replicas[0].metadata[0]["x-mine"] == "1"
        assert router.stats()["versions"][0]["requests"] == 3

    with_grpc(tmp_path, case)


def test_what_the_router_answers_itself(tmp_path: Path) -> None:
    def case(client: InferenceServerClient, router: Routed, replicas: list[GrpcReplica]) -> None:
        assert client.is_server_live() and client.is_server_ready() and client.is_model_ready("xray")
        assert not client.is_model_ready("xray", "5")
        assert client.get_server_metadata().name == "millpond"
        assert client.get_model_metadata("xray").platform == "test"
        index = client.get_model_repository_index().models
        assert [(one.name, one.version, one.state) for one in index] == [
            ("xray", "3", "READY"),
            ("xray", "5", "UNAVAILABLE"),
        ]
        for call in (lambda: client.load_model("xray"), lambda: client.get_cuda_shared_memory_status()):
            with pytest.raises(InferenceServerException, match="mill endpoint update"):
                call()
        with pytest.raises(InferenceServerException, match="NOT_FOUND"):
            client.infer("nothing", an_input([1]))

    with_grpc(tmp_path, case, weights={3: 95, 5: 5})


def test_weights_hold_across_both_protocols(tmp_path: Path) -> None:
    def case(client: InferenceServerClient, router: Routed, replicas: list[GrpcReplica]) -> None:
        counts = Counter(client.infer("xray", an_input([1])).get_response().model_version for _ in range(200))
        assert counts == {"3": 190, "5": 10}

    with_grpc(tmp_path, case, (3, 5), weights={3: 95, 5: 5})


def test_a_stream_is_balanced_message_by_message_and_goes_on_after_errors(tmp_path: Path) -> None:
    def case(client: InferenceServerClient, router: Routed, replicas: list[GrpcReplica]) -> None:
        answers: list[Any] = []
        done = threading.Semaphore(0)

        def keep(result: Any, error: Any) -> None:
            answers.append(error or result.as_numpy("y").tolist())
            done.release()

        client.start_stream(keep)
        for name, value in (("xray", 1), ("xray", 2), ("nothing", 3), ("xray", 4)):
            client.async_stream_infer(name, an_input([value]))
        for _ in range(4):
            assert done.acquire(timeout=30)
        client.stop_stream()
        assert [answers[0], answers[1], answers[3]] == [[2], [3], [5]]
        assert "unknown model" in str(answers[2])
        assert sorted(len(replica.seen) for replica in replicas) == [1, 2]

    with_grpc(tmp_path, case, (3, 3))


def test_a_replica_that_is_gone_costs_no_request(tmp_path: Path) -> None:
    def case(client: InferenceServerClient, router: Routed, replicas: list[GrpcReplica]) -> None:
        for _ in range(10):
            client.infer("xray", an_input([1]))
        replicas[0].kill()
        for _ in range(20):
            client.infer("xray", an_input([1]))
        assert router.stats()["versions"][0]["answers"] == {"200": 30}
        replicas[1].fails_with = grpc.StatusCode.INVALID_ARGUMENT
        with pytest.raises(InferenceServerException, match="as told"):
            client.infer("xray", an_input([1]))
        assert router.stats()["versions"][0]["answers"] == {"200": 30, "400": 1}

    with_grpc(tmp_path, case, (3, 3))


def test_tokens_quota_and_holding(tmp_path: Path) -> None:
    def case(client: InferenceServerClient, router: Routed, replicas: list[GrpcReplica]) -> None:
        with pytest.raises(InferenceServerException, match="UNAUTHENTICATED"):
            client.infer("xray", an_input([1]))
        headers = {"authorization": f"Bearer {a_token()}"}
        client.infer("xray", an_input([1]), headers=headers)
        client.infer("chest-xray", an_input([1]), headers={**headers, "mill-endpoint": "xray"})
        with pytest.raises(InferenceServerException, match="RESOURCE_EXHAUSTED"):
            client.infer("xray", an_input([1]), headers=headers)

    with_grpc(tmp_path, case, public=False, token_quota_per_min=2)


def test_requests_from_zero_replicas_are_held(tmp_path: Path) -> None:
    def case(client: InferenceServerClient, router: Routed, replicas: list[GrpcReplica]) -> None:
        entry = {"id": "r", "model": "chest-xray", "version": 3, "http": f"unix:{tmp_path}/0.sock"}
        with ThreadPoolExecutor(1) as pool:
            held = pool.submit(client.infer, "xray", an_input([1]))
            while not router.stats()["held"]:
                assert not held.done()
            router.router._loop.call_soon_threadsafe(
                router.configure, an_endpoint(replicas=[{**entry, "grpc": replicas[0].address}])
            )
            assert held.result(30).as_numpy("y").tolist() == [2]

    with_grpc(tmp_path, case, replicas=[])


def test_shadow_copies_and_the_log(tmp_path: Path) -> None:
    def case(client: InferenceServerClient, router: Routed, replicas: list[GrpcReplica]) -> None:
        for _ in range(10):
            client.infer("xray", an_input([1]))
        while router.stats()["shadow"]["sent"] < 5:
            pass
        assert len(replicas[1].seen) == 5

    shadow = {"model": "chest-xray", "version": 6, "percent": 50}
    with_grpc(tmp_path, case, (3, 6), weights={3: 100}, shadow=shadow, log={"level": "full", "redact": ["y"]})
    rows = list(_rows(tmp_path / "state/log"))
    assert len(rows) == 10 and rows[0]["protocol"] == "grpc"
    assert rows[0]["request"]["inputs"] == [{"name": "x", "datatype": "FP32", "shape": [1], "base64": "AACAPw=="}]
    assert rows[0]["response"]["outputs"] == [{"name": "y", "datatype": "FP32", "shape": [1], "redacted": True}]


def _rows(directory: Path) -> Iterator[dict[str, Any]]:
    for path in sorted(directory.glob("*.jsonl")):
        yield from map(json.loads, path.read_text().splitlines())
