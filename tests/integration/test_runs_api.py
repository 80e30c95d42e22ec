"""Runs through the API of a real server: lists, charts, comparison, edits, nesting, resuming, bad input."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from millpond.model.people import Role
from millpond.testing.server import RunningServer, running_server
from millpond.wire.points import MEDIA_TYPE

RUNS = "/projects/default/runs"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    with running_server(Path(tmp_path_factory.mktemp("server"))) as running:
        yield running


@pytest.fixture(scope="module")
def maria(server: RunningServer) -> httpx.Client:
    return server.user("maria", roles={"default": Role.MEMBER})


def create(client: httpx.Client, **wanted: Any) -> str:
    response = client.post(RUNS, json=wanted)
    assert response.status_code == 201, response.text
    found: str = response.json()["id"]
    return found


def report(client: httpx.Client, run: str, sequence: int = 0, **told: Any) -> httpx.Response:
    return client.post(f"{RUNS}/{run}/batch", json={"writer": "one", "sequence": sequence, **told})


def column(key: str, values: list[Any], begin: int = 0) -> dict[str, Any]:
    steps = list(range(begin, begin + len(values)))
    return {"key": key, "steps": steps, "values": values, "times": steps}


def test_a_list_is_filtered_sorted_and_paged_with_chosen_columns(maria: httpx.Client) -> None:
    ids = []
    for place in range(5):
        ids.append(create(maria, experiment="list", params={"lr": place / 10, "other": "x"}))
        report(maria, ids[-1], series=[column("acc", [0.9, place / 10]), column("loss", [1.0])])
    query = {"experiment": "list", "filter": "metrics.acc >= 0.1", "sort": "metrics.acc desc", "limit": 3}
    first = maria.get(RUNS, params={**query, "columns": "params.lr, max(metrics.acc)"}).json()
    assert [item["id"] for item in first["items"]] == ids[:1:-1]
    assert [item["params"] for item in first["items"]] == [{"lr": 0.4}, {"lr": 0.3}, {"lr": 0.2}]
    assert first["items"][0]["summaries"]["acc"]["max"] == 0.9
    assert "loss" not in first["items"][0]["metrics"]
    second = maria.get(RUNS, params={**query, "cursor": first["next"]}).json()
    assert ([item["id"] for item in second["items"]], second["next"]) == ([ids[1]], None)


def test_the_keys_of_a_list_are_told(server: RunningServer, maria: httpx.Client) -> None:
    for place in range(2):
        run = create(maria, experiment="keys", params={"lr": place, "seed": 7}, tags={"team": f"t{place}"})
        report(maria, run, series=[column("acc", [0.5])])
    gone = create(maria, experiment="keys", params={"gone": 1})
    maria.delete(f"{RUNS}/{gone}")
    found = maria.get("/runs/keys", params={"project": "default", "experiment": "keys"}).json()
    assert (found["runs"], found["experiments"], found["users"]) == (2, ["keys"], ["maria"])
    assert [(one["key"], one["runs"], one["differs"]) for one in found["params"]] == [
        ("lr", 2, True), ("seed", 2, False),
    ]  # fmt: skip
    assert [(one["key"], one["runs"]) for one in found["metrics"]] == [("acc", 2)]
    assert [(one["key"], one["values"]) for one in found["tags"]] == [("team", ["t0", "t1"])]
    stranger = server.user("olaf", roles={})
    assert stranger.get("/runs/keys", params={"project": "default"}).status_code == 404
    assert stranger.get("/runs/keys").json()["runs"] == 0


def test_a_wrong_filter_is_pointed_at(maria: httpx.Client) -> None:
    answer = maria.get(RUNS, params={"filter": "metrics.acc > 1 and parms.lr = '1'"})
    assert answer.status_code == 400
    assert (answer.json()["details"]["word"], answer.json()["details"]["position"]) == ("parms", 20)
    assert "params" in answer.json()["hint"]
    assert maria.get(RUNS, params={"sort": "metrics.acc", "cursor": "nonsense"}).status_code == 400


def test_numbers_that_json_cannot_say_come_back(maria: httpx.Client) -> None:
    run = create(maria)
    assert report(maria, run, series=[column("x", ["NaN", "Infinity", "-Infinity", None, 1e308])]).status_code == 204
    (found,) = maria.get(f"{RUNS}/{run}/metrics").json()["items"]
    assert found["values"] == ["NaN", "Infinity", "-Infinity", "NaN", 1e308]
    summary = maria.get(f"{RUNS}/{run}").json()["summaries"]["x"]
    assert (summary["min"], summary["max"], summary["last"]) == ("-Infinity", "Infinity", 1e308)


def test_a_chart_is_thinned_with_its_spike_and_exact_on_zoom(maria: httpx.Client) -> None:
    run = create(maria)
    values = [0.0] * 30_000
    values[22_222] = 9.0
    for part in range(3):
        told = [column("loss", values[part * 10_000 : (part + 1) * 10_000], part * 10_000)]
        assert report(maria, run, part, series=told).status_code == 204
    asked = {"runs": [run], "keys": ["loss"], "limit": 50}
    (whole,) = maria.post(f"{RUNS}/metrics", json=asked).json()["items"]
    assert (whole["total"], len(whole["steps"]) <= 50, 9.0 in whole["values"]) == (30_000, True, True)
    (zoomed,) = maria.post(f"{RUNS}/metrics", json={**asked, "start": 22_200, "end": 22_240}).json()["items"]
    assert (zoomed["steps"], zoomed["total"]) == (list(range(22_200, 22_241)), 41)
    (timeless,) = maria.post(f"{RUNS}/metrics", json={**asked, "times": False}).json()["items"]
    assert (timeless["times"], timeless["values"]) == ([], whole["values"])


def test_history_is_paged_and_exact_whatever_the_order_of_writers(maria: httpx.Client) -> None:
    run = create(maria)
    for sequence in range(300):  # more than are kept unfolded
        body = {"writer": f"rank{sequence % 2}", "sequence": sequence, "series": [column("a", [1.0], sequence // 2)]}
        assert maria.post(f"{RUNS}/{run}/batch", json=body).status_code == 204
        assert maria.post(f"{RUNS}/{run}/batch", json=body).status_code == 204  # a retry
    steps: list[int] = []
    page: dict[str, Any] = {"key": "a", "limit": 70}
    following = ""
    while following is not None:
        answer = maria.get(f"{RUNS}/{run}/metrics/history", params=page | ({"cursor": following} if following else {}))
        steps += answer.json()["items"][0]["steps"]
        following = answer.json()["next"]
    assert steps == sorted([*range(150), *range(150)])
    missing = maria.get(f"{RUNS}/{run}/metrics/history", params={"key": "b"})
    assert missing.status_code == 404


def test_runs_are_compared(maria: httpx.Client) -> None:
    one, two = create(maria, params={"lr": 1, "same": "x"}), create(maria, params={"lr": 1.0, "same": "x", "new": True})
    report(maria, one, series=[column("acc", [0.5])])
    found = maria.post(f"{RUNS}/compare", json={"runs": [one, two]}).json()
    assert [run["id"] for run in found["runs"]] == [one, two]
    rows = {row["key"]: (row["values"], row["differs"]) for row in found["params"]}
    assert rows["same"] == (["x", "x"], False)
    assert rows["new"] == ([None, True], True)
    assert found["metrics"] == [{"key": "acc", "values": [0.5, None], "differs": True}]
    assert maria.post(f"{RUNS}/compare", json={"runs": [one, "nobody00"]}).status_code == 404


def test_a_run_is_edited_and_keeps_what_parameters_were(maria: httpx.Client) -> None:
    run = create(maria, params={"lr": 1}, tags={"a": "1", "b": "2"})
    body = {"name": "better", "notes": "# Why", "tags": {"a": None, "c": "3"}}
    edited = maria.patch(f"{RUNS}/{run}", json=body).json()
    assert (edited["name"], edited["notes"], edited["tags"]) == ("better", "# Why", {"b": "2", "c": "3"})
    report(maria, run, params={"lr": 2}, origin={"host": "h"})
    shown = maria.get(f"{RUNS}/{run}").json()
    assert [change["value"] for change in shown["param_changes"]["lr"]] == [1]
    assert (shown["params"], shown["origin"], shown["notes"]) == ({"lr": 2}, {"host": "h"}, "# Why")


def test_runs_inside_a_run(maria: httpx.Client) -> None:
    outer = create(maria)
    inner = create(maria, parent=outer)
    assert [item["id"] for item in maria.get(RUNS, params={"parent": outer}).json()["items"]] == [inner]
    assert maria.get(f"{RUNS}/{outer}").json()["children"] == 1
    assert maria.post(RUNS, json={"id": "itself0000", "parent": "itself0000"}).status_code == 422


def test_a_run_that_ended_is_resumed(maria: httpx.Client) -> None:
    run = create(maria, id="resumed00001", params={"lr": 1})
    report(maria, run, ended="failed", series=[column("a", [1.0])])
    create(maria, id=run)
    assert maria.get(f"{RUNS}/{run}").json()["state"] == "failed"
    create(maria, id=run, resume=True)
    shown = maria.get(f"{RUNS}/{run}").json()
    assert (shown["state"], shown["ended_at"], shown["params"], shown["metrics"]) == (
        "running",
        None,
        {"lr": 1},
        {"a": 1},
    )
    maria.delete(f"{RUNS}/{run}")
    assert maria.post(RUNS, json={"id": run, "resume": True}).status_code == 409


def test_a_run_is_found_by_name_or_the_beginning_of_its_id(maria: httpx.Client) -> None:
    def find(**asked: Any) -> httpx.Response:
        return maria.get(f"{RUNS}/find", params=asked)

    first, second = create(maria, name="a/b c"), create(maria, name="a/b c")
    assert find(run="a/b c").json()["id"] == second
    assert find(run="a/b c", unique=True).status_code == 409
    assert find(run=first[:7]).json()["id"] == first
    answer = find(run="a/b d")
    assert (answer.status_code, answer.json()["details"]["near"]) == (404, ["a/b c"])


@pytest.mark.parametrize(
    ("told", "status"),
    [
        ({"params": {"big": "x" * (10 << 20)}}, 413),
        ({"tags": {"big": "x" * 70_000}}, 413),
        ({"tags": {"": "x"}}, 422),
        ({"series": [{"key": "a", "steps": [2**63], "values": [1], "times": [0]}]}, 422),
        ({"series": [{"key": "a", "steps": [1, 2], "values": [1], "times": [0]}]}, 422),
        ({"series": [{"key": "a\0", "steps": [1], "values": [1], "times": [0]}]}, 422),
        ({"metrics": [{"key": "a", "value": "word", "at": "2026-01-01T00:00:00Z"}]}, 422),
    ],
)
def test_what_cannot_be_stored_is_refused(maria: httpx.Client, told: dict[str, Any], status: int) -> None:
    assert report(maria, create(maria), **told).status_code == status


def test_another_projects_runs_are_not_there(server: RunningServer, maria: httpx.Client) -> None:
    run = create(maria)
    stranger = server.user("stranger", roles={})
    for answer in (
        stranger.get(RUNS), stranger.get(f"{RUNS}/find", params={"run": run}), stranger.get(f"{RUNS}/{run}"),
        stranger.post(f"{RUNS}/metrics", json={"runs": [run]}), stranger.post(f"{RUNS}/compare", json={"runs": [run]}),
        stranger.patch(f"{RUNS}/{run}", json={"notes": "x"}),
    ):  # fmt: skip
        assert answer.status_code == 404


def test_answers_of_data_may_not_be_framed_or_run(maria: httpx.Client) -> None:
    for answer in (maria.get(RUNS), maria.get(f"{RUNS}/nosuchrun")):
        assert answer.headers["x-frame-options"] == "DENY"
        assert "frame-ancestors 'none'" in answer.headers["content-security-policy"]
        assert answer.headers["x-content-type-options"] == "nosniff"


def test_a_run_in_the_bin_keeps_what_still_comes_and_is_restored_with_it(maria: httpx.Client) -> None:
    run = create(maria, experiment="bin", params={"lr": 0.1})
    assert maria.delete(f"{RUNS}/{run}").status_code == maria.delete(f"{RUNS}/{run}").status_code == 200
    assert report(maria, run, series=[column("loss", [1.0, 0.5])]).status_code == 204
    refused = maria.post(RUNS, json={"id": run, "resume": True})
    assert (refused.status_code, f"mill run undelete {run}" in refused.json()["hint"]) == (409, True)
    assert maria.get(RUNS, params={"experiment": "bin"}).json()["items"] == []
    for _ in range(2):
        assert maria.post(f"{RUNS}/{run}/undelete").status_code == 200
    (found,) = maria.get(RUNS, params={"experiment": "bin"}).json()["items"]
    assert (found["params"], found["metrics"]) == ({"lr": 0.1}, {"loss": 0.5})


def test_a_clock_that_is_wrong_moves_no_run_into_the_future(server: RunningServer, maria: httpx.Client) -> None:
    """Points keep the times they came with; a run neither starts nor ends after now."""
    future = "2099-01-01T00:00:00Z"
    run = create(maria, experiment="skew", started_at=future)
    late = {"key": "loss", "steps": [0, 1], "values": [1.0, 0.5], "times": [4102444800000, 0]}
    assert report(maria, run, series=[late], ended="succeeded", ended_at=future).status_code == 204
    found = maria.get(f"{RUNS}/{run}").json()
    now = server.deps.clock.now().isoformat()
    assert found["started_at"] <= found["ended_at"] <= now
    assert maria.get(f"{RUNS}/{run}/metrics").json()["items"][0]["times"] == late["times"]


def test_points_in_a_format_of_a_newer_client_are_refused_so_that_it_sends_json(maria: httpx.Client) -> None:
    run = create(maria)
    headers = {"Content-Type": f"{MEDIA_TYPE}.v9"}
    answer = maria.post(f"{RUNS}/{run}/batch", content=b"\x00\x01", headers=headers)
    assert (answer.status_code, answer.json()["code"]) == (400, "bad_request")


@pytest.mark.parametrize(
    ("filter", "word", "hint"),
    [
        ("metrics.acc > 1 and parms.lr = '1'", "parms", "params"),
        ("state = 'suceeded'", "'suceeded'", "succeeded"),
        ("experimnt = 'a'", "experimnt", "experiment"),
        ("metrics.acc ~ 1", "~", None),
        (f"{'x' * 5000} = 1", f"{'x' * 80}…", None),
    ],
)
def test_the_word_that_is_wrong_is_named(maria: httpx.Client, filter: str, word: str, hint: str | None) -> None:
    found = maria.get(RUNS, params={"filter": filter}).json()
    assert (found["code"], found["details"]["word"]) == ("bad_request", word)
    assert (hint or "") in (found["hint"] or "")
    assert found["details"]["position"] == filter.index(word[:80])
