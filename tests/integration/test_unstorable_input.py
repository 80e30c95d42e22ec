"""What JSON and query strings can say and nothing can store: refused in words, wherever it stands."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from typing import Any

import httpx
import pytest

from millpond.testing.builders_work import add_agent, add_volume
from millpond.testing.clock import FakeClock
from millpond.testing.postgres import Postgres
from millpond.testing.server import RunningServer, running_server
from tests.integration.test_access_all_routes import CALLS, EXISTING, ROLES, Call, make_project

pytestmark = pytest.mark.xdist_group("unstorable input")

HALF, LARGE = "\ud800", 1 << 70
MOMENTS = ("9999-12-31T23:59:59-23:00", "0001-01-01T00:00:00+23:00")
KEYS: tuple[object, ...] = (HALF, "a\0b", True, LARGE, [MOMENTS[0], "x"], [MOMENTS[1], "x"], [MOMENTS[0][:19], HALF])


# Databases differ in what they hold: zero bytes, numbers of more than 32 bits in some columns.
@pytest.fixture(scope="module", params=["sqlite", pytest.param("postgresql", marks=pytest.mark.long)])
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    with ExitStack() as closing:
        url: str | None = None
        if request.param == "postgresql":
            postgres: Postgres = request.getfixturevalue("postgres")
            url = closing.enter_context(postgres.database())
        directory = tmp_path_factory.mktemp("server")
        running = closing.enter_context(running_server(directory, clock=FakeClock(), database_url=url))
        for name in ROLES:
            running.user(name)
        yield running


@pytest.fixture(scope="module")
def clients(server: RunningServer) -> Mapping[str, httpx.Client]:
    agent = add_agent(server.deps.db)
    make_project(server, agent.agent, add_volume(server.deps.db).id)
    return {"user": server.admin, "agent": server.client(agent.token)}


def test_queries(clients: Mapping[str, httpx.Client], server: RunningServer) -> None:
    for call in CALLS:
        # A stream of events has no end.
        names = [] if "events" in call.route.path else [one.name for one in call.route.dependant.query_params]
        for name in names if call.method == "GET" else []:
            sent = [str(LARGE), str(-LARGE), "\0", "x" * 500]
            sent += [_cursor(key) for key in KEYS] if name == "cursor" else []
            for value in sent:
                check(call, clients["user"].get(_path(call), params={name: value}))


def test_bodies(clients: Mapping[str, httpx.Client], server: RunningServer) -> None:
    schemas = server.app.openapi()["components"]["schemas"]
    for call in CALLS:
        field = call.route.body_field
        schema = schemas.get(getattr(getattr(field, "field_info", None), "annotation", type(None)).__name__)
        if schema is None or call.method == "DELETE":
            continue
        kinds = {kind.value for kind in call.needs.kinds}
        client = clients["agent" if kinds == {"agent"} else "user"]
        for body in _bodies(schema, schemas):
            sent = json.dumps(body).encode()
            check(
                call,
                client.request(call.method, _path(call), content=sent, headers={"content-type": "application/json"}),
            )


def test_half_a_character_is_named_and_whole_ones_pass(clients: Mapping[str, httpx.Client]) -> None:
    jobs = f"/projects/{EXISTING['project']}/jobs"
    for written in (
        b'{"command": ["\\ud83d"]}',
        b'{"command": ["\xed\xa0\xbd"]}',
        b'{"command": ["x"], "tags": {"\\uDE42": ""}}',
    ):
        answer = clients["user"].post(jobs, content=written, headers={"content-type": "application/json"})
        assert (answer.status_code, "unpaired surrogate" in answer.json()["detail"]) == (422, True), answer.text
    whole = b'{"command": ["\\ud83d\\ude42", "\\\\ud83d"]}'
    answer = clients["user"].post(jobs, content=whole, headers={"content-type": "application/json"})
    assert (answer.status_code, answer.json()["command"]) == (201, ["🙂", "\\ud83d"])
    assert clients["user"].get("/jobs").status_code == 200


def test_nul_is_named_wherever_it_stands(clients: Mapping[str, httpx.Client]) -> None:
    jobs = f"/projects/{EXISTING['project']}/jobs"
    user = clients["user"]
    for answer in (
        user.post(jobs, json={"command": ["x"], "experiment": "a\0b"}),
        user.post(jobs, json={"command": ["x"], "tags": {"a\0b": ""}}),
        user.get("/jobs", params={"experiment": "\0"}),
        user.get("/projects/a%00b"),
    ):
        assert (answer.status_code, "NUL character" in answer.json()["detail"]) == (422, True), answer.text
    answer = user.post(jobs, json={"command": ["\\u0000"]})
    assert (answer.status_code, answer.json()["command"]) == (201, ["\\u0000"]), "a backslash and five letters"


def check(call: Call, answer: httpx.Response) -> None:
    # The commit of this world has no tree in the lake: that it is damaged is told as such, with words of its own.
    code = answer.json()["code"] if answer.status_code >= 400 else ""
    is_told = answer.status_code < 500 or code == "corrupt"
    assert is_told, (str(call), answer.request.url, answer.request.content[:300], answer.text)
    if code:
        assert answer.headers["content-type"] == "application/problem+json", str(call)


def _path(call: Call) -> str:
    return re.sub(r"\{(\w+)(:path)?\}", lambda match: EXISTING[match[1]], call.route.path)


def _cursor(key: object) -> str:
    return base64.urlsafe_b64encode(json.dumps(key).encode()).decode().rstrip("=")


def _bodies(schema: Mapping[str, Any], schemas: Mapping[str, Any]) -> Iterator[Any]:
    """What fits the schema but for one value, for each value it has."""
    required = {name: _fitting(schema["properties"][name], schemas) for name in schema.get("required", ())}
    for name, one in schema.get("properties", {}).items():
        for value in _wrong(one, schemas):
            yield {**required, name: value}


def _fitting(schema: Mapping[str, Any], schemas: Mapping[str, Any]) -> Any:
    schema = _resolved(schema, schemas)
    if "anyOf" in schema:
        return _fitting(schema["anyOf"][0], schemas)
    known = {"array": [], "integer": schema.get("minimum", 1), "number": 1.0, "boolean": False, "string": "0" * 64}
    if schema.get("type") == "object":
        return {name: _fitting(schema["properties"][name], schemas) for name in schema.get("required", ())}
    if schema.get("type") == "array" and schema.get("minItems"):
        return [_fitting(schema["items"], schemas)]
    return schema["enum"][0] if "enum" in schema else MOMENTS[0][:19] if "format" in schema else known[schema["type"]]


def _wrong(schema: Mapping[str, Any], schemas: Mapping[str, Any]) -> Iterator[Any]:
    schema = _resolved(schema, schemas)
    for one in schema.get("anyOf", ()):
        yield from _wrong(one, schemas)
    if schema.get("type") == "string":
        yield from (HALF, "a\0b", *(MOMENTS if "format" in schema else ()))
    elif schema.get("type") in ("integer", "number"):
        yield from (LARGE, -LARGE, float("nan"), float("inf"))
    elif schema.get("type") == "array":
        yield from ([value] for value in _wrong(schema["items"], schemas))
    elif schema.get("type") == "object" and "properties" in schema:
        yield from _bodies(schema, schemas)
    elif schema.get("type") == "object":
        yield from ({"KEY": value} for value in (HALF, "a\0b", LARGE, float("nan")))


def _resolved(schema: Mapping[str, Any], schemas: Mapping[str, Any]) -> Mapping[str, Any]:
    found: Mapping[str, Any] = schemas[schema["$ref"].rpartition("/")[2]] if "$ref" in schema else schema
    return found
