"""What a site serves now, and how far it is with what it should serve."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime

from millpond.model.job import JobState
from millpond.model.replica import ReplicaState, ReplicaView, SiteServing, SwapState


def site_serving(
    desired: Collection[str], wanted: int, here: Sequence[ReplicaView], *, is_online: bool,
    heard_at: datetime | None, is_pushed: bool,
) -> SiteServing:  # fmt: skip
    """`here` are the site's replicas, as last heard of; `wanted` is how many it should have."""
    ready = [one.replica for one in here if one.replica.state is ReplicaState.READY]
    serving = sorted({one.written for one in ready})
    state, reason = _swap(desired, wanted, here, is_online=is_online)
    # A version serves since its first replica was ready; the site serves as it does since the last of them.
    firsts = [min(at for one in ready if one.written == name and (at := one.ready_at)) for name in serving]
    return SiteServing(
        desired=tuple(sorted(desired)),
        serving=tuple(serving),
        state=state,
        reason=reason,
        since=max(firsts, default=None),
        is_online=is_online,
        heard_at=heard_at,
        is_pushed=is_pushed,
    )


def _swap(
    desired: Collection[str], wanted: int, here: Sequence[ReplicaView], *, is_online: bool
) -> tuple[SwapState, str]:
    if not wanted:
        return SwapState.IDLE, "Scaled to zero: the next request starts a replica."
    serving = {one.replica.written for one in here if one.replica.state is ReplicaState.READY}
    if set(desired) == serving:
        return SwapState.CURRENT, ""
    starting = [
        one for one in here if one.replica.state is ReplicaState.STARTING and one.replica.written in desired
    ]  # fmt: skip
    if set(desired) <= serving:
        return SwapState.LOADING, "The other replicas are replaced one after the other."
    if not is_online:
        return SwapState.WAITING, "The site is silent: it changes when it is back."
    failed = next((one for one in starting if one.replica.problem), None)
    if failed is not None:
        return SwapState.FAILED, failed.replica.problem or ""
    if not starting:
        return SwapState.WAITING, "No replica has been started yet."
    newest = starting[-1]
    if newest.job_state == JobState.RUNNING.value:
        return SwapState.LOADING, "It loads and warms up."
    if newest.job_state == JobState.QUEUED.value:
        return SwapState.WAITING, newest.reason
    return SwapState.FETCHING, newest.reason
