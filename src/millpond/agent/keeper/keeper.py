"""A keeper's life: claims the placement, starts the command, watches it, ends it and writes down how it ended."""

from __future__ import annotations

import json
import math
import os
import signal
import sys

from .clock import boot_time, time_of_day
from .command import start
from .confinement import Confinement
from .files import claim, read_json, write_end, write_whole
from .guard import AWAITED, GUARD_GONE, SIGNALS, Guard, divide
from .kill_tree import end_tree, reap
from .log import LogLimit, Output
from .processes import identity
from .rank import Rank
from .usage import Usage
from .validity import Validity

# Type checkers take this for typing.TYPE_CHECKING.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# What tells a keeper to end. Looked at closely: Python answers with anything when it was itself stopped as it waited.
ENDING = {signal.SIGTERM, GUARD_GONE}
# How often `stop` and `renewal` are looked at. The end of the command is noticed at once.
LOOK_SECONDS = 0.25
# How often a keeper looks whether all ranks of its job have come.
GATHER_SECONDS = 0.1
# How long what the command left running in the background may take to end by itself.
LEFTOVER_SECONDS = 5.0


def keep(directory: str) -> None:
    """Run the placement in `directory` from claim to exit.json; leave at once when it has a keeper already.

    Whoever calls this comes back as the keeper, a child of what it was: that has become the keeper's guard.
    """
    os.chdir(directory)
    signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # A driver may have the command run by an engine's client: `launch.json` says how.
    spec = {**read_json("spec.json"), **(read_json("launch.json") or {})}
    guard = divide(spec["grace_seconds"], spec.get("client", False) or spec.get("relays", False))
    rank = Rank(spec)
    if not claim("claim", {**(rank.place or {}), "guard": identity(os.getppid())}):
        return
    log = os.open("log", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    record = run(spec, log, rank, guard)
    write_end(log, json.dumps(record))


def run(spec: dict[str, Any], log: int, rank: Rank, guard: Guard) -> dict[str, Any]:
    """Start, watch and end the command; what `exit.json` says of it: at most one of exit code and signal, why the
    keeper ended it (if it did), and a sentence for people when it could not be started."""
    record: dict[str, Any] = {"exit_code": None, "signal": None, "reason": None, "problem": None, "started_at": None}
    if not may_start(spec, rank, guard):
        return {**record, "reason": "not_started", "exited_at": time_of_day(spec)}
    started_at = time_of_day(spec)
    confinement = Confinement()
    out = Output(log)
    command, failure = start(spec, out, confinement, rank, guard)
    if failure:
        guard.is_over()
        rank.tell(failed=True)
        out.finish()
        os.write(log, f"{failure['problem']}\n".encode())
        return {**record, **failure, "reason": "not_started", "exited_at": time_of_day(spec)}
    running = {"keeper": identity(os.getpid()), "command": identity(command), "started_at": started_at}
    write_whole("keeper.json", json.dumps(running))
    status, reason = watch(command, spec, log, rank, guard)
    exited_at = time_of_day(spec)
    guard.is_ending()
    rank.tell(failed=reason == "terminated" or status not in (None, 0))
    grace = spec["grace_seconds"]
    patience = grace if reason else min(grace, LEFTOVER_SECONDS)
    status = end_tree(
        command, status, patience, client=spec.get("client", False), relays=spec.get("relays", False), guard=guard
    )
    guard.is_over()
    out.finish()
    code = os.waitstatus_to_exitcode(status)
    ended: dict[str, Any] = {"exit_code": code} if code >= 0 else {"signal": -code}
    ended |= {"reason": reason} if reason else confinement.why_ended(code)
    return {**record, **ended, "started_at": started_at,
            "exited_at": time_of_day(spec) if reason else exited_at}  # fmt: skip


def may_start(spec: dict[str, Any], rank: Rank, guard: Guard) -> bool:
    """Wait until it is known how long the command may run, and all ranks have come; False when it must not begin."""
    validity = Validity("renewal", spec["valid_seconds"])
    while not rank.must_stop() and not validity.is_over():
        begins = rank.may_begin() if validity.hear() else None
        if begins is not None:
            guard.ends_at(validity.end)
            return begins
        caught = signal.sigtimedwait(ENDING, GATHER_SECONDS)
        if caught is not None and caught.si_signo in ENDING:
            return False
    return False


def watch(command: int, spec: dict[str, Any], log: int, rank: Rank, guard: Guard) -> tuple[int | None, str | None]:
    """Wait until the command has ended (its wait status) or must end (the reason).

    Every file looked at here may hang; the guard then ends the command when its time is over.
    """
    validity = Validity("renewal", spec["valid_seconds"])
    limit = boot_time() + spec["timeout_seconds"] if spec.get("timeout_seconds") else math.inf
    usage = Usage("usage.jsonl", command, spec)
    log_limit = LogLimit(log, spec.get("log_bytes", 0))
    while True:
        status, _ = reap(command)
        if status is not None:
            return status, why_ended(guard, validity.end, limit)
        if rank.must_stop():
            return None, "stopped"
        if validity.is_over():
            return None, "expired"
        if boot_time() > limit:
            return None, "timeout"
        guard.ends_at(min(validity.end, limit))
        if rank.another_failed():
            return None, "another_rank"
        usage.sample_when_due()
        log_limit.let_go()
        caught = signal.sigtimedwait(AWAITED, LOOK_SECONDS)
        if caught is not None and caught.si_signo in ENDING:
            return None, "terminated"


def why_ended(guard: Guard, valid_until: float, limit: float) -> str | None:
    """Why the guard has ended a command while this keeper hung at one of its files; None when it did not."""
    if not guard.ends_the_job:
        return None
    first = min(valid_until, limit)
    if boot_time() < first:
        return "terminated"
    return "expired" if valid_until == first else "timeout"


def main() -> None:
    keep(sys.argv[1])
