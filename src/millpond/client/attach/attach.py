"""Attaching a machine: look at it, copy Millpond there, start its agent, and wait until it has reported."""

from __future__ import annotations

import json
import os
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from millpond.client.attach.bundle import RemoteMachine, make_bundle, requirements
from millpond.client.attach.ssh import Address, FarSide, signed_in
from millpond.client.computes import create_join_token, get_compute, list_join_tokens
from millpond.client.http import Api
from millpond.errors import MillError, SetupError
from millpond.trust import CA_FILE
from millpond.wire.computes import Compute

TOKEN_SECONDS = 600
REPORT_SECONDS = 60.0
_POLL_SECONDS = 0.3


@dataclass(frozen=True, slots=True)
class AttachPlan:
    """`server` is the server's address as the far side sees it; `options` go to `mill agent` as they are."""

    address: Address
    site: str
    server: str
    python: str | None = None
    options: tuple[str, ...] = ()
    # A compute that is known, and to be re-attached.
    compute: str | None = None


async def attach(api: Api, plan: AttachPlan, say: Callable[[str], None]) -> Compute:
    """The compute, once its agent has reported. What went wrong before is told by the error; nothing is retried."""
    async with signed_in(plan.address) as far:
        version = await far.find_python(plan.python)
        about = json.loads(await far.call("look"))
        there = RemoteMachine(about["system"], about["machine"], version, about["libc"])
        host = plan.address.host
        say(f"{host}: Python {version[0]}.{version[1]}, {about['system']} {about['machine']}")
        state = f"agents/{secrets.token_hex(4)}"
        trusted = await _bring_certificates(far, state)
        await _check_reaches(far, plan, trusted)
        name = await _bring_package(far, there, say)
        return await _start(api, plan, far, (name, state), trusted, say)


async def _bring_certificates(far: FarSide, state: str) -> str:
    """The authority that is trusted here beside the machine's own is trusted there, too."""
    file = os.environ.get(CA_FILE)
    return await far.call("write", f"{state}/ca.pem", data=Path(file).read_bytes()) if file else ""


async def _check_reaches(far: FarSide, plan: AttachPlan, trusted: str) -> None:
    answer = await far.call("reach", f"{plan.server}/healthz", trusted)
    if answer != "ok":
        raise SetupError(
            f"{plan.address.host} cannot reach the server at {plan.server}: {answer}.",
            hint="Give the URL that works from there with --url; `mill up --host 0.0.0.0` accepts "
            "connections of other machines.",
        )


async def _bring_package(far: FarSide, there: RemoteMachine, say: Callable[[str], None]) -> str:
    """Where it was unpacked. What was brought before is not brought again."""
    whole = there.can_use_packages_of(RemoteMachine.here())
    digest, data = make_bundle(with_packages=whole)
    name = f"packages/{digest}-{there.python[0]}.{there.python[1]}"
    if await far.call("has", name) == "yes":
        say("Millpond is already installed there")
        return name
    say(f"copying Millpond{' and its packages' if whole else ''}: {len(data) / 1e6:.1f} MB")
    if not whole:
        say("installing packages with pip: the machine has another platform than this one")
        answer = await far.call("install", name, *requirements())
        if answer != "ok":
            raise SetupError(
                f"Cannot install Millpond's packages there: {answer}",
                hint="Attach it from a machine with the same system and Python version, which copies them.",
            )
    await far.call("unpack", name, data=data)
    return name


async def _start(
    api: Api, plan: AttachPlan, far: FarSide, places: tuple[str, str], trusted: str, say: Callable[[str], None]
) -> Compute:
    name, state = places
    site = None if plan.compute else plan.site
    token = create_join_token(api, site, compute=plan.compute, seconds=TOKEN_SECONDS)
    file = await far.call("write", f"{state}/join-token", data=token.secret.encode())
    arguments = ["--server", plan.server, "--token-file", file, "--site", token.site, *plan.options]
    arguments += ["--ca-file", trusted] if trusted else []
    pid = await far.call("start", name, state, *arguments)
    say(f"agent started: process {pid}, log ~/.millpond/{state}/agent.log")
    found = None if pid == "ended" else _reported(api, token.id)
    if found is None:
        words = (await far.call("log", state)).splitlines()
        raise SetupError(
            f"The agent on {plan.address.host} has not reported yet: {words[-1] if words else 'its log is empty'}",
            hint=f"Its log on that machine: ~/.millpond/{state}/agent.log",
        )
    return found


def _reported(api: Api, token_id: str) -> Compute | None:
    """The compute that came in with this token, once it is well; None when that takes too long."""
    deadline = time.monotonic() + REPORT_SECONDS
    while time.monotonic() < deadline:
        name = next((one.compute for one in list_join_tokens(api) if one.id == token_id), None)
        found = _well(api, name) if name else None
        if found is not None:
            return found
        time.sleep(_POLL_SECONDS)
    return None


def _well(api: Api, name: str) -> Compute | None:
    try:
        found = get_compute(api, name)
    except MillError:
        return None
    return found if found.health == "ok" else None
