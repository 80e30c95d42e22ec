"""Flows in a lake without its database: versions, code and components come back, and run."""

from __future__ import annotations

from pathlib import Path

from millpond.blobs.local import LocalStore
from millpond.blobs.signing import LocalSigner
from millpond.model.people import Role
from millpond.services.flows import saving, starting
from millpond.services.flows.bundle import FILE, Bundle
from millpond.services.flows.starting import StartRun
from millpond.services.flows.triggers import triggers
from millpond.services.lake import reindex
from millpond.testing.builders_data import a_commit, an_actor, the_project
from millpond.testing.server import SECRET
from tests.integration.lost_database import a_server, an_empty_server

TEXT = """schema: millpond.flow/1
name: words
description: %s
steps:
  raw: {dataset: xray}
  use: {command: [python, use.py], code: ./steps, inputs: {data: "${steps.raw}"}}
triggers: [{type: cron, cron: "0 3 * * *"}]
"""


def bundle(description: str, more: str = "") -> Bundle:
    return Bundle({FILE: (TEXT % description + more).encode(), "steps/use.py": b"print()"})


def test_flows_and_their_versions_come_back(tmp_path: Path) -> None:
    store = LocalStore(tmp_path / "lake", LocalSigner(SECRET))
    with a_server(tmp_path / "lost", store) as lost:
        project, maria = the_project(lost), an_actor(lost, "maria", default=Role.MEMBER)
        a_commit(lost, {"a": b"1"})
        saved = [
            saving.save(lost, maria, project, "words", one)[0].version
            for one in (bundle("first"), bundle("second"), bundle("second", "ui: {use: [1, 2]}\n"))
        ]
        gone = Bundle({FILE: (TEXT % "x").replace("name: words", "name: gone").encode(), "steps/use.py": b""})
        saving.save(lost, maria, project, "gone", gone)
        saving.remove(lost, maria, project, "gone")
    assert [one.number for one in saved] == [1, 2, 2]

    with an_empty_server(tmp_path / "new", store) as deps:
        assert reindex.reindex(deps).problems == []
        project = the_project(deps)
        listed = saving.list_all(deps, project, limit=10, cursor=None).items
        assert [(one.flow.name, one.flow.description, one.flow.newest) for one in listed] == [("words", "second", 2)]
        versions = saving.versions(deps, project, "words")
        assert [(one.number, one.digest, one.commit_id, one.text, one.steps, one.saved_by) for one in versions] == [
            (one.number, one.digest, one.commit_id, one.text, 2, "maria") for one in (saved[2], saved[0])
        ]
        assert saving.bundle_of(deps, project, versions[1]).files["steps/use.py"] == b"print()"

        assert [one.trigger.settings for one in triggers.list_all(deps, project)] == [{"cron": "0 3 * * *"}]

        robin = an_actor(deps, "robin", default=Role.MEMBER)
        run = starting.start(deps, robin, project, "words", StartRun(version=1))
        assert (run.number, run.version, run.run_as) == (1, 1, "maria")
        again, is_new = saving.save(deps, robin, project, "words", bundle("third"), expected=2)
        assert is_new and again.version.number == 3, "numbers go on"
