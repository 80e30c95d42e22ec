"""Every route that changes something records it: a walk from each route to `audit.record`, through the code itself."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import millpond
from millpond.api.server import api_routes

SOURCE = Path(millpond.__file__).parent.parent
WALKED = ("millpond.services", "millpond.api")
RECORD = "millpond.services.people.audit.record"
# Made on the way by whoever needs it first, also by those who only read: that is no record of what the route does.
BY_THE_WAY = {
    "millpond.services.datasets.datasets.ensure_system_dataset",
    "millpond.services.runs.artifact_commits.gather_named",
}
READS = "answers a question; nothing is changed"
STEP = "a step of an upload; the commit that it ends in is recorded"
REPORTS = "a job or an agent reports what goes on there, many times a minute"
RECORDS_NOTHING = {
    "POST /agents/sync": REPORTS,
    "POST /agents/tests/{test}": "the result of a test that somebody asked for, which is recorded",
    "POST /agents/tests/{test}/urls": READS,
    "POST /agents/request-logs/{endpoint}": REPORTS,
    "PUT /placements/{placement}/log": REPORTS,
    "POST /placements/{placement}/usage": REPORTS,
    "POST /projects/{project}/runs/{run}/batch": REPORTS,
    "POST /projects/{project}/runs/{run}/artifacts": STEP,
    "PUT /projects/{project}/runs/{run}/artifacts/{path:path}": STEP,
    "POST /projects/{project}/uploads": STEP,
    "POST /projects/{project}/uploads/{upload}/missing": READS,
    "POST /projects/{project}/uploads/{upload}/packs": STEP,
    "POST /projects/{project}/uploads/{upload}/packs/written": STEP,
    "POST /projects/{project}/uploads/{upload}/pages": STEP,
    "PUT /projects/{project}/uploads/{upload}/pages/bytes": STEP,
    "PUT /projects/{project}/uploads/{upload}/packs/{pack}/bytes": STEP,
    "PUT /projects/{project}/uploads/{upload}/pages/{page}/bytes": STEP,
    "POST /sign-in/link/{provider}": "begins at the provider; the link is recorded when somebody comes back",
    "POST /login-grants": "a code of one minute; the token that it is redeemed for is recorded",
    "POST /device-logins": "a code; who confirms or denies it is recorded",
    "POST /auth/providers/{provider}/test": READS,
    "POST /auth/rules/test": READS,
    "POST /plan:what-if": READS,
    "PATCH /notifications/choices": "what somebody wants to hear of, for themselves alone",
    "POST /notifications/read": "what somebody has read, for themselves alone",
    "POST /notifications/channels/{channel}/test": "sends a test message; nothing is changed",
    "POST /notifications/smtp/test": "sends a test message; nothing is changed",
    "POST /projects/{project}/channels/{channel}/test": "sends a test message; nothing is changed",
    "POST /projects/{project}/jobs/dry-run": READS,
    "POST /projects/{project}/searches/dry-run": READS,
    "POST /projects/{project}/runs/metrics": READS,
    "POST /projects/{project}/runs/compare": READS,
    "POST /projects/{project}/workspaces/plan": READS,
    "POST /projects/{project}/datasets/{dataset}/commits/{ref:path}/preview": READS,
    "POST /projects/{project}/datasets/{dataset}/commits/{ref:path}/urls": READS,
    "POST /projects/{project}/connections/{connection}/test": READS,
    "POST /projects/{project}/connections/{connection}/urls": READS,
    "POST /projects/{project}/endpoints/{endpoint}/v2/{path:path}": "a request to a model: the request log has it",
    "POST /projects/{project}/mirrors/plan": READS,
    "POST /projects/{project}/mirrors/{mirror}/plan": READS,
    "POST /projects/{project}/flows/{flow}/backfills:plan": READS,
    "POST /projects/{project}/flows:validate": READS,
}


class Module:
    """Functions and classes of a module, and what its names stand for."""

    def __init__(self, path: Path, name: str) -> None:
        self.name = name
        tree = ast.parse(path.read_text("utf-8"))
        self.names = {
            alias.asname or alias.name: f"{node.module}.{alias.name}"
            for node in ast.walk(tree)
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("millpond")
            for alias in node.names
        }
        kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
        self.parts = {node.name: node for node in tree.body if isinstance(node, kinds)}

    def uses(self, part: str) -> Iterator[str]:
        for node in ast.walk(self.parts[part]):
            if isinstance(node, ast.Name):
                found = f"{self.name}.{node.id}" if node.id in self.parts else self.names.get(node.id)
                if found:
                    yield found
            elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in self.names:
                yield f"{self.names[node.value.id]}.{node.attr}"


@cache
def module(name: str) -> Module | None:
    path = SOURCE / Path(*name.split("."))
    found = next((one for one in (path.with_suffix(".py"), path / "__init__.py") if one.is_file()), None)
    return Module(found, name) if found else None


def records(function: str) -> bool:
    waiting, seen = [function], set(BY_THE_WAY)
    while waiting:
        one = waiting.pop()
        if one in seen:
            continue
        seen.add(one)
        if one.startswith(RECORD):
            return True
        home, _, part = one.rpartition(".")
        found = module(home) if home.startswith(WALKED) else None
        if found is not None and part in found.parts:
            waiting += found.uses(part)
    return False


def test_every_change_is_recorded_but_for_those_with_a_reason() -> None:
    silent = {
        f"{method} {route.path}"
        for route in api_routes()
        for method in (route.methods or set()) - {"GET", "HEAD"}
        if not records(f"{route.endpoint.__module__}.{route.endpoint.__name__}")
    }
    assert sorted(silent - RECORDS_NOTHING.keys()) == [], "record it, or say here why it is not"
    assert sorted(RECORDS_NOTHING.keys() - silent) == [], "these record something by now"


def test_the_walk_would_find_a_route_that_records_nothing() -> None:
    assert records("millpond.services.people.users.create")
    assert not records("millpond.services.people.users.list_users")
    assert not records("millpond.services.find.find")
