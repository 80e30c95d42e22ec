"""Export files of trees in a lake in memory, made without a server."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from millpond.lake.commits import encode_commit, new_commit
from millpond.lake.exports.manifest import BaseCommit, ExportedCommit, Manifest, Side, encode_manifest
from millpond.lake.exports.parts import NO_NAME, PartKind, PartWriter
from millpond.lake.exports.trees import KnownTree, add_tree
from millpond.lake.exports.writing import ExportWriter
from millpond.lake.push import push_directory
from millpond.lake.transfer import Meter
from millpond.model.dataset import Commit
from millpond.testing.lake import DirectLake, Thing, write_things


@dataclass
class Exporter:
    """Commits of one dataset `default/xray` of the lake `lake1`."""

    root: Path
    lake: DirectLake = field(default_factory=DirectLake)
    commits: list[Commit] = field(default_factory=list)

    def commit(self, things: list[Thing]) -> Commit:
        folder = self.root / f"source-{len(self.commits)}"
        folder.mkdir()
        write_things(folder, things)
        pushed = push_directory(folder, self.lake)
        self.lake.accept(pushed.tree.root)
        made = new_commit(
            dataset_id="xray1",
            tree=pushed.tree.root,
            parents=[self.commits[-1].id] if self.commits else [],
            author="ada",
            time=datetime(2026, 1, 1 + len(self.commits), tzinfo=UTC),
            message=f"commit {len(self.commits)}",
            files=pushed.tree.files,
            bytes=pushed.tree.bytes,
        )
        self.commits.append(made)
        return made

    def export(
        self, *commits: Commit, base: Commit | None = None, side: Side | None = None, name: str = "x.mill"
    ) -> Path:
        target = self.root / name
        with open(target, "wb") as file:
            parts = PartWriter(file)
            manifest = Manifest(
                lake="lake1",
                commits=[_exported(one, base) for one in commits],
                bases=[BaseCommit(base.id, base.tree, "project1", "xray1")] if base else [],
                side=side,
            )
            parts.write(PartKind.MANIFEST, NO_NAME, encode_manifest(manifest))
            history = [[one.id, list(one.parents)] for one in self.commits]
            parts.write(PartKind.HISTORY, NO_NAME, json.dumps(history).encode())
            for one in commits:
                parts.write(PartKind.COMMIT, bytes.fromhex(one.id), encode_commit(one))
            with ExportWriter(parts, Meter(None)) as writer:
                for one in commits:
                    known = KnownTree(self.lake, base.tree) if base else None
                    add_tree(writer, self.lake, one.tree, known, side)
                writer.finish()
        return target


def _exported(commit: Commit, base: Commit | None) -> ExportedCommit:
    return ExportedCommit(
        id=commit.id,
        tree=commit.tree,
        project="default",
        project_id="project1",
        dataset="xray",
        dataset_id="xray1",
        files=commit.files,
        bytes=commit.bytes,
        ref="main",
        branch="main",
        base=base.id if base else None,
    )
