"""What keeps a trigger from firing, in words."""

from __future__ import annotations

from dataclasses import dataclass

from millpond.model.flow_trigger import SavedTrigger, TriggerType


@dataclass(frozen=True, slots=True)
class TriggerFacts:
    """What is there of the things that a trigger needs."""

    # Why whoever the flow runs as may not run it; empty if they may.
    runner: str = ""
    dataset: bool = True
    branch: bool = True
    upstream: bool = True


def problem_of(trigger: SavedTrigger, facts: TriggerFacts) -> str:
    """Why it does not fire at present; empty if it does."""
    if not trigger.is_enabled:
        return trigger.disabled_reason or f"Disabled by {trigger.disabled_by}."
    if facts.runner:
        return facts.runner
    settings = trigger.settings
    match trigger.type:
        case TriggerType.COMMIT if not facts.dataset:
            return f"Dataset of {settings['ref']} no longer exists."
        case TriggerType.COMMIT if not facts.branch:
            return f"Branch of {settings['ref']} does not exist: its first commit fires."
        case TriggerType.FLOW if not facts.upstream:
            return f"Flow {settings['flow']!r} no longer exists."
        case TriggerType.WEBHOOK if trigger.secret is None:
            name = settings["name"]
            return f"It has no secret yet. Create one: mill flow trigger rotate-secret {trigger.flow} {name}"
    return ""
