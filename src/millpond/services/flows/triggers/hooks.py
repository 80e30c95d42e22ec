"""Calls of webhooks: signed with a secret of the trigger, fresh, and each of them once."""

from __future__ import annotations

import hmac
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any

from millpond.db import flow_firings, flow_triggers
from millpond.errors import BadRequest, BadSignature, Conflict, MillError, NotFound
from millpond.model.flow_trigger import Firing, FiringState, SavedTrigger, TriggerType
from millpond.services.deps import Deps
from millpond.services.flows.triggers import firing as firings
from millpond.services.flows.triggers.noticing import new_firing

# How far the clock of the caller may be from ours.
WINDOW_SECONDS = 300
SCHEME = "sha256="
# Seconds, with or without a fraction.
_TIMESTAMP = re.compile(r"[0-9]{1,12}(\.[0-9]{1,9})?")


@dataclass(frozen=True, slots=True)
class HookCall:
    """A request as it came. `body` may name parameters of the run: `{"params": {…}}`."""

    timestamp: str
    signature: str
    body: bytes


def call(deps: Deps, hook: str, made: HookCall) -> tuple[Firing, str]:
    """The firing with its run, and the name of the flow. One that cannot start at the moment waits for the loop.

    BadSignature for a call that is not signed or too old; Conflict for one that came before, or that is refused.
    """
    trigger = _find(deps, hook)
    signed = _check(deps, trigger, made)
    if not trigger.is_enabled:
        reason = trigger.disabled_reason or "Somebody disabled it."
        raise Conflict(f"Webhook {trigger.settings['name']!r} is disabled. {reason}")
    noticed = _notice(deps, trigger, signed, _params(made.body))
    try:
        ended = firings.start(deps, noticed)
    except MillError:  # it may be better later: the loop tries again
        return noticed, trigger.flow
    if ended.state is FiringState.REFUSED:
        raise Conflict(f"The flow was not started: {ended.reason}", firing=ended.id)
    return ended, trigger.flow


def signature_of(secret: str, timestamp: str, body: bytes) -> str:
    """What a caller sends in `X-Mill-Signature`, without `sha256=`."""
    return hmac.new(secret.encode(), timestamp.encode() + b"." + body, sha256).hexdigest()


def purpose(trigger_id: str) -> str:
    """What the secret of a webhook is sealed for."""
    return f"webhook:{trigger_id}"


def _find(deps: Deps, hook: str) -> SavedTrigger:
    with deps.db.read() as tx:
        found = flow_triggers.get(tx, hook)
    if found is None or found.type is not TriggerType.WEBHOOK:
        raise NotFound(f"No webhook {hook!r} found.", hint="List them: mill flow trigger list", noun="webhook")
    return found


def _check(deps: Deps, trigger: SavedTrigger, made: HookCall) -> str:
    """The signature as we write it: a call is known again by it."""
    if trigger.secret is None:
        name = trigger.settings["name"]
        hint = f"Create one: mill flow trigger rotate-secret {trigger.flow} {name}"
        raise BadSignature(f"Webhook {name!r} has no secret yet.", hint=hint)
    if not _TIMESTAMP.fullmatch(made.timestamp):
        raise BadSignature("The header X-Mill-Timestamp is missing or not a time in seconds.")
    secret = deps.seal.open(trigger.secret, purpose(trigger.id))
    expected = signature_of(secret, made.timestamp, made.body)
    sent = made.signature.strip().lower().removeprefix(SCHEME)
    if not hmac.compare_digest(expected.encode(), sent.encode()):
        raise BadSignature(
            "The header X-Mill-Signature is missing or wrong.",
            hint='Send "sha256=" and the HMAC-SHA256 of timestamp, "." and body, with the webhook\'s secret, in hex.',
        )
    if abs(deps.clock.now().timestamp() - float(made.timestamp)) > WINDOW_SECONDS:
        raise BadSignature(
            f"The time of the call is more than {WINDOW_SECONDS // 60} minutes from the server's.",
            hint="Sign the call when it is sent, and check the clock.",
        )
    return expected


def _params(body: bytes) -> Mapping[str, Any]:
    """Parameters that the call gives; any other body is fine, and not looked at."""
    try:
        document = json.loads(body) if body.strip() else {}
    except (ValueError, RecursionError):
        return {}
    params = document.get("params", {}) if isinstance(document, dict) else {}
    if not isinstance(params, dict):
        raise BadRequest("`params` of the body must be an object.", hint='Send it like {"params": {"epochs": 3}}.')
    return params


def _notice(deps: Deps, trigger: SavedTrigger, signed: str, params: Mapping[str, Any]) -> Firing:
    now = deps.clock.now()
    value = new_firing(trigger, f"call:{signed}", now, by=str(trigger.settings["name"]))
    value = replace(value, params=dict(params))
    with deps.db.write() as tx:
        if flow_firings.insert(tx, value):
            return value
        known = flow_firings.find(tx, trigger.id, value.occurrence)
    raise Conflict(
        "This call came before.",
        hint="Sign each call by itself; several in one second need fractions in their timestamps.",
        run=known.run_id if known else None,
    )
