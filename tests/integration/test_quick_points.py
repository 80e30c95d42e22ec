"""The short way for points: it takes what the ordinary routes would take, and leaves them everything else."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from datetime import timedelta
from pathlib import Path

import httpx
import pytest

from millpond.db import tokens as token_rows
from millpond.db.direct import DirectConnection
from millpond.decide.point_batch import batch_of
from millpond.model.people import Role
from millpond.model.series import Points
from millpond.services.people.tokens import hash_secret
from millpond.services.runs.point_intake import LoggedPoints, write_group
from millpond.services.runs.reports import MOST_UNFOLDED
from millpond.testing.postgres import Postgres
from millpond.testing.server import RunningServer, running_server
from millpond.wire.points import MEDIA_TYPE, encode_points

RUNS = "/projects/default/runs"
LOG_METRIC = "/mlflow/default/api/2.0/mlflow/runs/log-metric"


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    with ExitStack() as stack:
        url = None
        if request.param == "postgres":
            postgres: Postgres = request.getfixturevalue("postgres")
            url = stack.enter_context(postgres.database())
        yield stack.enter_context(running_server(Path(tmp_path_factory.mktemp("server")), database_url=url))


@pytest.fixture
def token(server: RunningServer) -> str:
    """Of a member; used a moment ago, as every token of a training is."""
    if "maria" not in [user["name"] for user in server.admin.get("/users").json()["items"]]:
        server.user("maria", roles={"default": Role.MEMBER})
    secret = server.token_of("maria")
    server.client(secret).get("/projects")
    return secret


@pytest.fixture
def maria(server: RunningServer, token: str) -> httpx.Client:
    return server.client(token)


@pytest.fixture
def run(maria: httpx.Client) -> str:
    found: str = maria.post(RUNS, json={}).json()["id"]
    return found


def send(client: httpx.Client, run: str, sequence: int, points: dict[str, Points]) -> httpx.Response:
    content = encode_points("one", sequence, points)
    return client.post(f"{RUNS}/{run}/batch", content=content, headers={"Content-Type": MEDIA_TYPE})


def line(begin: int, end: int) -> Points:
    return Points.of(range(begin, end), map(float, range(begin, end)), range(begin, end))


def wrote(server: RunningServer, connection: DirectConnection, *group: LoggedPoints) -> list[bool]:
    return [run is not None for run in write_group(server.deps, connection, group)]


def is_taken(server: RunningServer, token: str, run: str, project: str = "default") -> bool:
    """True if the short way takes a point of this token."""
    connection = DirectConnection(server.deps.db)
    try:
        logged = LoggedPoints(hash_secret(token), project, run, batch_of({"loss": line(0, 1)}))
        return wrote(server, connection, logged) == [True]
    finally:
        connection.close()


def test_points_are_counted_once_and_summarised(maria: httpx.Client, run: str) -> None:
    odd = Points.of([7, 8, 9], [math.nan, math.inf, 0.5], [1, 2, 3])
    for _ in range(2):
        assert send(maria, run, 0, {"loss": line(0, 300), "odd": odd}).status_code == 204
    assert send(maria, run, 1, {"loss": line(300, 310)}).status_code == 204
    found = maria.get(f"{RUNS}/{run}").json()["summaries"]
    assert (found["loss"]["points"], found["loss"]["last"], found["loss"]["min"]) == (310, 309.0, 0.0)
    assert (found["odd"]["points"], found["odd"]["min"], found["odd"]["max"]) == (3, 0.5, "Infinity")
    series = {one["key"]: one for one in maria.get(f"{RUNS}/{run}/metrics").json()["items"]}
    assert series["loss"]["steps"] == list(range(310))
    assert series["odd"]["values"] == ["NaN", "Infinity", 0.5]


def test_many_writers_at_once_lose_nothing(server: RunningServer, token: str, maria: httpx.Client, run: str) -> None:
    def log(number: int) -> int:
        body = {"run_id": run, "key": "loss", "value": number, "step": number, "timestamp": 1}
        headers = {"Authorization": f"Bearer {token}"}
        return httpx.post(server.url + LOG_METRIC, json=body, headers=headers, timeout=30).status_code

    count = MOST_UNFOLDED + 50
    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(log, range(count))) == {200}
    found = maria.get(f"{RUNS}/{run}").json()["summaries"]["loss"]
    assert (found["points"], found["min"], found["max"], found["last_step"]) == (count, 0, count - 1, count - 1)
    (series,) = maria.get(f"{RUNS}/{run}/metrics").json()["items"]
    assert series["steps"] == list(range(count))


def test_a_right_is_asked_for_in_the_transaction_that_writes(server: RunningServer, token: str, run: str) -> None:
    assert is_taken(server, token, run)
    assert not is_taken(server, "mill_unknown", run)
    assert not is_taken(server, token, "nosuchrun")
    server.project("other")
    assert not is_taken(server, token, run, project="other")
    viewer = server.user("vera", roles={"default": Role.VIEWER})
    seen = str(viewer.headers["Authorization"]).partition(" ")[2]
    viewer.get("/projects")
    assert not is_taken(server, seen, run)
    assert send(viewer, run, 0, {"loss": line(0, 1)}).status_code == 403
    with server.deps.db.write() as tx:
        found = token_rows.find_by_hash(tx, hash_secret(token))
        assert found is not None
        token_rows.used(tx, found.id, server.deps.clock.now() - timedelta(hours=1))
    assert not is_taken(server, token, run), "its use is noted by the ordinary way"
    with server.deps.db.write() as tx:
        token_rows.delete_of_user(tx, found.user_id or "", found.id)
    assert not is_taken(server, token, run)
    assert send(server.client(token), run, 1, {"loss": line(0, 1)}).status_code == 401


def test_what_is_unusual_is_answered_by_the_ordinary_routes(server: RunningServer, token: str, run: str) -> None:
    maria = server.client(token)
    assert maria.delete(f"{RUNS}/{run}").status_code == 200
    assert not is_taken(server, token, run)
    headers = {"Authorization": f"Bearer {token}"}
    metric = {"run_id": run, "key": "a", "value": 1, "timestamp": 1}
    refused = httpx.post(server.url + LOG_METRIC, json=metric, headers=headers)
    assert (refused.status_code, refused.json()["error_code"]) == (409, "INVALID_STATE")
    bad = httpx.post(server.url + LOG_METRIC, json={"run_id": run, "key": "a", "value": "x"}, headers=headers)
    assert (bad.status_code, bad.json()["error_code"]) == (400, "INVALID_PARAMETER_VALUE")
    assert send(maria, "nosuchrun", 0, {"loss": line(0, 1)}).status_code == 404


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"[]\n",
        b'{"writer": "w", "sequence": 0, "series": [["a", 5]]}\nnot zstd',
        b'{"writer": "w", "sequence": 0, "series": [["a", 0]]}\n',
        b'{"writer": "w", "sequence": 0, "series": [["a", 1]], "more": 1}\n',
        b'{"writer": "", "sequence": 0, "series": [["a", 1]]}\n',
        encode_points("w", 0, {"a": line(0, 3)}).replace(b'["a",3]', b'["a",300]'),
        encode_points("w", 0, {"a" * 300: line(0, 1)}),
        encode_points("w", 0, {"a\0b": line(0, 1)}),
    ],
)
def test_bytes_that_are_no_points_are_refused(maria: httpx.Client, run: str, content: bytes) -> None:
    answer = maria.post(f"{RUNS}/{run}/batch", content=content, headers={"Content-Type": MEDIA_TYPE})
    assert (answer.status_code, answer.json()["code"]) == (422, "invalid")
    assert maria.get(f"{RUNS}/{run}").json()["summaries"] == {}


def test_one_that_fails_leaves_the_others_of_its_group(server: RunningServer, token: str, run: str) -> None:
    connection = DirectConnection(server.deps.db)
    wanted: Sequence[tuple[str, str]] = ((token, run), (token, "nosuchrun"), ("mill_unknown", run), (token, run))
    try:
        group = [
            LoggedPoints(hash_secret(t), "default", r, batch_of({"loss": line(n, n + 1)}))
            for n, (t, r) in enumerate(wanted)
        ]
        assert wrote(server, connection, *group) == [True, False, False, True]
    finally:
        connection.close()
    (series,) = server.client(token).get(f"{RUNS}/{run}/metrics").json()["items"]
    assert series["steps"] == [0, 3]


def test_a_batch_that_comes_again_is_left_to_the_ordinary_routes(
    server: RunningServer, token: str, maria: httpx.Client, run: str
) -> None:
    """With all of its group: nothing of it is written here."""
    connection = DirectConnection(server.deps.db)
    again, first = (LoggedPoints(hash_secret(token), "default", run, batch_of({"loss": line(0, 2)}), "w", 0),) * 2
    other = LoggedPoints(hash_secret(token), "default", run, batch_of({"loss": line(2, 3)}))
    try:
        assert wrote(server, connection, first) == [True]
        assert wrote(server, connection, other, again) == [False, False]
        assert wrote(server, connection, other) == [True], "the connection goes on"
    finally:
        connection.close()
    assert maria.get(f"{RUNS}/{run}").json()["summaries"]["loss"]["points"] == 3
