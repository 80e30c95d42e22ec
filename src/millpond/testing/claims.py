"""A cluster whose claims are directories: for tests of what agents do with workspaces that are claims."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from millpond.agent.drivers.claims import ClaimProgram, ClaimRefused, Named, NewClaim, StorageClass, Waiting
from millpond.agent.workspaces.claim_task import ORIGIN, RESULT, TASK, ClaimTask, carry_out, write

# What storage can do: everything, or nothing but be there; and one whose driver says it clones and makes empty claims.
RICH = StorageClass("rich", "csi.test", expands=True, clones=True, snapshot_class="frozen")
PLAIN = StorageClass("plain", "test/plain", snapshot_problem="the cluster has no VolumeSnapshots")
LYING = StorageClass("lying", "csi.lying", clones=True, snapshot_problem="no VolumeSnapshotClass is for csi.lying")


@dataclass
class DirectoryClaims:
    """See `Claims`. `before` is called before each change and may raise: what then is there stays."""

    root: Path
    found: Sequence[StorageClass] = (RICH, PLAIN, LYING)
    before: Callable[[str], None] = lambda what: None
    made: dict[Named, tuple[Mapping[str, str], NewClaim | None]] = field(default_factory=dict)
    refuses: str = ""

    def classes(self) -> Sequence[StorageClass]:
        return self.found

    def space_of(self, project: str) -> str:
        return "jobs"

    def spaces(self) -> Sequence[str]:
        return ("jobs",)

    def place(self, name: Named) -> Path:
        return self.root / f"{name.kind}-{name.name}"

    def create(self, claim: NewClaim) -> None:
        self.before("create")
        self.made[claim.name] = (claim.labels, claim)
        path = self.place(claim.name)
        if claim.origin is not None and claim.storage_class != LYING.name and not self.refuses:
            shutil.copytree(self.place(claim.origin), path)
        else:
            path.mkdir(parents=True)

    def resize(self, claim: Named, size_bytes: int) -> None:
        self.before("resize")

    def snapshot(self, name: Named, claim: Named, snapshot_class: str, labels: Mapping[str, str]) -> None:
        self.before("snapshot")
        self.made[name] = (labels, None)
        shutil.copytree(self.place(claim), self.place(name))

    def wait_for_snapshot(self, name: Named, waiting: Waiting) -> None:
        self.before("wait")
        waiting("")

    def run(self, program: ClaimProgram, waiting: Waiting) -> None:
        self.made[program.name] = (program.labels, None)
        try:
            self.before("run")
            waiting("")
            if self.refuses and self.made[program.claims[0].name][1] is not None:
                new = self.made[program.claims[0].name][1]
                if new is not None and new.origin is not None:
                    raise ClaimRefused(self.refuses)
            directory = Path(program.arguments[0])
            told = json.loads((directory / TASK).read_text())
            if len(program.claims) > 1:
                told["copy_from"] = told["copy_from"].replace(ORIGIN, str(self.place(program.claims[1].name)))
            result = carry_out(ClaimTask.model_validate(told), directory, self.place(program.claims[0].name))
            write(directory / RESULT, result.model_dump())
            self.before("ran")
        finally:
            self.made.pop(program.name, None)

    def remove(self, name: Named) -> None:
        self.before("remove")
        self.made.pop(name, None)
        shutil.rmtree(self.place(name), ignore_errors=True)

    def listed(self, space: str, labels: Mapping[str, str]) -> Sequence[Named]:
        return [name for name, (its, _) in self.made.items() if labels.items() <= its.items()]

    def names(self, kind: str) -> list[str]:
        return sorted(name.name for name in self.made if name.kind == kind)
