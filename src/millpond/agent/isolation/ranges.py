"""Which range of accounts an agent uses: one per installation of Millpond on this machine.

Two servers count their projects from 1. With one range for both, jobs of unrelated projects would run as the same user.
Each installation therefore claims a range in a registry of the machine, and keeps it in the agent's state directory.
"""

from __future__ import annotations

import fcntl
import json
import logging
import os
import pwd
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from millpond.agent.isolation.accounts import DEFAULT, NAME, Accounts
from millpond.agent.spec import write_private
from millpond.agent.state import placements_of
from millpond.errors import BadRequest, SetupError

log = logging.getLogger(__name__)

REGISTRY = Path("/var/lib/millpond/job-uids.json")
FILE = "job-uids"
# Where neither distributions, containers nor systemd give out numbers (1879048192 to 2147483647).
_FURTHER = range(1_900_000_000, 2_100_000_000, 30_000)


def claim(state_dir: Path, server: str, registry: Path = REGISTRY) -> Accounts:
    """The range of this state directory: chosen at its first start, the same ever after.

    Agents of one server on this machine share a range. A state directory from before ranges were claimed has DEFAULT.
    """
    try:
        with _locked(registry) as claims:
            return _claim(state_dir, server, claims)
    except OSError as error:
        log.warning("cannot claim a range of user ids in %s: %s", registry, error)
        return _kept(state_dir) or Accounts.parse(DEFAULT)


def choose(taken: Iterable[Accounts], users: Iterable[int]) -> Accounts:
    """The first range that overlaps none of `taken` and holds none of `users`; DEFAULT if there is none."""
    taken, users = list(taken), list(users)
    default = Accounts.parse(DEFAULT)
    for one in (default, *(Accounts(first, first + _FURTHER.step - 1) for first in _FURTHER)):
        overlaps = any(one.first <= other.last and other.first <= one.last for other in taken)
        if not overlaps and not any(one.first <= uid <= one.last for uid in users):
            return one
    return default


def _claim(state_dir: Path, server: str, claims: dict[str, dict[str, str]]) -> Accounts:
    """`claims` holds the range and server of each state directory, and gets this one's."""
    for gone in [path for path in claims if not Path(path).is_dir()]:
        del claims[gone]
    others = {path: one for path, one in claims.items() if one["server"] != server}
    found = _kept(state_dir)
    if found is None and placements_of(state_dir).exists():
        found = Accounts.parse(DEFAULT)
    if found is None:
        same = [Accounts.parse(one["range"]) for one in claims.values() if one["server"] == server]
        found = same[0] if same else choose((Accounts.parse(one["range"]) for one in others.values()), _users())
    text = f"{found.first}-{found.last}"
    state_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
    write_private(state_dir / FILE, text)
    claims[str(state_dir)] = {"server": server, "range": text}
    for path, one in others.items():
        if one["range"] == text:
            log.warning("jobs of %s run as the same users (%s): set another range with --job-uids", path, text)
    if text != DEFAULT:
        log.info("jobs run as users %s; agents on other machines that share a volume need --job-uids %s", text, text)
    return found


def _kept(state_dir: Path) -> Accounts | None:
    try:
        return Accounts.parse((state_dir / FILE).read_text().strip())
    except FileNotFoundError:
        return None
    except BadRequest as error:
        # Not replaced: what is cached and what runs belongs to the users of that range.
        raise SetupError(
            f"{state_dir / FILE} does not hold a range of user ids.",
            hint=f"Write the range this agent used before into it, like {DEFAULT}, or start the agent with --job-uids.",
        ) from error


def _users() -> list[int]:
    """Users of this machine whose numbers are not Millpond's to use."""
    return [user.pw_uid for user in pwd.getpwall() if not user.pw_name.startswith(NAME)]


@contextmanager
def _locked(registry: Path) -> Iterator[dict[str, dict[str, str]]]:
    """What the registry holds, for one agent at a time; written back at the end."""
    registry.parent.mkdir(parents=True, exist_ok=True, mode=0o755)
    descriptor = os.open(registry.with_suffix(".lock"), os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        claims = _read(registry)
        yield claims
        write_private(registry, json.dumps(claims, indent=1))
    finally:
        os.close(descriptor)


def _read(registry: Path) -> dict[str, dict[str, str]]:
    try:
        found = json.loads(registry.read_bytes())
        for one in found.values():
            Accounts.parse(one["range"])
        return {path: {"server": str(one["server"]), "range": one["range"]} for path, one in found.items()}
    except FileNotFoundError:
        return {}
    except (BadRequest, ValueError, TypeError, KeyError, AttributeError) as error:
        raise OSError(f"cannot read the file ({error}): remove it") from error
