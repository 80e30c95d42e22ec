"""The model server without a protocol: what HTTP and gRPC both call, from any thread."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from .backends import triton_python_backend_utils as utils
from .config import config_to_json
from .errors import ServeError
from .repository import ModelFolder, Repository
from .request import InferRequest, InferResponse, RequestedOutput
from .served import LoadedVersion
from .settings import LOG, TRACE, check_log, check_trace
from .tensors import Tensor, datatype_of

log = logging.getLogger(__name__)

NAME = "millpond"
VERSION = "0.3.0"
EXTENSIONS = (
    "classification",
    "model_repository",
    "model_repository(unload_dependents)",
    "schedule_policy",
    "model_configuration",
    "binary_tensor_data",
    "parameters",
    "statistics",
    "trace",
    "logging",
)


class ModelServer:
    """Serves the models of a repository. Every method may be called from any thread.

    With `control`, clients may load and unload models.
    """

    def __init__(
        self, root: Path | None = None, models: Mapping[str, ModelFolder] | None = None, *, control: bool = True
    ) -> None:
        self.repository = Repository(root, models)
        self._control = control
        # False from the moment on when this server is about to end: routers look elsewhere.
        self.accepting = True
        self._loaded = False
        self._trace: dict[str, Any] = dict(TRACE)
        self._trace_of: dict[str, dict[str, Any]] = {}
        self._log: dict[str, Any] = dict(LOG)
        utils.infer_here = self._infer_for_model

    # Health

    def is_live(self) -> bool:
        return True

    def is_ready(self) -> bool:
        return self.accepting and self._loaded

    def is_model_ready(self, name: str, version: str = "") -> bool:
        return self.accepting and self.repository.is_ready(name, version)

    # Models

    def load_all(self) -> dict[str, ServeError]:
        """Load every model found; ready afterwards, even where some could not be loaded."""
        errors = self.repository.load_all()
        self._loaded = True
        return errors

    def start_empty(self) -> None:
        """Ready without any model: clients load what they want."""
        self._loaded = True

    def load(self, name: str, parameters: Mapping[str, Any] | None = None) -> None:
        self._check_control("load", name)
        self.repository.load(name, parameters)

    def unload(self, name: str) -> None:
        self._check_control("unload", name)
        self.repository.unload(name)

    def _check_control(self, verb: str, name: str) -> None:
        """Whoever loads models runs code here: more than most clients should be able to do."""
        if not self._control:
            raise ServeError(403, f"failed to {verb} '{name}': this server does not let clients load and unload models")

    def index(self, *, ready: bool = False) -> list[dict[str, str]]:
        return self.repository.index(ready=ready)

    def close(self) -> None:
        self.accepting = False
        self.repository.unload_all()

    # Descriptions

    def metadata(self) -> dict[str, Any]:
        return {"name": NAME, "version": VERSION, "extensions": list(EXTENSIONS)}

    def model_metadata(self, name: str, version: str = "") -> dict[str, Any]:
        served = self.repository.find(name, version)
        versions = [version] if version else [each.version for each in self.repository.serving(name)]
        return served.metadata(versions)

    def model_config(self, name: str, version: str = "") -> dict[str, Any]:
        return config_to_json(self.repository.find(name, version).config.message)

    def statistics(self, name: str = "", version: str = "") -> dict[str, Any]:
        """Of one version, of all versions of a model, or of all models."""
        if name:
            served = self._find(name, version)
            found = [served] if version else self.repository.serving(name)
        else:
            found = self.repository.serving()
        return {"model_stats": [each.statistics.told(each.config.name, each.version) for each in found]}

    # Inference

    def submit(self, request: InferRequest, answer: Callable[[InferResponse | ServeError], None]) -> None:
        """Serve a request; `answer` is called once, in any thread, perhaps before this returns.

        Raises `ServeError` for a request that no model takes.
        """
        self.repository.find(request.model, request.version).submit(request, answer)

    def infer_blocking(self, request: InferRequest) -> InferResponse:
        """Wait for the answer in this thread; raises `ServeError`."""
        waiter = _Waiter()
        self.submit(request, waiter.take)
        return waiter.wait()

    async def infer(self, request: InferRequest) -> InferResponse:
        loop = asyncio.get_running_loop()
        future: asyncio.Future[InferResponse] = loop.create_future()

        def settle(answer: InferResponse | ServeError) -> None:
            if future.done():
                return
            if isinstance(answer, ServeError):
                future.set_exception(answer)
            else:
                future.set_result(answer)

        def take(answer: InferResponse | ServeError) -> None:
            loop.call_soon_threadsafe(settle, answer)

        self.submit(request, take)
        return await future

    def served(self) -> list[LoadedVersion]:
        return self.repository.serving()

    # Settings

    def trace_settings(self, model: str = "") -> dict[str, Any]:
        if model:
            self._find(model)
        return {**self._trace, **self._trace_of.get(model, {})}

    def update_trace(self, changes: Mapping[str, Any], model: str = "") -> dict[str, Any]:
        """Settings are kept and told, but nothing is traced: a level other than OFF is refused. None clears one."""
        if model:
            self._find(model)
        check_trace(changes)
        target = self._trace_of.setdefault(model, {}) if model else self._trace
        for key, value in changes.items():
            if value is not None:
                target[key] = value
            elif model:
                target.pop(key, None)
            else:
                target[key] = TRACE[key]
        return self.trace_settings(model)

    def log_settings(self) -> dict[str, Any]:
        return dict(self._log)

    def update_log(self, changes: Mapping[str, Any]) -> dict[str, Any]:
        check_log(changes)
        self._log.update(changes)
        verbose, info = self._log["log_verbose_level"], self._log["log_info"]
        logging.getLogger().setLevel(logging.DEBUG if verbose else logging.INFO if info else logging.WARNING)
        return self.log_settings()

    def _find(self, name: str, version: str = "") -> LoadedVersion:
        """For statistics and settings, where Triton answers 400 and not 404."""
        try:
            return self.repository.find(name, version)
        except ServeError as error:
            raise ServeError(400, error.message) from None

    def _infer_for_model(self, asked: utils.InferenceRequest) -> utils.InferenceResponse:
        """A model of this process asks another (`pb_utils.InferenceRequest.exec`)."""
        version = asked.model_version()
        request = InferRequest(
            asked.model_name(),
            tuple(Tensor(t.name(), datatype_of(t.as_numpy()), t.as_numpy()) for t in asked.inputs()),
            str(version) if version > 0 else "",
            id=asked.request_id(),
            outputs=tuple(RequestedOutput(name) for name in asked.requested_output_names()),
        )
        try:
            response = self.infer_blocking(request)
        except ServeError as error:
            return utils.InferenceResponse(error=utils.TritonError(error.message))
        return utils.InferenceResponse([utils.Tensor(t.name, t.array) for t in response.outputs])


class _Waiter:
    __slots__ = ("_answer", "_event")

    def __init__(self) -> None:
        self._answer: InferResponse | ServeError | None = None
        self._event = threading.Event()

    def take(self, answer: InferResponse | ServeError) -> None:
        self._answer = answer
        self._event.set()

    def wait(self) -> InferResponse:
        self._event.wait()
        answer = self._answer
        assert answer is not None
        if isinstance(answer, ServeError):
            raise answer
        return answer
