"""Whether the agent may run programs in pods: the API server is asked, once for each way to open a stream; and in
which pod, asked when somebody wants to."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest

from millpond.agent.drivers.kubernetes.access import Access
from millpond.agent.drivers.kubernetes.api import KubeApi
from millpond.agent.drivers.kubernetes.tunnel import may_enter_pods, pod_that_runs


def an_api(allowed: set[str]) -> KubeApi:
    def answer(request: httpx.Request) -> httpx.Response:
        asked = json.loads(request.content)["spec"]["resourceAttributes"]
        assert (asked["resource"], asked["subresource"], asked["namespace"]) == ("pods", "exec", "jobs")
        return httpx.Response(201, json={"status": {"allowed": asked["verb"] in allowed}})

    access = Access("https://cluster.test", False, lambda: None, "jobs")
    return KubeApi(access, httpx.MockTransport(answer))


@pytest.mark.parametrize(
    ("allowed", "may"), [({"get", "create"}, True), ({"get"}, False), ({"create"}, False), (set(), False)]
)
def test_both_verbs_are_needed(allowed: set[str], may: bool) -> None:
    assert may_enter_pods(an_api(allowed), "jobs") is may


def test_namespaces_of_projects_are_tried() -> None:
    assert may_enter_pods(an_api(set()), "mill-{project}")


def a_pod(name: str, phase: str, second: int) -> dict[str, Any]:
    made = f"2026-11-16T10:00:{second:02}Z"
    return {"metadata": {"name": name, "creationTimestamp": made}, "status": {"phase": phase}}


@pytest.mark.parametrize(
    ("pods", "path"),
    [
        ([], None),
        ([a_pod("first", "Failed", 1)], None),
        ([a_pod("second", "Running", 2), a_pod("first", "Failed", 1)], "/pods/second"),
        ([a_pod("new", "Running", 2), a_pod("old", "Running", 1)], "/pods/new"),
    ],
)
def test_the_newest_pod_that_is_not_over_is_asked_for(pods: list[dict[str, Any]], path: str | None) -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        assert (request.url.path, request.url.params["labelSelector"]) == ("/pods", "of=it")
        return httpx.Response(200, json={"metadata": {}, "items": pods})

    api = KubeApi(Access("https://cluster.test", False, lambda: None, "jobs"), httpx.MockTransport(answer))
    assert pod_that_runs(api, "/pods", "of=it") == path
