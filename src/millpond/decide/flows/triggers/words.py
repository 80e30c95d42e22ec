"""What a trigger waits for, in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from millpond.model.flow_trigger import TriggerType


def title(kind: TriggerType, settings: Mapping[str, Any]) -> str:
    """One line for lists: `Commit to xray@main (train/**), at most every 5m`."""
    match kind:
        case TriggerType.COMMIT:
            paths = f" ({', '.join(settings['paths'])})" if settings.get("paths") else ""
            every = f", at most every {settings['debounce']}" if settings.get("debounce") else ""
            return f"Commit to {settings.get('ref')}{paths}{every}"
        case TriggerType.CRON:
            return f"Schedule {settings.get('cron')} ({settings.get('timezone', 'UTC')})"
        case TriggerType.WEBHOOK:
            return f"Webhook {settings.get('name')}"
        case TriggerType.FLOW:
            state = settings.get("state", "succeeded")
            return f"End of flow {settings.get('flow')}" + ("" if state == "any" else f" ({state})")
