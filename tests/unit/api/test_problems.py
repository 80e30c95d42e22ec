"""Whatever goes wrong is answered with the same kind of document."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi import APIRouter

from millpond.api.access import PUBLIC
from millpond.errors import DoesNotFit
from millpond.testing.server import RunningServer, running_server

JSON = {"Content-Type": "application/json"}


def problem(response: httpx.Response) -> dict[str, Any]:
    """The document, once it is certain that it is one."""
    assert response.headers["Content-Type"] == "application/problem+json"
    body: dict[str, Any] = response.json()
    assert body["status"] == response.status_code
    assert body["request_id"] == response.headers["X-Request-Id"]
    assert body["title"] and body["detail"] and body["code"]
    return body


def test_not_signed_in(server: RunningServer) -> None:
    response = server.client().get("/projects")
    assert response.status_code == 401
    assert problem(response)["code"] == "not_signed_in"
    assert response.headers["WWW-Authenticate"] == "Bearer"


def test_the_id_that_a_client_gave_its_request_is_kept(server: RunningServer) -> None:
    answer = server.admin.get("/nothing", headers={"X-Request-Id": "from-proxy.0001"})
    assert problem(answer)["request_id"] == "from-proxy.0001"
    for refused in ("short", "has space in it", "x" * 65, 'quote"quote'):
        assert problem(server.admin.get("/nothing", headers={"X-Request-Id": refused}))["request_id"] != refused


def test_no_such_route(server: RunningServer) -> None:
    response = server.admin.get("/nothing")
    assert response.status_code == 404
    assert problem(response)["code"] == "not_found"


def test_wrong_method(server: RunningServer) -> None:
    response = server.admin.put("/projects")
    assert response.status_code == 405
    assert problem(response)["code"] == "bad_request"


@pytest.mark.parametrize("headers", [JSON, {"Content-Type": "text/plain"}, {}])
def test_body_that_is_not_json(server: RunningServer, headers: dict[str, str]) -> None:
    response = server.admin.post("/projects", content=b"{not json", headers=headers)
    assert response.status_code == 400
    assert problem(response)["detail"] == "The request body is not JSON."


def test_wrong_shape_names_the_fields_and_not_what_was_sent(server: RunningServer) -> None:
    response = server.admin.post("/users", json={"password": "hunter2hunter2", "surprise": 1})
    assert response.status_code == 422
    body = problem(response)
    assert body["code"] == "invalid"
    assert {item["field"] for item in body["details"]["fields"]} == {"name", "surprise"}
    assert "hunter2" not in response.text


def test_wrong_query(server: RunningServer) -> None:
    assert problem(server.admin.get("/projects", params={"limit": 0}))["code"] == "invalid"
    assert problem(server.admin.get("/projects", params={"cursor": "nonsense"}))["code"] == "bad_request"


def test_nearest_names_are_a_hint(server: RunningServer) -> None:
    body = problem(server.admin.get("/projects/defualt"))
    assert body["hint"] == "Did you mean 'default'?"
    assert body["details"]["near"] == ["default"]


def a_router() -> APIRouter:
    router = APIRouter()

    @router.get("/breaks", dependencies=[PUBLIC])
    def breaks() -> None:
        raise RuntimeError("the secret reason")

    @router.get("/does-not-fit", dependencies=[PUBLIC])
    def does_not_fit() -> None:
        raise DoesNotFit("No room.", hint="Make some.", missing_bytes=5)

    return router


def test_unexpected_error_is_logged_and_not_shown(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with running_server(tmp_path, routers=[a_router()]) as server, caplog.at_level(logging.ERROR):
        response = server.client().get("/breaks")
    assert response.status_code == 500
    body = problem(response)
    assert body["code"] == "internal"
    assert "secret reason" not in response.text
    assert body["request_id"] in caplog.text and "the secret reason" in caplog.text


def test_our_own_errors_carry_code_hint_and_details(tmp_path: Path) -> None:
    with running_server(tmp_path, routers=[a_router()]) as server:
        response = server.client().get("/does-not-fit")
    body = problem(response)
    assert (response.status_code, body["code"], body["hint"]) == (409, "does_not_fit", "Make some.")
    assert body["details"] == {"missing_bytes": 5}


def test_openapi_says_how_errors_look_and_who_may_call(server: RunningServer) -> None:
    schema = server.client().get("/openapi.json").json()
    for path, operations in schema["paths"].items():
        for operation in operations.values():
            content = operation["responses"]["default"]["content"]
            assert content == {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}}, path
            assert operation["x-mill-access"], path
    assert "HTTPValidationError" not in schema["components"]["schemas"]
    assert schema["paths"]["/api/v1/projects/{project}"]["get"]["operationId"] == "get_project"
