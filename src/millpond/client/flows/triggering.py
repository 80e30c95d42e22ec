"""Triggers and backfills of a `millpond.Flow`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from millpond.client.flows import triggers as calls
from millpond.client.http import Api
from millpond.model.quantity import parse_seconds
from millpond.wire.flow_triggers import Backfill, BackfillCreate, BackfillPlan, Trigger, TriggerFiring
from millpond.wire.flows import Flow as FlowInfo


class Triggering:
    """What starts the flow besides people. A trigger is named by its id, its place in the file (from 1), or the name
    of a webhook."""

    _api: Api
    info: FlowInfo

    def triggers(self) -> list[Trigger]:
        """Those of the newest version; `problem` says why one does not fire at present."""
        return calls.list_triggers(self._api, self.info.project, self.info.name)

    def enable_trigger(self, trigger: str | int) -> Trigger:
        """It fires again from now on."""
        return calls.change_trigger(self._api, self.info.project, self.info.name, str(trigger), "enable")

    def disable_trigger(self, trigger: str | int) -> Trigger:
        return calls.change_trigger(self._api, self.info.project, self.info.name, str(trigger), "disable")

    def fire_trigger(self, trigger: str | int, params: Mapping[str, Any] | None = None) -> TriggerFiring:
        """Start a run as the trigger would now."""
        return calls.fire_trigger(self._api, self.info.project, self.info.name, str(trigger), params)

    def rotate_secret(self, trigger: str | int) -> str:
        """A new secret of a webhook; the one before is of no use from now on."""
        return calls.rotate_secret(self._api, self.info.project, self.info.name, str(trigger)).secret

    def firings(
        self, trigger: str | int | None = None, *, state: str | None = None, limit: int | None = None
    ) -> list[TriggerFiring]:
        """What set off one or all triggers, and what came of it. Newest first."""
        only = None if trigger is None else str(trigger)
        found = calls.list_firings(
            self._api, self.info.project, self.info.name, trigger=only, state=state, at_most=limit
        )  # fmt: skip
        return [*found]

    def plan_backfill(self, params: Mapping[str, Any], *, skip_done: bool = False) -> BackfillPlan:
        """What `backfill` would run."""
        request = BackfillCreate(params=dict(params), version=self.info.version, skip_done=skip_done)
        return calls.plan_backfill(self._api, self.info.project, self.info.name, request)

    def backfill(
        self, params: Mapping[str, Any], *, max_parallel: int = 4, skip_done: bool = False, wait: bool = False,
        timeout: str | None = None,
    ) -> Backfill:  # fmt: skip
        """Run this version for each choice of parameters: by name a list, or a text like `2026-01-01..2026-01-31`,
        `1..10` or `a,b`. `skip_done`: not for those of a run that has succeeded or goes on."""
        request = BackfillCreate(
            params=dict(params), version=self.info.version, max_parallel=max_parallel, skip_done=skip_done
        )
        made = calls.create_backfill(self._api, self.info.project, self.info.name, request)
        limit = None if timeout is None else parse_seconds(timeout)
        return calls.wait_for_backfill(self._api, self.info.project, made.id, timeout=limit) if wait else made

    def backfills(self, *, limit: int | None = None) -> list[Backfill]:
        """Newest first, without their parts."""
        return [*calls.list_backfills(self._api, self.info.project, flow=self.info.name, at_most=limit)]
