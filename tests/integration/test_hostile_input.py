"""Every route of the API with values that nobody means: the answer says what is wrong, never 'the server failed'.

One value at a time is hostile, in a path, a query or a body; everything else is as it should be.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from typing import Any
from urllib.parse import quote

import httpx
import pytest

from millpond.client.datasets import create_dataset
from millpond.client.edits import put_files
from millpond.client.http import Api
from millpond.testing.postgres import Postgres
from millpond.testing.server import ADMIN, RunningServer, running_server
from tests.integration.test_access_all_routes import EXISTING

pytestmark = pytest.mark.long

Call = tuple[str, str, Mapping[str, Any]]
JSON = {"Content-Type": "application/json"}
LAKE = {"datasets", "commits", "files", "uploads", "lake", "connections", "sources", "external", "projects", "caches"}


def cursor(key: object) -> str:
    return base64.urlsafe_b64encode(json.dumps(key).encode()).decode().rstrip("=")


TEXTS = [
    "", " ", "\0", "a\0b", "..", "../../x", "\n", "é" * 300, "x" * 5000, "-1", "0", "9" * 30, "9" * 5000, "1e9", "NaN",
    "%", "%zz", "'\"; DROP TABLE dataset --", "\u202e", "f" * 64, "\ud800", "true", "[]", "main@{1}", "*", "2" * 16,
]  # fmt: skip
CURSORS = [
    "x", "====", cursor("\0"), cursor("\ud800"), cursor(-1), cursor(1 << 80), cursor(["\0", "\0"]), cursor([]),
    cursor({"a": 1}), cursor(None), cursor(1.5), cursor(["0001-01-01T00:00:00+14:00", "x"]),
    cursor(["9999-12-31T23:59:59-14:00", "x"]), cursor(["2026-01-01T00:00:00", "x"]), cursor([True, False]),
    cursor(["f" * 64] * 20), cursor("zz"), "[" * 900,
]  # fmt: skip
VALUES: list[Any] = [
    None, True, -1, 0, 1 << 70, 1.5, "", "\0", "\ud800", "x" * 100_000, [], [None], ["\0"], ["\ud800"], {},
    {"\0": "\0"}, [[[]]], "../../x", "f" * 64, "0" * 32,
]  # fmt: skip


@pytest.fixture(scope="module", params=["postgres", "sqlite"])
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    root = tmp_path_factory.mktemp("hostile")
    with ExitStack() as stack:
        url = None
        if request.param == "postgres":
            postgres: Postgres = request.getfixturevalue("postgres")
            url = stack.enter_context(postgres.database())
        running = stack.enter_context(running_server(root / "server", database_url=url))
        file = root / "a.txt"
        file.write_bytes(b"content")
        with Api(running.url, running.token_of(ADMIN)) as api:
            create_dataset(api, "default", "xray")
            put_files(api, "default", "xray", {"a.txt": file, "d/b.txt": file})
        yield running


def calls(document: Mapping[str, Any], only: set[str]) -> list[Call]:
    """Method, path and operation; what removes things comes last."""
    found = [
        (method.upper(), path, operation)
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
        if set(operation.get("tags", ())) & only
    ]
    return sorted(found, key=lambda item: (item[0] == "DELETE", item[1]))


NAMES = EXISTING | {"project": "default"}


def filled(path: str, names: Mapping[str, str]) -> str:
    return re.sub(r"\{(\w+)\}", lambda match: quote(names[match[1]], safe="", errors="surrogatepass"), path)


def body_of(operation: Mapping[str, Any], schemas: Mapping[str, Any]) -> Mapping[str, Any] | None:
    content = operation.get("requestBody", {}).get("content", {}).get("application/json")
    return None if content is None else _resolved(content["schema"], schemas)


def _resolved(schema: Mapping[str, Any], schemas: Mapping[str, Any]) -> Mapping[str, Any]:
    return schemas[schema["$ref"].rpartition("/")[2]] if "$ref" in schema else schema


def a_value(schema: Mapping[str, Any], schemas: Mapping[str, Any], name: str, depth: int = 0) -> Any:
    """Something that has the right shape."""
    schema = _resolved(schema, schemas)
    for choice in ("anyOf", "oneOf", "allOf"):
        if choice in schema:
            return a_value(schema[choice][0], schemas, name, depth)
    if "enum" in schema:
        return schema["enum"][0]
    kind = schema.get("type")
    if kind == "object":
        wanted = schema.get("required", ())
        return {key: a_value(schema["properties"][key], schemas, key, depth + 1) for key in wanted} if depth < 4 else {}
    known = {"dataset": "xray", "branch": "main", "ref": "main", "at": "main", "name": "new", "path": "a.txt"}
    return {
        "string": known.get(name, "x"),
        "integer": 1,
        "number": 1.0,
        "boolean": False,
        "array": [],
        "null": None,
    }.get(str(kind), "x")


def hostile_requests(call: Call, schemas: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Paths with queries, and the rest of the request."""
    _, path, operation = call
    body = body_of(operation, schemas)
    right = a_value(body, schemas, "") if body is not None else None
    plain: dict[str, Any] = {} if body is None else {"content": json.dumps(right), "headers": JSON}
    for name in re.findall(r"\{(\w+)\}", path):
        for text in TEXTS:
            if text.strip("/."):
                yield filled(path, NAMES | {name: text}), plain
    for parameter in operation.get("parameters", ()):
        if parameter["in"] == "query":
            for text in CURSORS if parameter["name"] == "cursor" else TEXTS:
                value = quote(text, safe="", errors="surrogatepass")
                yield f"{filled(path, NAMES)}?{parameter['name']}={value}", plain
        elif parameter["in"] == "header" and parameter["name"].lower() == "range":
            for text in ("bytes=0-0", "bytes=-1", f"bytes={'9' * 5000}-", f"bytes=-{'9' * 5000}", "bytes=5-1", "x"):
                yield f"{filled(path, NAMES)}?path=a.txt", {"headers": {"Range": text}}
    if body is None:
        return
    for value in VALUES:
        yield filled(path, NAMES), {"content": json.dumps(value), "headers": JSON}
    for raw in (b"{", b"\xff", b"[" * 100_000, b'{"a": NaN}', b""):
        yield filled(path, NAMES), {"content": raw, "headers": JSON}
    for name in body.get("properties", ()):
        for value in VALUES:
            yield filled(path, NAMES), {"content": json.dumps({**right, name: value}), "headers": JSON}


def test_no_value_makes_the_server_fail(server: RunningServer) -> None:
    failed: list[str] = []
    with httpx.Client(base_url=server.url, headers=server.admin.headers, trust_env=False, timeout=30) as client:
        document = server.app.openapi()
        schemas = document["components"]["schemas"]
        for call in calls(document, LAKE):
            if "/events" in call[1]:
                continue
            for path, more in hostile_requests(call, schemas):
                try:
                    answer = client.request(call[0], path, **more)
                except httpx.InvalidURL:
                    continue
                told = answer.headers.get("content-type", "")
                if answer.status_code == 500 or (answer.status_code >= 400 and "problem+json" not in told):
                    failed.append(f"{answer.status_code} {call[0]} {path[:200]} {str(more.get('content'))[:200]}")
    assert failed == [], "\n".join(failed[:50])
