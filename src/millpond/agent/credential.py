"""The agent's credential: created here, kept in the state directory, registered once with a join token."""

from __future__ import annotations

import hashlib
import json
import logging
import os
import secrets
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

from millpond.agent.spec import write_private
from millpond.client.http import Api
from millpond.errors import BadRequest, MillError, SetupError
from millpond.model.compute import JOIN_PREFIX
from millpond.retry import Backoff
from millpond.wire.computes import Join, Joined

log = logging.getLogger(__name__)

FILE = "credential.json"
# What a credential is called once the server has refused it: the next start needs a new join token.
REFUSED = "credential.refused.json"


@dataclass(frozen=True, slots=True)
class Credential:
    """`name` and `site` are empty until the agent has joined."""

    secret: str
    agent_id: str = ""
    name: str = ""
    site: str = ""

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.secret.encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Wish:
    """What the agent asks for when it joins: name (kept if chosen explicitly), site and driver."""

    name: str
    exact: bool
    site: str | None
    driver: str
    version: str


def load(state_dir: Path) -> Credential | None:
    try:
        return Credential(**json.loads((state_dir / FILE).read_bytes()))
    except FileNotFoundError:
        return None
    except (ValueError, TypeError) as error:
        raise SetupError(
            f"Cannot read the credential in {state_dir / FILE}: {error}.",
            hint="Remove the file and start the agent with a new join token. It becomes a new compute.",
        ) from error


def obtain(
    state_dir: Path, token: str | None, wish: Wish, api: Api, sleep: Callable[[float], None] = time.sleep
) -> Credential:
    """Load the credential of this state directory, or join with a token.

    Waits while the server is unreachable. Raises the MillError of a refusal.
    """
    known = load(state_dir)
    if known is not None and known.agent_id:
        _check_site(known, wish, state_dir)
        return known
    if token is None:
        raise BadRequest(
            f"No credential in {state_dir}.",
            hint="Create a join token (mill compute token --site SITE) and start the agent with --token-file.",
        )
    if not token.startswith(JOIN_PREFIX):
        return Credential(token)
    credential = known or Credential(f"mill_{secrets.token_urlsafe(32)}")
    # Before it is told to anybody: whatever happens to the answer, the same agent asks again.
    _keep(state_dir, credential)
    joined = _join(api, token, credential, wish, sleep)
    credential = Credential(credential.secret, joined.agent_id, joined.name, joined.site)
    _keep(state_dir, credential)
    log.info("joined: compute=%s site=%s", joined.name, joined.site)
    return credential


def set_aside(state_dir: Path) -> None:
    """Set aside a revoked credential, so that it is not used again."""
    if (state_dir / FILE).exists():
        (state_dir / FILE).replace(state_dir / REFUSED)


def _join(api: Api, token: str, credential: Credential, wish: Wish, sleep: Callable[[float], None]) -> Joined:
    asked = Join(
        token=token, credential_sha256=credential.sha256, version=wish.version, name=wish.name, exact=wish.exact,
        site=wish.site, driver=wish.driver,
    )  # fmt: skip
    backoff = Backoff()
    while True:
        try:
            return api.send("POST", "/agents/join", Joined, asked)
        except MillError as error:
            if not error.transient:
                raise
            log.warning("server unreachable: %s", error.message)
        sleep(backoff.next())


def _keep(state_dir: Path, credential: Credential) -> None:
    write_private(state_dir / FILE, json.dumps(asdict(credential)))
    descriptor = os.open(state_dir, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _check_site(known: Credential, wish: Wish, state_dir: Path) -> None:
    if wish.site is not None and known.site != wish.site:
        raise BadRequest(
            f"The agent in {state_dir} is compute {known.name!r} of site {known.site!r}, not of site {wish.site!r}.",
            hint="Remove --site, or use another --state-dir for an agent of another site.",
        )
