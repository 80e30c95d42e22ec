"""Loading and unloading, trace and log settings, over HTTP and gRPC; each case puts back what it changed."""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Callable
from typing import Any

from tests.conformance.registry import Answer, Session, attempt, case
from tests.conformance.servers import REPOSITORY

LOAD = "/v2/repository/models/{}/load"
UNLOAD = "/v2/repository/models/{}/unload"
X = {"inputs": [{"name": "X", "shape": [2, 3], "datatype": "FP32", "data": [1, 2, 3, 4, 5, 6]}]}
MODEL_CODE = (REPOSITORY / "fixed" / "1" / "model.py").read_bytes()
CONFIG = {
    "name": "made",
    "backend": "python",
    "max_batch_size": 0,
    "input": [{"name": "X", "data_type": "TYPE_FP32", "dims": [2, 3]}],
    "output": [{"name": "Y", "data_type": "TYPE_FP32", "dims": [2, 3]}],
    "parameters": {"scale": {"string_value": "10"}},
}


def _load(session: Session, model: str, body: object = None) -> Answer:
    return session.send("POST", LOAD.format(model), body)


def _unload(session: Session, model: str, body: object = None) -> Answer:
    return session.send("POST", UNLOAD.format(model), body)


def _state(session: Session, model: str) -> Answer:
    found = session.send("POST", "/v2/repository/index")["body"]
    return sorted((one for one in found if one["name"] == model), key=lambda one: one.get("version", ""))


def _unloaded(session: Session, model: str) -> Answer:
    """The index after an unload; Triton unloads in the background."""
    _unload(session, model)
    deadline = time.monotonic() + 30
    while any(one.get("state") in ("READY", "UNLOADING") for one in _state(session, model)):
        assert time.monotonic() < deadline, f"{model} is not unloaded"
        time.sleep(0.05)
    return _state(session, model)


@case
def load_and_unload(session: Session) -> Answer:
    return [
        _load(session, "unloaded"),
        _state(session, "unloaded"),
        session.send("POST", "/v2/models/unloaded/infer", X),
        _unloaded(session, "unloaded"),
        session.send("POST", "/v2/models/unloaded/infer", X),
        session.send("GET", "/v2/models/unloaded/ready"),
        session.send("GET", "/v2/models/unloaded/stats"),
    ]


@case
def load_twice(session: Session) -> Answer:
    answers = [_load(session, "unloaded"), _load(session, "unloaded"), _state(session, "unloaded")]
    _unloaded(session, "unloaded")
    return answers


@case
def unload_twice(session: Session) -> Answer:
    _load(session, "unloaded")
    _unloaded(session, "unloaded")
    return [_unload(session, "unloaded"), _unloaded(session, "unloaded")]


@case
def load_derived(session: Session) -> Answer:
    """A model without config.pbtxt: its own description completes the configuration."""
    values = {"inputs": [{"name": "X", "shape": [1, 3], "datatype": "FP32", "data": [1, 2, 3]}]}
    answers = [
        _load(session, "derived"),
        session.send("GET", "/v2/models/derived"),
        session.send("GET", "/v2/models/derived/config"),
        session.send("POST", "/v2/models/derived/infer", values),
    ]
    _unloaded(session, "derived")
    return answers


def _refused(model: str, body: object = None) -> Callable[[Session], Answer]:
    def ask(session: Session) -> Answer:
        answers = [_load(session, model, body), _state(session, model)]
        for one in answers[1]:
            one["reason"] = bool(one.get("reason"))
        return answers

    return ask


CASES: dict[str, Callable[[Session], Answer]] = {
    "load_unknown": lambda session: _load(session, "nothing"),
    "unload_unknown": lambda session: _unload(session, "nothing"),
    "load_get": lambda session: session.send("GET", LOAD.format("unloaded")),
    "load_no_json": lambda session: _load(session, "unloaded", b"{nope"),
    "load_parameters_list": lambda session: _load(session, "unloaded", {"parameters": []}),
    "load_config_no_json": lambda session: _load(session, "unloaded", {"parameters": {"config": "nope"}}),
    "load_config_number": lambda session: _load(session, "unloaded", {"parameters": {"config": 5}}),
    "load_unknown_parameter": lambda session: _load(session, "unloaded", {"parameters": {"colour": "blue"}}),
    "load_file_without_config": lambda session: _load(
        session, "made", {"parameters": {"file:1/model.py": base64.b64encode(MODEL_CODE).decode()}}
    ),
    "load_file_not_base64": lambda session: _load(
        session, "made", {"parameters": {"config": json.dumps(CONFIG), "file:1/model.py": "***"}}
    ),
    "load_file_outside": lambda session: _load(
        session,
        "made",
        {"parameters": {"config": json.dumps(CONFIG), "file:../1/model.py": base64.b64encode(MODEL_CODE).decode()}},
    ),
    "load_broken": _refused("broken"),
    "load_misnamed": _refused("misnamed"),
    "load_malformed": _refused("malformed"),
    "load_versionless": _refused("versionless"),
    "load_config_other_backend": _refused(
        "unloaded", {"parameters": {"config": json.dumps(CONFIG | {"name": "unloaded", "backend": "nothing"})}}
    ),
    "load_traversal": lambda session: _load(session, "..%2F..%2Fetc"),
}


@case
def load_with_config(session: Session) -> Answer:
    """`config` takes the place of config.pbtxt until the next load."""
    config = CONFIG | {"name": "unloaded"}
    answers = [
        _load(session, "unloaded", {"parameters": {"config": json.dumps(config)}}),
        session.send("POST", "/v2/models/unloaded/infer", X),
        session.send("GET", "/v2/models/unloaded/config")["body"]["parameters"],
        _load(session, "unloaded"),
        session.send("POST", "/v2/models/unloaded/infer", X),
    ]
    _unloaded(session, "unloaded")
    return answers


@case
def load_with_files(session: Session) -> Answer:
    """A model made of nothing but the files in the request, as a program does it."""
    files = {"file:1/model.py": MODEL_CODE}
    return [
        attempt(lambda: session.http.load_model("made", config=json.dumps(CONFIG), files=files)),
        session.send("POST", "/v2/models/made/infer", X),
        _state(session, "made"),
        _unloaded(session, "made"),
    ]


@case
def load_with_two_versions(session: Session) -> Answer:
    config = CONFIG | {"name": "made", "version_policy": {"all": {}}}
    files = {"file:1/model.py": MODEL_CODE, "file:3/model.py": MODEL_CODE.replace(b"* self.scale", b"* 2 * self.scale")}
    return [
        attempt(lambda: session.grpc.load_model("made", config=json.dumps(config), files=files)),
        session.send("POST", "/v2/models/made/infer", X),
        session.send("POST", "/v2/models/made/versions/1/infer", X),
        _state(session, "made"),
        _unloaded(session, "made"),
    ]


@case
def client_load_and_unload(session: Session) -> Answer:
    def both(client: Any) -> Answer:
        answers = [attempt(lambda: client.load_model("unloaded")), client.is_model_ready("unloaded")]
        answers.append(attempt(lambda: client.unload_model("unloaded")))
        _unloaded(session, "unloaded")
        return [*answers, client.is_model_ready("unloaded"), attempt(lambda: client.load_model("nothing"))]

    return [both(session.http), both(session.grpc)]


@case
def unload_dependents(session: Session) -> Answer:
    _load(session, "unloaded")
    answer = attempt(lambda: session.http.unload_model("unloaded", unload_dependents=True))
    _unloaded(session, "unloaded")
    return answer


@case
def load_dependents_word(session: Session) -> Answer:
    return _unload(session, "unloaded", {"parameters": {"unload_dependents": "yes"}})


@case
def trace_settings(session: Session) -> Answer:
    get, path = "/v2/trace/setting", "/v2/models/add_sub/trace/setting"
    return [
        session.send("GET", get),
        session.send("POST", get, {"trace_level": ["TIMESTAMPS"], "trace_rate": "500", "trace_count": "7"}),
        session.send("GET", path),
        session.send("POST", path, {"trace_level": ["OFF"], "log_frequency": "5"}),
        session.send("GET", path),
        session.send("POST", path, {"trace_level": None, "log_frequency": None}),
        session.send("GET", path),
        session.send("POST", get, {"trace_level": None, "trace_rate": None, "trace_count": None}),
        session.send("GET", get),
    ]


@case
def trace_settings_refused(session: Session) -> Answer:
    path = "/v2/trace/setting"
    bodies = (
        {"trace_level": ["LOUD"]},
        {"trace_rate": "many"},
        {"trace_rate": "-1"},
        {"trace_rate": 5},
        {"trace_count": "-2"},
        {"trace_mode": "triton"},
        {"colour": "blue"},
        b"{nope",
        [],
    )
    return [session.send("POST", path, body) for body in bodies] + [session.send("GET", path)]


@case
def trace_settings_of_unknown_model(session: Session) -> Answer:
    return [
        session.send("GET", "/v2/models/nothing/trace/setting"),
        session.send("POST", "/v2/models/nothing/trace/setting", {}),
    ]


@case
def log_settings(session: Session) -> Answer:
    path = "/v2/logging"
    return [
        session.send("GET", path),
        session.send("POST", path, {"log_verbose_level": 1, "log_info": False}),
        session.send("GET", path),
        session.send("POST", path, {"log_verbose_level": 0, "log_info": True, "log_format": "ISO8601"}),
        session.send("POST", path, {"log_format": "default"}),
    ]


@case
def log_settings_refused(session: Session) -> Answer:
    path = "/v2/logging"
    bodies = (
        {"log_info": "yes"},
        {"log_verbose_level": -1},
        {"log_verbose_level": "high"},
        {"log_format": "xml"},
        {"log_file": "/somewhere/file"},
        {"colour": "blue"},
        b"{nope",
        [],
    )
    return [session.send("POST", path, body) for body in bodies] + [session.send("GET", path)]


@case
def client_settings(session: Session) -> Answer:
    return [
        attempt(lambda: session.http.update_trace_settings(settings={"trace_rate": "300"})),
        attempt(lambda: session.http.update_trace_settings(settings={"trace_rate": None})),
        attempt(lambda: session.http.update_log_settings({"log_verbose_level": 0})),
        attempt(lambda: session.grpc.update_trace_settings(settings={"trace_rate": "300"}, as_json=True)),
        attempt(lambda: session.grpc.update_trace_settings("add_sub", {"trace_count": "3"}, as_json=True)),
        attempt(lambda: session.grpc.update_trace_settings("add_sub", {"trace_count": None}, as_json=True)),
        attempt(lambda: session.grpc.update_trace_settings(settings={"trace_rate": None}, as_json=True)),
        attempt(lambda: session.grpc.update_trace_settings("nothing", {"trace_rate": "1"})),
        attempt(lambda: session.grpc.update_trace_settings(settings={"colour": "blue"})),
        attempt(lambda: session.grpc.update_log_settings({"log_verbose_level": 0}, as_json=True)),
        attempt(lambda: session.grpc.update_log_settings({"log_format": "xml"}, as_json=True)),
        attempt(lambda: session.grpc.update_log_settings({"colour": True}, as_json=True)),
    ]


@case
def repository_is_unchanged(session: Session) -> Answer:
    """Every model that was ready at the start still is."""
    found = session.send("POST", "/v2/repository/index", {"ready": True})["body"]
    return sorted((one["name"], one["version"]) for one in found)
