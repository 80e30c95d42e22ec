"""Which snapshots of a workspace go, by the rule of their series, and which copies leave the volume."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime

from millpond.model.workspace import KeepRule, SnapshotState, Workspace, WorkspaceSnapshot, keep_since


def expired(
    snapshots: Sequence[WorkspaceSnapshot], rules: Mapping[str, KeepRule], needed: Collection[int], now: datetime
) -> Mapping[int, str]:
    """By number, why each snapshot goes. `rules` are by series, `needed` the numbers that clones or restores need.

    What a run is linked to stays, and so does the newest of a series that is there, however old: a rule never removes
    the only one. Only what is there counts: a snapshot that failed makes no room for itself.
    """
    found: dict[int, str] = {}
    series: defaultdict[str, list[WorkspaceSnapshot]] = defaultdict(list)
    for one in snapshots:
        if one.series in rules and one.state is not SnapshotState.REMOVING:
            series[one.series].append(one)
    for name, members in series.items():
        rule = rules[name]
        newest_first = sorted(members, key=lambda one: one.number, reverse=True)
        there = [one for one in newest_first if one.is_there]
        for one in _beyond(rule, there, now):
            if one.run_id is None and one.number not in needed:
                found[one.number] = f"the rule of {name} keeps {rule.written}"
        newest = there[0].number if there else 0
        for one in newest_first:
            if one.state is SnapshotState.FAILED and one.number < newest:
                found[one.number] = "it failed, and a later one is there"
    return found


def rules_of(snapshots: Sequence[WorkspaceSnapshot], scheduled: Mapping[str, KeepRule]) -> Mapping[str, KeepRule]:
    """The rule of each series: that of its schedule, else that of its newest snapshot that has one."""
    found: dict[str, KeepRule] = {}
    for one in sorted(snapshots, key=lambda one: one.number):
        if one.keep is not None and one.series:
            found[one.series] = one.keep
    return {**found, **scheduled}


def copies_to_drop(
    workspace: Workspace, snapshots: Sequence[WorkspaceSnapshot], needed: Collection[int]
) -> Sequence[int]:
    """Numbers of the near copies that leave the volume, the oldest first: they and the tree take more than its size.

    Only what is kept may go; the newest stays, so that restoring it is quick.
    """
    near = [one for one in sorted(snapshots, key=lambda one: one.number) if one.is_near]
    over = workspace.unique_bytes + sum(one.unique_bytes for one in near) - workspace.size_bytes
    gone: list[int] = []
    for one in near[:-1]:
        if over <= 0:
            break
        if one.state is SnapshotState.KEPT and one.number not in needed and one.unique_bytes:
            over -= one.unique_bytes
            gone.append(one.number)
    return gone


def _beyond(rule: KeepRule, there: Sequence[WorkspaceSnapshot], now: datetime) -> Sequence[WorkspaceSnapshot]:
    if rule.count is not None:
        return there[rule.count :]
    since = keep_since(rule, now)
    return [one for one in there[1:] if since is not None and (one.taken_at or one.created_at) < since]
