"""What starts a flow by itself."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from millpond.decide.flows.context import FlowContext
from millpond.decide.flows.fields import describe
from millpond.decide.flows.rules.publishing import branch_of
from millpond.decide.flows.triggers.schedule import parse_schedule
from millpond.errors import MillError
from millpond.model.flow import FlowProblem, Trigger
from millpond.model.flow_trigger import Missed
from millpond.model.quantity import parse_seconds

# What each type of trigger cannot do without.
_NEEDS = {"commit": "ref", "cron": "cron", "webhook": "name", "flow": "flow"}
FLOW_STATES = ("succeeded", "failed", "cancelled", "any")
MOST_PATHS = 100
_LONGEST_PATTERN = 1_000
_WEBHOOK_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,62}")
_LONGEST_DEBOUNCE = 7 * 86_400
# The key that is wrong, the message and a hint.
_Wrong = tuple[str, str, str]


def are_complete(flow: FlowContext) -> Iterator[FlowProblem]:
    for index, trigger in enumerate(flow.flow.triggers):
        key = _NEEDS[trigger.type]
        value = trigger.settings.get(key)
        if value is None or value == "":
            yield flow.problem(("triggers", index), "trigger", f"A {trigger.type} trigger needs {key!r}.")
            continue
        if not isinstance(value, str):
            message = f"{key} must be text, not {describe(value)}."
            yield flow.problem(("triggers", index, key), "trigger", message)
            continue
        for wrong, message, hint in _CHECKS[trigger.type](trigger.settings):
            yield flow.problem(("triggers", index, wrong), "trigger", message, hint)


def make_no_loop(flow: FlowContext) -> Iterator[FlowProblem]:
    published = {branch_of(one.to) for one in flow.flow.publish} - {None}
    for index, trigger in enumerate(flow.flow.triggers):
        if trigger.type == "commit" and branch_of(str(trigger.settings.get("ref", ""))) in published:
            message = f"The flow publishes to {trigger.settings['ref']}, which would start it again."
            yield flow.problem(("triggers", index, "ref"), "loop", message, "Publish to another branch.")
        if trigger.type == "flow" and trigger.settings.get("flow") == flow.flow.name:
            yield flow.problem(("triggers", index, "flow"), "loop", "A flow cannot start itself when it ends.")


def are_different(flow: FlowContext) -> Iterator[FlowProblem]:
    """Two that are the same would start two runs each time."""
    seen: dict[str, int] = {}
    for index, trigger in enumerate(flow.flow.triggers):
        first = seen.setdefault(_identity(trigger), index)
        if first != index:
            message = f"Trigger {index + 1} is the same as trigger {first + 1}."
            yield flow.problem(("triggers", index), "trigger", message, "Remove one of them.")


def _identity(trigger: Trigger) -> str:
    name = {"name": trigger.settings.get("name")} if trigger.type == "webhook" else trigger.settings
    return repr((trigger.type, sorted(name.items(), key=lambda item: item[0])))


def _commit(settings: Mapping[str, Any]) -> Iterator[_Wrong]:
    if branch_of(settings["ref"]) is None:
        hint = "Write dataset@branch, like xray@main."
        yield "ref", f"{settings['ref']!r} is not a branch of a dataset.", hint
    paths = settings.get("paths", [])
    if not isinstance(paths, list) or not all(isinstance(one, str) and one for one in paths):
        yield "paths", "paths must be a list of patterns.", 'Write it like ["train/**", "*.csv"].'
    elif any(len(one) > _LONGEST_PATTERN for one in paths):
        yield "paths", f"A pattern has more than {_LONGEST_PATTERN:,} characters.", ""
    elif len(paths) > MOST_PATHS:
        yield "paths", f"paths has {len(paths):,} patterns; at most {MOST_PATHS} are possible.", ""
    if (debounce := settings.get("debounce")) is not None:
        yield from _tried("debounce", lambda: parse_seconds(str(debounce), most=_LONGEST_DEBOUNCE))


def _cron(settings: Mapping[str, Any]) -> Iterator[_Wrong]:
    zone = settings.get("timezone", "UTC")
    if not isinstance(zone, str):
        yield "timezone", f"timezone must be text, not {describe(zone)}.", "Write one like Europe/Berlin."
        return
    wrong = list(_tried("timezone", lambda: parse_schedule("0 0 * * *", zone)))
    yield from wrong or _tried("cron", lambda: parse_schedule(settings["cron"], zone))
    missed = settings.get("missed", Missed.ONCE.value)
    known = [one.value for one in Missed]
    if missed not in known:
        yield "missed", f"missed cannot be {missed!r}.", f"Choose one of: {', '.join(known)}."


def _webhook(settings: Mapping[str, Any]) -> Iterator[_Wrong]:
    if not _WEBHOOK_NAME.fullmatch(settings["name"]):
        hint = "Use lower-case letters, digits, '.', '_' and '-', starting with a letter or digit."
        yield "name", f"{settings['name']!r} is not a valid name for a webhook.", hint


def _flow(settings: Mapping[str, Any]) -> Iterator[_Wrong]:
    state = settings.get("state", FLOW_STATES[0])
    if state not in FLOW_STATES:
        yield "state", f"state cannot be {state!r}.", f"Choose one of: {', '.join(FLOW_STATES)}."


_CHECKS: Mapping[str, Callable[[Mapping[str, Any]], Iterator[_Wrong]]] = {
    "commit": _commit,
    "cron": _cron,
    "webhook": _webhook,
    "flow": _flow,
}


def _tried(key: str, parse: Callable[[], object]) -> Iterator[_Wrong]:
    try:
        parse()
    except MillError as error:
        yield key, error.message, error.hint or ""
