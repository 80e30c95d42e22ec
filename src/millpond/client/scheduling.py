"""The waiting line, and what would change it, over the API."""

from __future__ import annotations

from collections.abc import Iterator

from millpond.client.http import Api
from millpond.wire.scheduling import PendingJob, WhatIf, WhatIfAnswer


def list_pending(api: Api, project: str | None = None) -> Iterator[PendingJob]:
    """Every job that waits, the next one first; of one project if it is named."""
    return api.items("/pending", PendingJob, project=project)


def plan_what_if(api: Api, changes: WhatIf) -> WhatIfAnswer:
    """Replay jobs with other quotas, settings or nodes. Forbidden to all but administrators."""
    return api.send("POST", "/plan:what-if", WhatIfAnswer, changes)
