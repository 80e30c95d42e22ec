"""An agent for workspaces that copies files: for tests of the server, its command line and its library.

disk = WorkspaceDisk(server, agent, tmp_path)
disk.carry_out()          # does everything that is wanted now, and tells of it
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path

from millpond.client.commits import find_commit
from millpond.client.http import Api
from millpond.client.job_commits import JobBranch, commit_directory
from millpond.client.transfer import ApiDownloader
from millpond.lake.fetch import fetch_tree
from millpond.model.agent import Agent
from millpond.model.names import WORKSPACE_DATASET
from millpond.services.computes import workspaces
from millpond.testing.server import RunningServer
from millpond.wire.workspaces import (
    DesiredSnapshot,
    DesiredSource,
    DesiredWorkspace,
    SnapshotSeen,
    WorkspaceSeen,
)


@dataclass
class WorkspaceDisk:
    """The directories of a volume, and what its agent does there."""

    server: RunningServer
    agent: Agent
    root: Path
    # Snapshots stay near while this is set; what each report adds to those of workspaces, by name.
    keeps: bool = True
    says: dict[str, dict[str, object]] = field(default_factory=dict)
    # Moments that it told of, so that each is later than the one before.
    looks: int = 0

    def tree(self, workspace_id: str) -> Path:
        return self.root / workspace_id / "tree"

    def snapshot(self, workspace_id: str, number: int) -> Path:
        return self.root / workspace_id / "snapshots" / str(number)

    def wanted(self) -> list[DesiredWorkspace]:
        deps = self.server.deps
        with deps.db.read() as tx:
            return workspaces.desired(tx, deps, self.agent)

    def carry_out(self, rounds: int = 5) -> list[DesiredWorkspace]:
        """Do what is wanted, tell of it, and look again, until nothing is left; what was wanted first."""
        first = self.wanted()
        for _ in range(rounds):
            if not (found := self.wanted()):
                break
            self.tell([self._do(one) for one in found])
        return first

    def tell(self, seen: list[WorkspaceSeen]) -> None:
        workspaces.observe(self.server.deps, self.agent, seen)

    def _do(self, wanted: DesiredWorkspace) -> WorkspaceSeen:
        if wanted.want == "absent":
            shutil.rmtree(self.root / wanted.id, ignore_errors=True)
            return WorkspaceSeen(id=wanted.id, attempt=wanted.attempt, state="absent")
        tree, restored = self.tree(wanted.id), 0
        if not tree.exists():
            self._make(wanted, wanted.source, tree)
        taken = [self._take(wanted, one) for one in wanted.snapshots]
        if wanted.restore is not None:
            shutil.rmtree(tree)
            self._make(wanted, wanted.restore.source, tree)
            restored = wanted.restore.attempt
        files = [one for one in tree.rglob("*") if one.is_file()]
        told: dict[str, object] = {
            "how": wanted.how,
            "consistency": "per-file",
            "files": len(files),
            "unique_bytes": sum(one.stat().st_size for one in files),
            "shared_bytes": 0,
            "measured_at": self._now(),
            "restored": restored,
            "snapshots": taken,
        }
        said = self.says.get(wanted.name, {})
        return WorkspaceSeen.model_validate(
            {"id": wanted.id, "attempt": wanted.attempt, "state": "ready", **told, **said}
        )

    def _make(self, wanted: DesiredWorkspace, source: DesiredSource, tree: Path) -> None:
        match source.kind:
            case "workspace":
                shutil.copytree(self.tree(source.workspace_id), tree)
            case "snapshot":
                shutil.copytree(self.snapshot(source.workspace_id, source.number), tree)
            case "commit":
                tree.mkdir(parents=True)
                with self._api(wanted) as api:
                    commit = find_commit(api, source.project, source.dataset, source.commit_id)
                    with ApiDownloader(api, source.project, source.dataset, commit.id) as reader:
                        fetch_tree(reader, commit.tree, tree)
            case _:
                tree.mkdir(parents=True)

    def _take(self, wanted: DesiredWorkspace, asked: DesiredSnapshot) -> SnapshotSeen:
        directory = self.snapshot(wanted.id, asked.number)
        if asked.want == "absent":
            shutil.rmtree(directory, ignore_errors=True)
            return SnapshotSeen(number=asked.number, attempt=asked.attempt, state="absent")
        if not directory.exists():
            shutil.copytree(self.tree(wanted.id), directory)
        files = [one for one in directory.rglob("*") if one.is_file()]
        size = sum(one.stat().st_size for one in files)
        seen = SnapshotSeen(
            number=asked.number, attempt=asked.attempt, state="near", consistency="per-file", at=self._now(),
            files=len(files), bytes=size, unique_bytes=size,
        )  # fmt: skip
        if asked.want == "near" or not self.keeps:
            return seen
        with self._api(wanted) as api:
            branch = JobBranch(wanted.project, WORKSPACE_DATASET, f"{wanted.id}/{asked.number}")
            message = f"Snapshot {asked.name} of workspace {wanted.name}"
            commit = commit_directory(api, branch, directory, message=message)
        return seen.model_copy(update={"state": "kept", "commit": commit.id})

    def _api(self, wanted: DesiredWorkspace) -> Api:
        return Api(self.server.url, wanted.token)

    def _now(self) -> datetime:
        self.looks += 1
        return self.server.deps.clock.now() + timedelta(microseconds=self.looks)
