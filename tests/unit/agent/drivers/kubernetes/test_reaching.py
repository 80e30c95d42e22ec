"""Whether the agent may run programs in pods: the API server is asked, once for each way to open a stream."""

from __future__ import annotations

import json

import httpx
import pytest

from millpond.agent.drivers.kubernetes.access import Access
from millpond.agent.drivers.kubernetes.api import KubeApi
from millpond.agent.drivers.kubernetes.reaching import may_enter_pods


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
