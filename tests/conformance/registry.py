"""What a case is: a name and a function that asks a server something and returns its answer as JSON."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import cached_property
from types import ModuleType
from typing import Any

import grpc
import httpx
import tritonclient.grpc as triton_grpc
import tritonclient.http as triton_http
from google.protobuf.json_format import MessageToDict
from google.protobuf.message import Message
from tritonclient.grpc import service_pb2_grpc
from tritonclient.utils import InferenceServerException

from tests.conformance.servers import Server

Answer = Any


@dataclass(frozen=True, slots=True)
class Case:
    name: str
    ask: Callable[[Session], Answer]


@dataclass
class Session:
    """Clients of one server, made when they are first used."""

    server: Server
    _stack: ExitStack = field(default_factory=ExitStack)

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    @cached_property
    def web(self) -> httpx.Client:
        client = httpx.Client(
            base_url=f"http://{self.server.http}", timeout=60, headers={"Accept-Encoding": "identity"}
        )
        return self._stack.enter_context(client)

    @cached_property
    def http(self) -> triton_http.InferenceServerClient:
        client = triton_http.InferenceServerClient(self.server.http, concurrency=8, network_timeout=60)
        self._stack.callback(client.close)
        return client

    @cached_property
    def grpc(self) -> triton_grpc.InferenceServerClient:
        client = triton_grpc.InferenceServerClient(self.server.grpc)
        self._stack.callback(client.close)
        return client

    @cached_property
    def channel(self) -> grpc.Channel:
        return self._stack.enter_context(grpc.insecure_channel(self.server.grpc))

    @cached_property
    def stub(self) -> service_pb2_grpc.GRPCInferenceServiceStub:
        return service_pb2_grpc.GRPCInferenceServiceStub(self.channel)

    def send(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        """One raw HTTP request; `body` is sent as JSON unless it is bytes."""
        content = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
        return seen(self.web.request(method, path, content=content, headers=headers))

    def call(self, method: str, request: Message, **options: Any) -> Answer:
        """One raw gRPC call."""
        try:
            response = getattr(self.stub, method)(request, timeout=60, **options)
        except grpc.RpcError as error:
            return {"code": error.code().name, "error": error.details()}
        return {"code": "OK", "body": as_json(response)}


def seen(response: httpx.Response) -> Answer:
    """What a client can tell of an HTTP answer."""
    answer: dict[str, Any] = {"status": response.status_code}
    for header in ("content-type", "content-encoding", "retry-after"):
        if header in response.headers:
            answer[header] = response.headers[header]
    content, length = response.content, response.headers.get("inference-header-content-length")
    if length is not None:
        answer["binary"] = content[int(length) :].hex()
        content = content[: int(length)]
    try:
        body = json.loads(content) if content else None
    except ValueError:
        body = content.decode(errors="replace")
    if isinstance(body, dict) and set(body) == {"error"}:
        # Of an error its type does not matter: some of Triton's are said to be plain text.
        answer.pop("content-type", None)
        answer["error"] = body["error"]
    elif body is not None:
        answer["body"] = body
    else:
        answer.pop("content-type", None)
    return answer


def kinds(answer: Answer) -> Answer:
    """The answer with numbers of any size made equal: of counters that other cases move, only the form is compared."""
    if isinstance(answer, dict):
        return {key: kinds(value) for key, value in answer.items()}
    if isinstance(answer, list):
        return [kinds(value) for value in answer[:1]]
    return "number" if isinstance(answer, int) or (isinstance(answer, str) and answer.isdigit()) else answer


def as_json(message: Message) -> Answer:
    return MessageToDict(message, preserving_proto_field_name=True)


def client_error(error: InferenceServerException) -> Answer:
    return {"raised": error.status() or "", "error": error.message()}


def attempt(ask: Callable[[], Answer]) -> Answer:
    """What a method of tritonclient returns, or how it fails."""
    try:
        answer = ask()
    except InferenceServerException as error:
        return client_error(error)
    return {"returned": as_json(answer) if isinstance(answer, Message) else answer}


def case(ask: Callable[[Session], Answer]) -> Callable[[Session], Answer]:
    """Mark a function as a case, named after its module and itself."""
    ask.case = True  # type: ignore[attr-defined]
    return ask


def cases_of(module: ModuleType) -> Iterator[Case]:
    """The marked functions of a module and its tables `CASES`, in the order written."""
    prefix = module.__name__.rpartition(".")[2]
    for name, value in vars(module).items():
        if name == "CASES":
            for inner, ask in value.items():
                yield Case(f"{prefix}.{inner}", ask)
        elif getattr(value, "case", False):
            yield Case(f"{prefix}.{name}", value)
