"""Paths of the protocol and what they do."""

from __future__ import annotations

import asyncio
import hmac
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any
from urllib.parse import unquote

import orjson

from ..core import ModelServer
from ..errors import ServeError
from ..http import Request, Response, error_response, json_response
from ..http.compression import INLINE_BYTES, choose_encoding, compress
from ..metrics import CONTENT_TYPE, prometheus
from ..request import InferRequest, InferResponse
from .infer_request import AnswerForm, read_infer
from .infer_response import write_infer

log = logging.getLogger(__name__)

Answer = Response | Awaitable[Response]
# Larger bodies are read in another thread.
_LARGE_BYTES = 256 * 1024
# Paths of inference that were taken apart already: few models, many requests.
_MOST_PATHS = 1000


class Routes:
    """The handler of an HTTP server. With a token every request must carry it."""

    def __init__(self, server: ModelServer, token: str | None = None) -> None:
        self._server = server
        self._authorization = f"Bearer {token}".encode() if token else None
        self._loop = asyncio.get_running_loop()
        self._infer_paths: dict[str, tuple[str, str]] = {}

    def __call__(self, request: Request) -> Answer:
        if self._authorization is not None:
            self._check_token(request)
        found = self._infer_paths.get(request.path)
        if found is not None and request.method == "POST":
            return self._infer(request, *found)
        return self._route(request)

    def metrics(self, request: Request) -> Response:
        """The handler of the port for Prometheus, which has no secrets."""
        if request.path.rstrip("/") != "/metrics":
            raise ServeError(404, "metrics are at /metrics")
        return Response(200, prometheus(self._server), ((b"content-type", CONTENT_TYPE),))

    def _check_token(self, request: Request) -> None:
        given = request.header(b"authorization") or b""
        assert self._authorization is not None
        if not hmac.compare_digest(given, self._authorization):
            raise ServeError(401, "the request carries no valid token: send Authorization: Bearer TOKEN")

    def _route(self, request: Request) -> Answer:
        parts = [unquote(part) for part in request.path.removeprefix("/").split("/")]
        match parts:
            case ["v2"]:
                return self._get(request, self._server.metadata)
            case ["v2", "health", "live"]:
                return _health(request, self._server.is_live())
            case ["v2", "health", "ready"]:
                return _health(request, self._server.is_ready())
            case ["v2", "models", "stats"]:
                return self._get(request, self._server.statistics)
            case ["v2", "models", model, "versions", version, *rest] if version.isascii() and version.isdecimal():
                return self._of_model(request, model, version, rest)
            case ["v2", "models", model, *rest]:
                return self._of_model(request, model, "", rest)
            case ["v2", "repository", *rest]:
                return self._of_repository(request, rest)
            case ["v2", "trace", "setting"]:
                return self._settings(request, self._server.trace_settings, self._server.update_trace)
            case ["v2", "logging"]:
                return self._settings(request, self._server.log_settings, self._server.update_log)
            case ["v2", "systemsharedmemory" | "cudasharedmemory" as kind, *rest]:
                return _of_shared_memory(kind, rest)
            case ["metrics"]:
                return self.metrics(request)
        raise ServeError(404, f"{request.path} is not a path of this server")

    def _of_model(self, request: Request, model: str, version: str, rest: list[str]) -> Answer:
        if len(version) > 18:
            raise ServeError(400, f"version '{version}' of model '{model}' must be a whole number")
        server = self._server
        match rest:
            case ["infer"]:
                _allow(request, "POST")
                if len(self._infer_paths) < _MOST_PATHS and server.repository.is_ready(model, version):
                    self._infer_paths[request.path] = (model, version)
                return self._infer(request, model, version)
            case []:
                return self._get(request, lambda: server.model_metadata(model, version))
            case ["ready"]:
                return _health(request, server.is_model_ready(model, version))
            case ["config"]:
                return self._get(request, lambda: server.model_config(model, version))
            case ["stats"]:
                return self._get(request, lambda: server.statistics(model, version))
            case ["trace", "setting"]:
                return self._settings(
                    request,
                    lambda: server.trace_settings(model),
                    lambda changes: server.update_trace(changes, model),
                )
        raise ServeError(404, f"{request.path} is not a path of this server")

    def _of_repository(self, request: Request, rest: list[str]) -> Answer:
        match rest:
            case ["index"]:
                _allow(request, "POST")
                ready = _body(request).get("ready", False)
                if not isinstance(ready, bool):
                    raise ServeError(400, "ready must be true or false")
                return json_response(self._server.index(ready=ready))
            case ["models", model, "load"]:
                _allow(request, "POST")
                parameters = _body(request).get("parameters", {})
                if not isinstance(parameters, dict):
                    raise ServeError(400, "parameters of the load request must be a JSON object")
                return self._aside(lambda: self._server.load(model, parameters))
            case ["models", model, "unload"]:
                _allow(request, "POST")
                return self._aside(lambda: self._server.unload(model))
        raise ServeError(404, f"{request.path} is not a path of this server")

    async def _aside(self, change: Callable[[], None]) -> Response:
        await asyncio.to_thread(change)
        return Response(200)

    def _get(self, request: Request, make: Callable[[], Any]) -> Response:
        _allow(request, "GET")
        return json_response(make())

    def _settings(
        self,
        request: Request,
        read: Callable[[], dict[str, Any]],
        change: Callable[[Mapping[str, Any]], dict[str, Any]],
    ) -> Response:
        if request.method == "GET":
            return json_response(read())
        _allow(request, "POST")
        return json_response(change(_body(request)))

    # Inference

    def _infer(self, request: Request, model: str, version: str) -> Answer:
        """Answered at once where the model ran in this thread, otherwise by a future."""
        if len(request.body) > _LARGE_BYTES:
            return self._infer_large(request, model, version)
        return self._submit(request, *read_infer(request, model, version))

    async def _infer_large(self, request: Request, model: str, version: str) -> Response:
        """Read in another thread: millions of numbers in JSON take seconds, in which others would wait."""
        answer = self._submit(request, *await asyncio.to_thread(read_infer, request, model, version))
        return answer if isinstance(answer, Response) else await answer

    def _submit(self, request: Request, infer: InferRequest, form: AnswerForm) -> Answer:
        pending = _Pending(self._loop, form)
        self._server.submit(infer, pending.take)
        accepted = request.header(b"accept-encoding")
        encoding = choose_encoding(accepted.decode("latin-1")) if accepted else None
        return pending.response() if encoding is None else self._compressed(pending, encoding)

    async def _compressed(self, pending: _Pending, encoding: str) -> Response:
        answer = pending.response()
        response = answer if isinstance(answer, Response) else await answer
        if response.status != 200:
            return response
        if sum(len(part) for part in response.body) <= INLINE_BYTES:
            body = compress(response.body, encoding)
        else:
            body = await asyncio.to_thread(compress, response.body, encoding)
        return Response(200, body, (*response.headers, (b"content-encoding", encoding.encode())))


class _Pending:
    """The answer of a model: there already, or to come from another thread, which then writes it, too."""

    __slots__ = ("_form", "_future", "_loop", "_response")

    def __init__(self, loop: asyncio.AbstractEventLoop, form: AnswerForm) -> None:
        self._loop = loop
        self._form = form
        self._response: Response | None = None
        self._future: asyncio.Future[Response] | None = None

    def take(self, answer: InferResponse | ServeError) -> None:
        """Called once, in any thread. A model may be quicker than `response`: then that finds the answer."""
        self._response = _written(answer, self._form)
        if self._future is not None:
            self._loop.call_soon_threadsafe(self._settle)

    def response(self) -> Answer:
        if self._response is not None:
            return self._response
        self._future = self._loop.create_future()
        # It may have come between both lines above.
        if self._response is not None:
            self._settle()
        return self._future

    def _settle(self) -> None:
        assert self._future is not None and self._response is not None
        if not self._future.done():
            self._future.set_result(self._response)


def _written(answer: InferResponse | ServeError, form: AnswerForm) -> Response:
    """Never raises: somebody waits for it."""
    try:
        return error_response(answer) if isinstance(answer, ServeError) else write_infer(answer, form)
    except ServeError as error:
        return error_response(error)
    except Exception:
        log.exception("cannot write an answer")
        return error_response(ServeError(500, "internal error of the server; its log has the cause"))


def _health(request: Request, good: bool) -> Response:
    _allow(request, "GET")
    # 400 is what Triton says for "not ready".
    return Response(200) if good else error_response(ServeError(400, "not ready"))


def _allow(request: Request, method: str) -> None:
    if request.method != method and not (method == "GET" and request.method == "HEAD"):
        raise ServeError(405, f"{request.path} takes {method}, not {request.method}")


def _body(request: Request) -> dict[str, Any]:
    if not request.body:
        return {}
    try:
        value = orjson.loads(request.body)
    except orjson.JSONDecodeError as error:
        raise ServeError(400, f"the request is not valid JSON: {error}") from None
    if not isinstance(value, dict):
        raise ServeError(400, "the request must be a JSON object")
    return value


def _of_shared_memory(kind: str, rest: list[str]) -> Response:
    """There are never any regions, so listing and unregistering them is no error; registering is."""
    name = "system" if kind == "systemsharedmemory" else "CUDA"
    match rest:
        case ["status"]:
            return json_response([])
        case ["region", region, "status"]:
            raise ServeError(404, f"there is no {name} shared memory region '{region}'")
        case ["unregister"] | ["region", _, "unregister"]:
            return Response(200)
    raise ServeError(400, f"{name} shared memory is not supported: send tensors in the request")
