"""`millpond.Workspace`: a writable tree next to the compute, with snapshots and clones, for scripts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from millpond.client import workspaces as calls
from millpond.client.credentials import resolve_target
from millpond.client.http import Api
from millpond.client.runs import find_run
from millpond.model.quantity import parse_bytes, parse_seconds
from millpond.wire.data import Diff
from millpond.wire.workspace_views import (
    ScheduleCreate,
    SnapshotSchedule,
    WorkspaceCreate,
    WorkspacePlan,
    WorkspaceSnapshot,
)
from millpond.wire.workspace_views import Workspace as WorkspaceInfo


class Workspace:
    """A workspace of a project, by name. What is known of it (`state`, `path`, `size_bytes`, `used_bytes` …) are
    attributes, as they were when it was last read: `refresh_info` reads it again."""

    def __init__(self, name: str, *, server: str | None = None, project: str | None = None) -> None:
        target = resolve_target(server, project)
        self._api = Api(target.server, target.token)
        self.info: WorkspaceInfo = calls.get_workspace(self._api, target.project, name)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name == "info":
            raise AttributeError(name)
        return getattr(self.info, name)

    @classmethod
    def create(
        cls,
        name: str,
        size: str | int,
        *,
        dataset: str | None = None,
        volume: str | None = None,
        near: str | None = None,
        tier: str | None = None,
        storage_class: str | None = None,
        many_nodes: bool = False,
        shared: bool = False,
        wait: bool = True,
        server: str | None = None,
        project: str | None = None,
    ) -> Workspace:
        """A new one: empty, or with what `dataset@ref` holds. `size` is like "20GB". With `storage_class` it is a claim
        of a Kubernetes cluster, which pods of one node mount, or of many."""
        request = WorkspaceCreate(
            name=name, size_bytes=_bytes(size), dataset=dataset, volume=volume, near=near, tier=tier, shared=shared,
            storage_class=storage_class, many_nodes=many_nodes,
        )  # fmt: skip
        return cls._made(request, wait=wait, server=server, project=project)

    @classmethod
    def from_run(
        cls, run: str, into: str, *, workspace: str | None = None, wait: bool = True, server: str | None = None,
        project: str | None = None,
    ) -> Workspace:  # fmt: skip
        """A new one named `into`, as that of a run was at its start; `workspace` says which if it had several."""
        target = resolve_target(server, project)
        with Api(target.server, target.token) as api:
            found = find_run(api, target.project, run, unique=True)
            calls.restore_run(api, target.project, found.id, into, workspace=workspace)
        made = cls(into, server=target.server, project=target.project)
        return made.wait() if wait else made

    @classmethod
    def list(cls, *, server: str | None = None, project: str | None = None) -> Sequence[WorkspaceInfo]:
        """Workspaces of the project that one may see."""
        target = resolve_target(server, project)
        with Api(target.server, target.token) as api:
            return [*calls.list_workspaces(api, target.project)]

    def refresh_info(self) -> Workspace:
        self.info = calls.get_workspace(self._api, self.info.project, self.info.name)
        return self

    def wait(self, timeout: float | None = None) -> Workspace:
        """Until it is ready; TimeoutError after `timeout` seconds."""
        self.info = calls.wait_for_workspace(self._api, self.info.project, self.info.name, timeout=timeout)
        return self

    def clone(
        self,
        name: str,
        *,
        snapshot: str | None = None,
        size: str | int | None = None,
        volume: str | None = None,
        near: str | None = None,
        read_only: bool = False,
        refresh: bool = False,
        wait: bool = True,
    ) -> Workspace:
        """A workspace with the same content: as it is now, or as in `snapshot` (`daily*`: the newest that matches).

        With `refresh`, one of that name has its content replaced, after a snapshot of it.
        """
        source = f"{self.info.name}@{snapshot}" if snapshot else self.info.name
        where = {"server": self._api.base_url, "project": self.info.project}
        if refresh:
            calls.refresh_workspace(self._api, self.info.project, name, source)
            found = Workspace(name, **where)
            return found.wait() if wait else found
        request = WorkspaceCreate(
            name=name, clone=source, size_bytes=None if size is None else _bytes(size), volume=volume, near=near,
            read_only=read_only,
        )  # fmt: skip
        return self._made(request, wait=wait, **where)

    def plan_clone(self, name: str, *, snapshot: str | None = None, volume: str | None = None) -> WorkspacePlan:
        """How a clone would be made, and about how long that would take. Nothing is changed."""
        source = f"{self.info.name}@{snapshot}" if snapshot else self.info.name
        request = WorkspaceCreate(name=name, clone=source, volume=volume)
        return calls.plan_workspace(self._api, self.info.project, request)

    def snapshot(
        self, name: str | None = None, *, keep: str | int | None = None, wait: bool = True, kept: bool = False
    ) -> WorkspaceSnapshot:
        """Freeze it as it is now. With `keep` (7, or "30d"), `name` is that of a series, whose older ones go.

        Waits until it is near, or with `kept` until it is in the lake as well.
        """
        taken = calls.take_snapshot(
            self._api, self.info.project, self.info.name, name=name, keep=None if keep is None else str(keep)
        )
        if not wait:
            return taken
        return calls.wait_for_snapshot(self._api, self.info.project, self.info.name, taken.name, kept=kept)

    def snapshots(self) -> Sequence[WorkspaceSnapshot]:
        """Newest first."""
        return calls.list_snapshots(self._api, self.info.project, self.info.name)

    def delete_snapshot(self, snapshot: str) -> None:
        calls.delete_snapshot(self._api, self.info.project, self.info.name, snapshot)

    def restore(
        self, snapshot: str, *, into: str | None = None, wait: bool = True
    ) -> Workspace:  # fmt: skip
        """Put a snapshot in the place of its content, after a snapshot of that; or `into` a new workspace."""
        made = calls.restore_workspace(self._api, self.info.project, self.info.name, snapshot, into=into)
        found = self if into is None else Workspace(made.name, server=self._api.base_url, project=self.info.project)
        found.info = made
        return found.wait() if wait else found

    def diff(self, before: str, after: str | None = None) -> Diff:
        """What differs between two snapshots, or a snapshot and now; waits until both are kept."""
        project, name = self.info.project, self.info.name
        with calls.compared(self._api, project, name, before, after) as later:
            return calls.diff_snapshots(self._api, project, name, before, later)

    def schedule(
        self, series: str, *, every: str | None = None, cron: str | None = None, timezone: str = "UTC",
        keep: str | int | None = None,
    ) -> SnapshotSchedule:  # fmt: skip
        """Take snapshots of a series by themselves: `every` "1h", or by a cron expression."""
        request = ScheduleCreate(
            cron=cron or "", timezone=timezone, every_seconds=parse_seconds(every) if every else 0,
            keep=None if keep is None else str(keep),
        )  # fmt: skip
        return calls.put_schedule(self._api, self.info.project, self.info.name, series, request)

    def unschedule(self, series: str) -> None:
        calls.delete_schedule(self._api, self.info.project, self.info.name, series)

    def resize(self, size: str | int) -> Workspace:
        self.info = calls.change_workspace(self._api, self.info.project, self.info.name, size_bytes=_bytes(size))
        return self

    def share(self, shared: bool = True) -> Workspace:
        """Let members of the project use it, or you alone."""
        self.info = calls.change_workspace(self._api, self.info.project, self.info.name, shared=shared)
        return self

    def remove(self) -> None:
        """Into the bin, from where it comes back by `mill workspace undelete`."""
        calls.delete_workspace(self._api, self.info.project, self.info.name)

    @classmethod
    def _made(
        cls, request: WorkspaceCreate, *, wait: bool, server: str | None, project: str | None
    ) -> Workspace:  # fmt: skip
        target = resolve_target(server, project)
        with Api(target.server, target.token) as api:
            calls.create_workspace(api, target.project, request)
        made = cls(request.name, server=target.server, project=target.project)
        return made.wait() if wait else made


def _bytes(size: str | int) -> int:
    return size if isinstance(size, int) else parse_bytes(size)
