"""Queues: batches of several requests, a full queue, a timeout in the queue."""

from __future__ import annotations

import struct
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import grpc

from tests.conformance.cases.grpc_infer import Input, Parameter, request
from tests.conformance.registry import Answer, Session, case


@case
def together(session: Session) -> Answer:
    """Four requests that arrive within the delay are executed together."""
    body = {"inputs": [{"name": "X", "shape": [1, 2], "datatype": "FP32", "data": [1, 2]}]}
    with ThreadPoolExecutor(4) as threads:
        answers = list(threads.map(lambda _: session.send("POST", "/v2/models/batched/infer", body), range(4)))
    stats = session.send("GET", "/v2/models/batched/stats")["body"]["model_stats"][0]
    return {
        "answers": answers,
        "inferences": stats["inference_count"],
        "executions": stats["execution_count"],
        "sizes": [one["batch_size"] for one in stats["batch_stats"]],
    }


@case
def other_shapes_apart(session: Session) -> Answer:
    """Two requests of other shapes are not in one batch."""

    def ask(length: int) -> Answer:
        body = {"inputs": [{"name": "X", "shape": [2, length], "datatype": "FP32", "data": [1.0] * 2 * length}]}
        return session.send("POST", "/v2/models/batched/infer", body)["body"]["outputs"][0]["data"]

    with ThreadPoolExecutor(2) as threads:
        return sorted(threads.map(ask, (3, 5)))


def _sleep(session: Session, seconds: float, **parameters: Any) -> Answer:
    body = {
        "inputs": [{"name": "SECONDS", "shape": [1, 1], "datatype": "FP32", "data": [seconds]}],
        "parameters": parameters,
    }
    return session.send("POST", "/v2/models/slow/infer", body)


@case
def full_queue(session: Session) -> Answer:
    """One runs, one or two are on their way, two wait; the others are refused."""
    with ThreadPoolExecutor(9) as threads:
        answers = list(threads.map(lambda _: _sleep(session, 0.4), range(9)))
    refused = [one for one in answers if one["status"] != 200]
    return {"some_served": Counter(one["status"] for one in answers)[200] >= 3, "refused": refused[0]}


@case
def full_queue_grpc(session: Session) -> Answer:
    message = request(
        Input(name="SECONDS", datatype="FP32", shape=[1, 1]), raw=[struct.pack("<f", 0.4)], model_name="slow"
    )

    def ask(_: int) -> Answer:
        try:
            session.stub.ModelInfer(message, timeout=30)
        except grpc.RpcError as error:
            return {"code": error.code().name, "error": error.details()}
        return {"code": "OK"}

    with ThreadPoolExecutor(9) as threads:
        answers = list(threads.map(ask, range(9)))
    return next(one for one in answers if one["code"] != "OK")


@case
def timeout_in_queue(session: Session) -> Answer:
    """A request that waits longer than its own timeout is refused."""
    with ThreadPoolExecutor(3) as threads:
        first = threads.submit(_sleep, session, 0.8)
        second = threads.submit(_sleep, session, 0.8)
        while not _running(session):
            pass
        third = _sleep(session, 0.0, timeout=50_000)
    return {"first": first.result()["status"], "second": second.result()["status"], "third": third}


@case
def timeout_in_queue_grpc(session: Session) -> Answer:
    message = request(
        Input(name="SECONDS", datatype="FP32", shape=[1, 1]),
        raw=[struct.pack("<f", 0.0)],
        model_name="slow",
        parameters={"timeout": Parameter(int64_param=50_000)},
    )
    with ThreadPoolExecutor(3) as threads:
        others = [threads.submit(_sleep, session, 0.8) for _ in range(2)]
        while not _running(session):
            pass
        answer = session.call("ModelInfer", message)
        for one in others:
            one.result()
    return answer


def _running(session: Session) -> bool:
    """True once both of the sleeping requests have reached the server."""
    text = session.web.get(f"http://{session.server.metrics}/metrics").text
    pending = [
        line for line in text.splitlines() if line.startswith("nv_inference_pending_request_count") and '"slow"' in line
    ]
    return bool(pending) and float(pending[0].rpartition(" ")[2]) >= 1
