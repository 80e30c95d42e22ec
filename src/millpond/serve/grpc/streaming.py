"""ModelStreamInfer: requests and answers on one stream. An answer is sent when it is there, in whatever order."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator
from typing import Any

import grpc
from tritonclient.grpc import service_pb2

from ..core import ModelServer
from ..errors import ServeError
from ..request import InferResponse
from .describing import check_version
from .messages import read_request, write_response

# Requests of one stream that may wait for their answer; a client that sends more waits for some.
MOST_IN_FLIGHT = 256


class Streams:
    """The streams of a server. Each takes a thread of the pool, so there may be only so many."""

    def __init__(self, server: ModelServer, most: int) -> None:
        self._server = server
        self._free = threading.BoundedSemaphore(most)

    def infer(self, requests: Iterator[Any], context: grpc.ServicerContext) -> Iterator[Any]:
        if not self._free.acquire(blocking=False):
            raise ServeError(503, "too many streams are open: close one, or send requests without a stream")
        try:
            yield from _Stream(self._server, requests, context).answers()
        finally:
            self._free.release()


class _Stream:
    """A thread reads requests and hands them in; whoever iterates `answers` gets what comes of them."""

    def __init__(self, server: ModelServer, requests: Iterator[Any], context: grpc.ServicerContext) -> None:
        self._server = server
        self._requests = requests
        self._answers: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._room = threading.Semaphore(MOST_IN_FLIGHT)
        self._lock = threading.Lock()
        self._open = 1  # Answers still to come, and one for the reader itself.
        self._is_over = False
        context.add_callback(self._end)

    def answers(self) -> Iterator[Any]:
        threading.Thread(target=self._read, name="grpc-stream", daemon=True).start()
        while (answer := self._answers.get()) is not None:
            self._room.release()
            yield answer

    def _read(self) -> None:
        try:
            for message in self._requests:
                self._room.acquire()
                if self._is_over:
                    break
                self._hand_in(message)
        except grpc.RpcError:
            pass  # The client went away.
        finally:
            self._finished()

    def _hand_in(self, message: Any) -> None:
        with self._lock:
            self._open += 1
        try:
            check_version(message.model_version)
            self._server.submit(read_request(message), self._taker(message))
        except ServeError as error:
            self._put(_failed(message.id, error))

    def _taker(self, message: Any) -> Callable[[InferResponse | ServeError], None]:
        def take(answer: InferResponse | ServeError) -> None:
            if isinstance(answer, ServeError):
                self._put(_failed(message.id, answer, message.model_name))
            else:
                self._put(_answered(answer))

        return take

    def _put(self, answer: Any) -> None:
        self._answers.put(answer)
        self._finished()

    def _finished(self) -> None:
        """One less to come; after the last the stream ends."""
        with self._lock:
            self._open -= 1
            if self._open:
                return
        self._answers.put(None)

    def _end(self) -> None:
        """The call is over, perhaps because its client left: wake whoever waits."""
        self._is_over = True
        self._room.release()
        self._answers.put(None)


def _answered(response: InferResponse) -> Any:
    message = service_pb2.ModelStreamInferResponse(infer_response=write_response(response))
    message.infer_response.parameters["triton_final_response"].bool_param = True
    return message


def _failed(request_id: str, error: ServeError, model: str = "") -> Any:
    """An error of one request does not end the stream. What a model itself refused is final."""
    inner = service_pb2.ModelInferResponse(id=request_id, model_name=model)
    if model:
        inner.parameters["triton_final_response"].bool_param = True
    return service_pb2.ModelStreamInferResponse(error_message=error.message, infer_response=inner)
