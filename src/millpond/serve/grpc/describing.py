"""Descriptions, settings and the repository: what the server tells in JSON, as messages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from google.protobuf.json_format import ParseDict
from tritonclient.grpc import service_pb2

from ..core import ModelServer
from ..errors import ServeError

Context = Any


class Describing:
    """The calls of `GRPCInferenceService` that describe or change what is served."""

    def __init__(self, server: ModelServer) -> None:
        self._server = server

    def server_live(self, _request: Any, _context: Context) -> Any:
        return service_pb2.ServerLiveResponse(live=self._server.is_live())

    def server_ready(self, _request: Any, _context: Context) -> Any:
        return service_pb2.ServerReadyResponse(ready=self._server.is_ready())

    def model_ready(self, request: Any, _context: Context) -> Any:
        check_version(request.version)
        ready = self._server.is_model_ready(request.name, request.version)
        return service_pb2.ModelReadyResponse(ready=ready)

    def server_metadata(self, _request: Any, _context: Context) -> Any:
        return ParseDict(self._server.metadata(), service_pb2.ServerMetadataResponse())

    def model_metadata(self, request: Any, _context: Context) -> Any:
        check_version(request.version)
        found = self._server.model_metadata(request.name, request.version)
        return ParseDict(found, service_pb2.ModelMetadataResponse())

    def model_config(self, request: Any, _context: Context) -> Any:
        check_version(request.version)
        found = self._server.model_config(request.name, request.version)
        return ParseDict({"config": found}, service_pb2.ModelConfigResponse(), ignore_unknown_fields=True)

    def model_statistics(self, request: Any, _context: Context) -> Any:
        check_version(request.version)
        return ParseDict(self._server.statistics(request.name, request.version), service_pb2.ModelStatisticsResponse())

    def repository_index(self, request: Any, _context: Context) -> Any:
        _refuse_repository(request)
        models = self._server.index(ready=request.ready)
        return ParseDict({"models": models}, service_pb2.RepositoryIndexResponse())

    def load(self, request: Any, _context: Context) -> Any:
        _refuse_repository(request)
        self._server.load(request.model_name, _load_parameters(request.parameters))
        return service_pb2.RepositoryModelLoadResponse()

    def unload(self, request: Any, _context: Context) -> Any:
        _refuse_repository(request)
        self._server.unload(request.model_name)
        return service_pb2.RepositoryModelUnloadResponse()

    def trace_setting(self, request: Any, _context: Context) -> Any:
        model = request.model_name
        if request.settings:
            changes = {key: _trace_value(key, list(value.value)) for key, value in request.settings.items()}
            told = self._server.update_trace(changes, model)
        else:
            told = self._server.trace_settings(model)
        response = service_pb2.TraceSettingResponse()
        for key, value in told.items():
            response.settings[key].value.extend(value if isinstance(value, list) else [str(value)])
        return response

    def log_settings(self, request: Any, _context: Context) -> Any:
        if request.settings:
            changes = {key: _chosen(value) for key, value in request.settings.items()}
            told = self._server.update_log(changes)
        else:
            told = self._server.log_settings()
        response = service_pb2.LogSettingsResponse()
        for key, value in told.items():
            _write_log_setting(response.settings[key], value)
        return response


def check_version(version: str) -> None:
    """400 unless it is empty or a whole number."""
    if version and not (version.isascii() and version.isdigit() and len(version) < 19):
        raise ServeError(
            400,
            f"failed to get model version from specified version string '{version}', "
            "version should be an integral value > 0",
        )


def _refuse_repository(request: Any) -> None:
    if request.repository_name:
        raise ServeError(501, "'repository_name' specification is not supported")


def _load_parameters(given: Mapping[str, Any]) -> dict[str, Any]:
    """`config` as text and `file:…` as bytes, as the server takes them."""
    parameters: dict[str, Any] = {}
    for key, value in given.items():
        wanted = "string_param" if key == "config" else "bytes_param" if key.startswith("file:") else None
        if wanted is None:
            raise ServeError(400, f"unrecognized load parameter '{key}'.")
        if value.WhichOneof("parameter_choice") != wanted:
            raise ServeError(400, f"invalid value type for load parameter '{key}', expected {wanted}.")
        parameters[key] = getattr(value, wanted)
    return parameters


def _trace_value(key: str, values: list[str]) -> Any:
    """No values clear a setting; levels are a list, everything else is one text."""
    if not values:
        return None
    if key == "trace_level":
        return values
    if len(values) != 1:
        raise ServeError(400, f"trace setting '{key}' takes one value, not {len(values)}")
    return values[0]


def _chosen(value: Any) -> Any:
    field = value.WhichOneof("parameter_choice")
    return getattr(value, field) if field else None


def _write_log_setting(setting: Any, value: Any) -> None:
    if isinstance(value, bool):
        setting.bool_param = value
    elif isinstance(value, int):
        setting.uint32_param = value
    else:
        setting.string_param = str(value)
