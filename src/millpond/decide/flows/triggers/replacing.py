"""Which triggers of a new version of a flow are those of the version before."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from millpond.model.flow import Trigger
from millpond.model.flow_trigger import SavedTrigger

# What a trigger is known by if its other settings changed.
_MAIN = {"commit": ("ref",), "cron": ("cron", "timezone"), "webhook": ("name",), "flow": ("flow",)}
_Key = tuple[str, str]


def match_triggers(before: Sequence[SavedTrigger], wanted: Sequence[Trigger]) -> list[SavedTrigger | None]:
    """For each wanted trigger the one that it was, so that it keeps its state. First those that are quite the same,
    then those that watch the same."""
    found: list[SavedTrigger | None] = [None] * len(wanted)
    left = list(before)
    for key in (_whole, _main):
        for index, trigger in enumerate(wanted):
            if found[index] is None:
                found[index] = _take(left, key, key(trigger.type, trigger.settings))
    return found


def _take(left: list[SavedTrigger], key: Callable[[str, Mapping[str, Any]], _Key], wanted: _Key) -> SavedTrigger | None:
    for one in left:
        if key(one.type.value, one.settings) == wanted:
            left.remove(one)
            return one
    return None


def _whole(kind: str, settings: Mapping[str, Any]) -> _Key:
    return kind, repr(sorted(settings.items(), key=lambda item: item[0]))


def _main(kind: str, settings: Mapping[str, Any]) -> _Key:
    return kind, repr([settings.get(name) for name in _MAIN[kind]])
