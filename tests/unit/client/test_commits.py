from __future__ import annotations

from typing import Any

import pytest

from millpond.client.commits import branch_head, create_commit
from millpond.client.http import Api
from millpond.errors import RefMoved, Unavailable
from millpond.wire.data import CommitCreate
from tests.unit.client.fake_server import FakeServer, Received, problem

REQUEST = CommitCreate(upload="u1", tree="t1", branch="main", expected="c0", message="second")


class Branch:
    """A branch whose server commits, but may lose its answers: each is `lost`, `refused` or given."""

    def __init__(self, server: FakeServer, answers: list[str]) -> None:
        self.head = a_commit("c0", tree="t0", parents=[], message="first")
        self.answers = answers
        base = "/projects/vision/datasets/xray"
        server.on("POST", f"{base}/commits", self._commit)
        server.on("GET", f"{base}/refs", lambda r: {"items": [self._ref()], "next": None})
        server.on("GET", f"{base}/commits/.+", lambda r: self.head)

    def _ref(self) -> dict[str, str]:
        return {"name": "main", "type": "branch", "commit_id": self.head["id"], "moved_at": "2026-11-15T20:00:00Z"}

    def _commit(self, received: Received) -> Any:
        answer = self.answers.pop(0) if self.answers else "given"
        wanted = received.json
        if answer == "away":
            return problem(503, "unavailable", "Starting.")
        if wanted["expected"] != self.head["id"]:
            return problem(409, "ref_moved", "Somebody committed first.")
        self.head = a_commit("c1", tree=wanted["tree"], parents=[wanted["expected"]], message=wanted["message"])
        return problem(503, "unavailable", "Going down.") if answer == "lost" else self.head


def a_commit(commit: str, *, tree: str, parents: list[str], message: str) -> dict[str, Any]:
    return {
        "id": commit,
        "dataset": "vision/xray",
        "dataset_id": "d1",
        "project_id": "p1",
        "tree": tree,
        "parents": parents,
        "author": "maria",
        "time": "2026-11-15T20:00:00Z",
        "message": message,
        "files": 1,
        "bytes": 1,
    }


@pytest.mark.parametrize(
    "answers", [["given"], ["lost"], ["away", "given"], ["away", "lost"], ["away", "away", "given"]]
)
def test_a_commit_is_made_once_whatever_becomes_of_the_answer(server: FakeServer, answers: list[str]) -> None:
    Branch(server, list(answers))
    with Api(server.url, sleep=lambda seconds: None) as api:
        assert branch_head(api, "vision", "xray", "main"), "one that has answered is worth waiting for"
        assert create_commit(api, "vision", "xray", REQUEST).id == "c1"
    asked_again = answers[-1] == "lost"  # and told that the branch has moved
    assert len(server.calls("POST", ".*/commits")) == len(answers) + asked_again


def test_a_server_that_stays_away_is_said(server: FakeServer) -> None:
    Branch(server, ["away"] * 3)
    with Api(server.url, patience=0) as api, pytest.raises(Unavailable):
        create_commit(api, "vision", "xray", REQUEST)


def test_somebody_elses_commit_is_a_conflict(server: FakeServer) -> None:
    branch = Branch(server, ["given"])
    branch.head = a_commit("c9", tree="t9", parents=["c0"], message="theirs")
    with Api(server.url) as api, pytest.raises(RefMoved):
        create_commit(api, "vision", "xray", REQUEST)
