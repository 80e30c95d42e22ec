"""HTTP: health, metadata, configuration, readiness, statistics, index."""

from __future__ import annotations

from collections.abc import Callable

from tests.conformance.registry import Answer, Session, case, kinds


def _get(path: str, method: str = "GET", body: object = None) -> Callable[[Session], Answer]:
    return lambda session: session.send(method, path, body)


CASES = {
    "live": _get("/v2/health/live"),
    "ready": _get("/v2/health/ready"),
    "live_post": _get("/v2/health/live", "POST"),
    "ready_post": _get("/v2/health/ready", "POST"),
    "server_metadata": _get("/v2"),
    "server_metadata_slash": _get("/v2/"),
    "server_metadata_post": _get("/v2", "POST"),
    "root": _get("/"),
    "unknown_path": _get("/v2/nothing"),
    "unknown_health": _get("/v2/health/other"),
    "v1": _get("/v1/models/add_sub"),
    "query_is_ignored": _get("/v2/health/live?verbose=1"),
    "model_metadata": _get("/v2/models/add_sub"),
    "model_metadata_slash": _get("/v2/models/add_sub/"),
    "model_metadata_post": _get("/v2/models/add_sub", "POST"),
    "model_metadata_put": _get("/v2/models/add_sub", "PUT"),
    "model_metadata_version": _get("/v2/models/add_sub/versions/1"),
    "model_metadata_no_batch": _get("/v2/models/fixed"),
    "model_metadata_types": _get("/v2/models/types"),
    "model_metadata_versions": _get("/v2/models/versions"),
    "model_metadata_versions_4": _get("/v2/models/versions/versions/4"),
    "model_metadata_version_not_served": _get("/v2/models/versions/versions/2"),
    "model_metadata_version_word": _get("/v2/models/versions/versions/first"),
    "model_metadata_version_negative": _get("/v2/models/versions/versions/-1"),
    "model_metadata_version_zero": _get("/v2/models/versions/versions/0"),
    "model_metadata_version_huge": _get("/v2/models/versions/versions/99999999999999999999"),
    "model_metadata_version_empty": _get("/v2/models/versions/versions/"),
    "model_metadata_unknown": _get("/v2/models/nothing"),
    "model_metadata_unloaded": _get("/v2/models/unloaded"),
    "model_name_escaped": _get("/v2/models/add%5Fsub"),
    "model_name_empty": _get("/v2/models/"),
    "models": _get("/v2/models"),
    "model_unknown_action": _get("/v2/models/add_sub/other"),
    "model_ready": _get("/v2/models/add_sub/ready"),
    "model_ready_post": _get("/v2/models/add_sub/ready", "POST"),
    "model_ready_version": _get("/v2/models/add_sub/versions/1/ready"),
    "model_ready_version_not_served": _get("/v2/models/versions/versions/2/ready"),
    "model_ready_version_word": _get("/v2/models/versions/versions/first/ready"),
    "model_ready_unknown": _get("/v2/models/nothing/ready"),
    "model_ready_unloaded": _get("/v2/models/unloaded/ready"),
    "config": _get("/v2/models/add_sub/config"),
    "config_post": _get("/v2/models/add_sub/config", "POST"),
    "config_version": _get("/v2/models/add_sub/versions/1/config"),
    "config_parameters": _get("/v2/models/fixed/config"),
    "config_types": _get("/v2/models/types/config"),
    "config_labels": _get("/v2/models/labels/config"),
    "config_queue": _get("/v2/models/slow/config"),
    "config_batching": _get("/v2/models/batched/config"),
    "config_versions": _get("/v2/models/versions/config"),
    "config_unknown": _get("/v2/models/nothing/config"),
    "config_version_not_served": _get("/v2/models/versions/versions/2/config"),
    "stats_before": _get("/v2/models/add_sub/stats"),
    "stats_version": _get("/v2/models/add_sub/versions/1/stats"),
    "stats_versions": _get("/v2/models/versions/stats"),
    "stats_version_not_served": _get("/v2/models/versions/versions/2/stats"),
    "stats_unknown": _get("/v2/models/nothing/stats"),
    "stats_post": _get("/v2/models/add_sub/stats", "POST"),
    "index_get": _get("/v2/repository/index"),
    "index_unknown_repository": _get("/v2/repositories/x/index", "POST"),
    "repository_unknown": _get("/v2/repository/other", "POST"),
}


@case
def stats_all(session: Session) -> Answer:
    answer = session.send("GET", "/v2/models/stats")
    answer["body"] = sorted((one["name"], one["version"], sorted(one)) for one in answer["body"]["model_stats"])
    return answer


def _index(session: Session, body: object) -> Answer:
    answer = session.send("POST", "/v2/repository/index", body)
    if isinstance(answer.get("body"), list):
        answer["body"] = sorted(answer["body"], key=lambda one: (one["name"], one.get("version", "")))
    return answer


@case
def index(session: Session) -> Answer:
    return _index(session, None)


@case
def index_empty_object(session: Session) -> Answer:
    return _index(session, {})


@case
def index_ready_only(session: Session) -> Answer:
    return _index(session, {"ready": True})


@case
def index_ready_word(session: Session) -> Answer:
    return _index(session, {"ready": "yes"})


@case
def index_no_json(session: Session) -> Answer:
    return _index(session, b"{not json")


@case
def stats_after_two_requests(session: Session) -> Answer:
    """Statistics count requests, rows and executions."""
    before = session.send("GET", "/v2/models/fixed/stats")["body"]["model_stats"][0]
    values = {"inputs": [{"name": "X", "shape": [2, 3], "datatype": "FP32", "data": [1, 2, 3, 4, 5, 6]}]}
    for _ in range(2):
        session.send("POST", "/v2/models/fixed/infer", values)
    session.send("POST", "/v2/models/fixed/infer", values | {"outputs": [{"name": "nothing"}]})
    wrong = [{"name": "X", "shape": [2, 2], "datatype": "FP32", "data": [1, 2, 3, 4]}]
    session.send("POST", "/v2/models/fixed/infer", {"inputs": wrong})
    after = session.send("GET", "/v2/models/fixed/stats")["body"]["model_stats"][0]
    return {
        "inferences": after["inference_count"] - before["inference_count"],
        "executions": after["execution_count"] - before["execution_count"],
        "counted": {
            key: value["count"] - before["inference_stats"][key]["count"]
            for key, value in after["inference_stats"].items()
        },
        "has_last_inference": after["last_inference"] > 0,
        "keys": kinds(after),
    }


@case
def stats_batches(session: Session) -> Answer:
    """`batch_stats` has one entry for each size of a batch."""
    for rows in (1, 3, 3):
        values = [1.0] * (4 * rows)
        tensors = [{"name": n, "shape": [rows, 4], "datatype": "FP32", "data": values} for n in ("INPUT0", "INPUT1")]
        session.send("POST", "/v2/models/add_sub/infer", {"inputs": tensors})
    stats = session.send("GET", "/v2/models/add_sub/stats")["body"]["model_stats"][0]
    return {"sizes": [one["batch_size"] for one in stats["batch_stats"]], "one": stats["batch_stats"][0]}


@case
def stats_of_failures(session: Session) -> Answer:
    """What the model itself refuses is counted."""
    path, values = "/v2/models/failing", {"name": "HOW", "shape": [1], "datatype": "BYTES", "data": ["error"]}
    before = session.send("GET", f"{path}/stats")["body"]["model_stats"][0]["inference_stats"]
    session.send("POST", f"{path}/infer", {"inputs": [values]})
    after = session.send("GET", f"{path}/stats")["body"]["model_stats"][0]["inference_stats"]
    return {key: value["count"] - before[key]["count"] for key, value in after.items()}


@case
def metrics(session: Session) -> Answer:
    """Names, types and labels of the metrics of one model."""
    text = session.web.get(f"http://{session.server.metrics}/metrics").text
    lines = [line for line in text.splitlines() if line.startswith("nv_inference") or "# TYPE nv_inference" in line]
    names = {line.rpartition(" ")[0] for line in lines if 'model="add_sub"' in line or line.startswith("#")}
    return sorted(
        "{".join((name, *(",".join(sorted(labels.split(","))) for labels in rest)))
        for name, *rest in (one.rstrip("}").split("{") for one in names)
    )


@case
def metrics_content_type(session: Session) -> Answer:
    response = session.web.get(f"http://{session.server.metrics}/metrics")
    return {"status": response.status_code, "type": response.headers["content-type"].partition(";")[0]}
