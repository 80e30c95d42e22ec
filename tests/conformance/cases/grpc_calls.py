"""gRPC: every call of the service but inference, raw and by `tritonclient.grpc`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import grpc
import tritonclient.grpc as triton
from google.protobuf.message import Message
from tritonclient.grpc import service_pb2

from tests.conformance.registry import Answer, Session, as_json, attempt, case, kinds


def _call(method: str, request: Message) -> Callable[[Session], Answer]:
    return lambda session: session.call(method, request)


def _method(name: str, *arguments: Any, **options: Any) -> Callable[[Session], Answer]:
    return lambda session: attempt(lambda: getattr(session.grpc, name)(*arguments, **options))


def _named(kind: type[Message], name: str, version: str = "") -> Message:
    return kind(name=name, version=version)


READY, METADATA = service_pb2.ModelReadyRequest, service_pb2.ModelMetadataRequest
CONFIG, STATISTICS = service_pb2.ModelConfigRequest, service_pb2.ModelStatisticsRequest


def _statistics(name: str, version: str = "") -> Callable[[Session], Answer]:
    return lambda session: kinds(session.call("ModelStatistics", _named(STATISTICS, name, version)))


CASES = {
    "server_live": _call("ServerLive", service_pb2.ServerLiveRequest()),
    "server_ready": _call("ServerReady", service_pb2.ServerReadyRequest()),
    "server_metadata": _call("ServerMetadata", service_pb2.ServerMetadataRequest()),
    "model_ready": _call("ModelReady", _named(READY, "add_sub")),
    "model_ready_version": _call("ModelReady", _named(READY, "add_sub", "1")),
    "model_ready_unknown": _call("ModelReady", _named(READY, "nothing")),
    "model_ready_unloaded": _call("ModelReady", _named(READY, "unloaded")),
    "model_ready_version_word": _call("ModelReady", _named(READY, "add_sub", "one")),
    "model_ready_version_unknown": _call("ModelReady", _named(READY, "add_sub", "7")),
    "model_ready_empty": _call("ModelReady", _named(READY, "")),
    "model_metadata": _call("ModelMetadata", _named(METADATA, "add_sub")),
    "model_metadata_types": _call("ModelMetadata", _named(METADATA, "types")),
    "model_metadata_versions": _call("ModelMetadata", _named(METADATA, "versions", "1")),
    "model_metadata_unknown": _call("ModelMetadata", _named(METADATA, "nothing")),
    "model_metadata_version_word": _call("ModelMetadata", _named(METADATA, "add_sub", "one")),
    "model_metadata_empty": _call("ModelMetadata", _named(METADATA, "")),
    "model_config": _call("ModelConfig", _named(CONFIG, "add_sub")),
    "model_config_fixed": _call("ModelConfig", _named(CONFIG, "fixed")),
    "model_config_queue": _call("ModelConfig", _named(CONFIG, "slow")),
    "model_config_labels": _call("ModelConfig", _named(CONFIG, "labels")),
    "model_config_unknown": _call("ModelConfig", _named(CONFIG, "nothing")),
    "model_statistics": _statistics("inspect"),
    "model_statistics_version": _statistics("inspect", "1"),
    "model_statistics_unknown": _call("ModelStatistics", _named(STATISTICS, "nothing")),
    "model_statistics_version_unknown": _call("ModelStatistics", _named(STATISTICS, "inspect", "7")),
    "trace_setting": _call("TraceSetting", service_pb2.TraceSettingRequest()),
    "trace_setting_of_model": _call("TraceSetting", service_pb2.TraceSettingRequest(model_name="add_sub")),
    "trace_setting_of_unknown": _call("TraceSetting", service_pb2.TraceSettingRequest(model_name="nothing")),
    "log_settings": _call("LogSettings", service_pb2.LogSettingsRequest()),
    "load_unknown": _call("RepositoryModelLoad", service_pb2.RepositoryModelLoadRequest(model_name="nothing")),
    "load_other_repository": _call(
        "RepositoryModelLoad",
        service_pb2.RepositoryModelLoadRequest(model_name="unloaded", repository_name="elsewhere"),
    ),
    "unload_unknown": _call("RepositoryModelUnload", service_pb2.RepositoryModelUnloadRequest(model_name="nothing")),
    "unload_other_repository": _call(
        "RepositoryModelUnload",
        service_pb2.RepositoryModelUnloadRequest(model_name="unloaded", repository_name="elsewhere"),
    ),
    "load_config_as_number": _call(
        "RepositoryModelLoad",
        service_pb2.RepositoryModelLoadRequest(
            model_name="unloaded", parameters={"config": service_pb2.ModelRepositoryParameter(int64_param=3)}
        ),
    ),
    "load_file_as_text": _call(
        "RepositoryModelLoad",
        service_pb2.RepositoryModelLoadRequest(
            model_name="unloaded",
            parameters={"file:1/model.py": service_pb2.ModelRepositoryParameter(string_param="x")},
        ),
    ),
    "load_unknown_parameter": _call(
        "RepositoryModelLoad",
        service_pb2.RepositoryModelLoadRequest(
            model_name="unloaded", parameters={"colour": service_pb2.ModelRepositoryParameter(string_param="x")}
        ),
    ),
    "client_is_server_live": _method("is_server_live"),
    "client_is_server_ready": _method("is_server_ready"),
    "client_is_model_ready": _method("is_model_ready", "add_sub"),
    "client_is_model_ready_unknown": _method("is_model_ready", "nothing"),
    "client_get_server_metadata": _method("get_server_metadata", as_json=True),
    "client_get_model_metadata": _method("get_model_metadata", "add_sub", as_json=True),
    "client_get_model_config": _method("get_model_config", "batched", as_json=True),
    "client_get_inference_statistics": lambda session: kinds(
        session.grpc.get_inference_statistics("inspect", as_json=True)
    ),
    "client_get_trace_settings": _method("get_trace_settings", as_json=True),
    "client_get_log_settings": _method("get_log_settings", as_json=True),
    "client_get_system_shared_memory_status": _method("get_system_shared_memory_status", as_json=True),
    "client_get_cuda_shared_memory_status": _method("get_cuda_shared_memory_status", as_json=True),
}


@case
def every_method_is_here(session: Session) -> Answer:
    """Methods of the client; a new one would need a case."""
    return sorted(name for name in dir(triton.InferenceServerClient) if not name.startswith("_"))


@case
def every_call_is_here(session: Session) -> Answer:
    """Each call of the service is known to the server: none is UNIMPLEMENTED."""
    service = service_pb2.DESCRIPTOR.services_by_name["GRPCInferenceService"]
    unknown = []
    for method in service.methods:
        request = getattr(service_pb2, method.input_type.name)()
        if not method.client_streaming and session.call(method.name, request).get("error") in ("", "Method not found!"):
            unknown.append(method.name)
    return {"calls": len(service.methods), "unknown": unknown}


def _index(session: Session, *, is_ready: bool) -> Answer:
    answer = session.call("RepositoryIndex", service_pb2.RepositoryIndexRequest(ready=is_ready))
    answer["body"]["models"].sort(key=lambda one: (one["name"], one.get("version", "")))
    return answer


@case
def repository_index(session: Session) -> Answer:
    return _index(session, is_ready=False)


@case
def repository_index_ready(session: Session) -> Answer:
    return _index(session, is_ready=True)


@case
def statistics_of_all(session: Session) -> Answer:
    answer = session.call("ModelStatistics", service_pb2.ModelStatisticsRequest())
    return sorted((one["name"], one["version"]) for one in answer["body"]["model_stats"])


@case
def unknown_call(session: Session) -> Answer:
    call = session.channel.unary_unary("/inference.GRPCInferenceService/Nothing")
    try:
        call(b"", timeout=20)
    except grpc.RpcError as error:
        return {"code": error.code().name}
    return None


@case
def malformed_message(session: Session) -> Answer:
    """Bytes that are no protobuf."""
    call = session.channel.unary_unary("/inference.GRPCInferenceService/ModelInfer")
    try:
        call(b"\xff\xff\xff\xff", timeout=20)
    except grpc.RpcError as error:
        return {"code": error.code().name}
    return None


def _health(service: str) -> Callable[[Session], Answer]:
    """grpc.health.v1, in its wire form: field 1 of the request is the service, field 1 of the answer its state."""

    def ask(session: Session) -> Answer:
        name = service.encode()
        request = b"\x0a" + bytes([len(name)]) + name if name else b""
        call = session.channel.unary_unary("/grpc.health.v1.Health/Check")
        try:
            return {"code": "OK", "answer": call(request, timeout=20).hex()}
        except grpc.RpcError as error:
            return {"code": error.code().name}

    return ask


health_of_server = case(_health(""))
health_of_service = case(_health("inference.GRPCInferenceService"))
health_of_unknown = case(_health("nothing"))


@case
def stream_of_health(session: Session) -> Answer:
    call = session.channel.unary_stream("/grpc.health.v1.Health/Watch")
    try:
        return {"code": "OK", "first": next(iter(call(b"", timeout=5))).hex()}
    except grpc.RpcError as error:
        return {"code": error.code().name}


@case
def client_messages(session: Session) -> Answer:
    """Without `as_json` the client returns messages."""
    return [
        as_json(session.grpc.get_model_metadata("add_sub")),
        as_json(session.grpc.get_model_config("add_sub")),
        type(session.grpc.get_model_repository_index()).__name__,
    ]
