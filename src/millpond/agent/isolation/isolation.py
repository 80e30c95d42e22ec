"""How jobs are kept apart on this machine: asked of it once, when the agent starts, and done for every placement."""

from __future__ import annotations

import hashlib
import json
import logging
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from millpond.agent.isolation import cgroups
from millpond.agent.isolation.accounts import Accounts
from millpond.agent.isolation.cgroups import CgroupLimits, Cgroups
from millpond.agent.isolation.outputs import take_back
from millpond.agent.isolation.view import FileView, closed_above, programs, view_of
from millpond.agent.keeper import confine
from millpond.agent.prepare import WRITABLE
from millpond.agent.service_folder import SERVICE, make_sockets
from millpond.agent.spec import Spec, write_private
from millpond.agent.state import placements_of
from millpond.model.quantity import format_bytes
from millpond.volumes.workspaces.layout import is_workspace_tree

_Saved = TypeVar("_Saved")

log = logging.getLogger(__name__)

CONFINEMENT = "confinement.json"
HOME = "home"
# Where inputs are shown beside their own paths, as containers show them.
DATA = Path("/data")


@dataclass(frozen=True, slots=True)
class Isolation:
    """What this agent does for its jobs.

    `accounts`: each project's jobs run under an account of their own; None: under the agent's, for the reason
    `why_shared`. `views`: they see only files that are theirs to see. `hidden` are directories, by what they are,
    that no job may see into.
    """

    accounts: Accounts | None = None
    views: bool = False
    limits: Cgroups | None = None
    why_shared: str = "disabled with --job-uids none"
    shows_data: bool = False
    # Without control groups the memory of each process is limited by itself.
    limits_processes: bool = False
    hidden: dict[str, Sequence[Path]] = field(default_factory=dict)

    def hide(self, what: str, directories: Sequence[Path]) -> None:
        """From all jobs that start from now on, instead of those that were hidden as `what` before."""
        self.hidden[what] = directories

    def group_of(self, number: int) -> int | None:
        """The group that may enter what is cached of the project with this number; None where nobody is kept out."""
        if self.accounts is None:
            return None
        try:
            return self.accounts.of(number)
        except OSError as error:
            log.warning("no account can read cached commits of project %d: %s", number, error)
            return self.accounts.first

    def hand_over(self, directory: Path, spec: Spec) -> tuple[int | None, list[Path]]:
        """Give the directories of a prepared placement to its account. The account, None for the agent's; and them."""
        self._check_mounts(spec)
        uid = self.accounts.of(spec.account) if self.accounts else None
        has_files = (directory / SERVICE).is_dir()
        own = [directory / name for name in (*WRITABLE, HOME, *([SERVICE] if has_files else []))]
        own += [Path(spec.scratch)] if spec.scratch else []
        (directory / HOME).mkdir(exist_ok=True)
        if uid is not None:
            for path in own:
                _give(path, uid)
            if not self.views:
                directory.chmod(0o711)
        if spec.asked.service is not None:
            own.append(make_sockets(directory, spec.account, uid))
        return uid, own

    def prepare(self, directory: Path, spec: Spec) -> None:
        """Make a prepared placement ready for its account, and write what the keeper has to do for it."""
        uid, own = self.hand_over(directory, spec)
        limits = CgroupLimits(spec.asked.cpu, spec.asked.memory_bytes)
        groups = self.limits.make(spec.placement, limits) if self.limits else ()
        joined = self.limits.io.enter() if self.limits and self.limits.io else None
        asked = format_bytes(spec.asked.memory_bytes)
        how: dict[str, Any] = {
            "uid": uid,
            "gid": uid,
            "groups": [] if self.views or not self.accounts else [self.accounts.of(one) for one in spec.accounts],
            "view": asdict(self._view(own, spec)) if uid is not None and self.views else None,
            "cgroups": groups,
            # Shared with other jobs: neither killed nor removed with this one.
            "joins": [str(joined)] if joined else [],
            "data_bytes": spec.asked.memory_bytes if self.limits_processes else 0,
            "memory_problem": f"Killed for exceeding its memory limit of {asked}.",
            "env": _names(spec, directory) if uid is not None else {},
            "names": _entries(spec, directory, uid) if uid is not None else {},
        }
        write_private(directory / CONFINEMENT, json.dumps(how))

    def _check_mounts(self, spec: Spec) -> None:
        """OSError for a directory that is missing, or would show what no job may see into."""
        private = [Path(os.path.realpath(path)) for paths in self.hidden.values() for path in paths]
        for mount in spec.mounts:
            source = Path(os.path.realpath(mount.source))
            if not source.is_dir():
                raise OSError(f"the directory {mount.source} that it mounts does not exist on this machine")
            if any(is_workspace_tree(source, path) for path in private):
                continue  # the tree of a workspace, which the server lets it have
            if any(path.is_relative_to(source) or source.is_relative_to(path) for path in private):
                raise OSError(f"the directory {mount.source} that it mounts overlaps with Millpond's own directories")

    def _view(self, own: list[Path], spec: Spec) -> FileView:
        return view_of(
            private=[path for paths in self.hidden.values() for path in paths if path.is_dir()],
            own=own,
            inputs={Path(mount.source): mount.target for mount in spec.inputs},
            programs=programs(spec.env),
            data=self.shows_data,
            mounts=spec.mounts,
        )


def groups_of(directory: Path) -> tuple[str, ...]:
    """The control groups of a placement; none if it has none."""
    return tuple(_confinement(directory).get("cgroups", ()))


def safely(save: Callable[[Spec, Path], _Saved]) -> Callable[[Spec, Path], _Saved]:
    """Saves outputs as `save` does, once they are known to be the job's own. OSError for others."""

    def saved(spec: Spec, output: Path) -> _Saved:
        uid = _confinement(output.parent).get("uid")
        if uid is not None:
            take_back(output, uid)
        return save(spec, output)

    return saved


def _confinement(directory: Path) -> dict[str, Any]:
    try:
        how: dict[str, Any] = json.loads((directory / CONFINEMENT).read_bytes())
    except FileNotFoundError:
        return {}
    return how


def detect(state_dir: Path, accounts: Accounts | None, *, engine_shows_own: bool = False) -> Isolation:
    """What this machine lets the agent do. Never less than it can, and `why_shared` says what is missing.

    `engine_shows_own`: every job is in a container that sees its own directory and inputs, and nothing else.
    """
    limits = cgroups.find(agent=hashlib.sha256(str(state_dir.resolve()).encode()).hexdigest()[:12])
    hidden: dict[str, Sequence[Path]] = {"state": [state_dir]}
    _open_state(state_dir, 0o700)
    by_process = limits is None or not limits.has_memory
    if accounts is None:
        return Isolation(limits=limits, limits_processes=by_process, views=engine_shows_own, hidden=hidden)
    allowed = _ask(accounts.first)
    why_not = allowed["account"]
    views = engine_shows_own or allowed["view"] is None
    closed = closed_above(state_dir)
    if why_not is None and not views and closed is not None:
        why_not = f"other accounts cannot enter {closed}: choose another --state-dir"
    if why_not is not None:
        if not engine_shows_own:
            log.warning("all jobs run under this account and can read each other's files: %s", why_not)
        return Isolation(
            limits=limits, limits_processes=by_process, why_shared=why_not, views=engine_shows_own, hidden=hidden
        )
    if not views:
        _open_state(state_dir, 0o711)
    return Isolation(
        accounts=accounts,
        views=views,
        limits=limits,
        why_shared="",
        shows_data=views and _has_data(),
        limits_processes=by_process,
        hidden=hidden,
    )


def _open_state(state_dir: Path, mode: int) -> None:
    """To nobody; or for jobs to pass through, where no view leads them to their own directories."""
    for directory in (state_dir, placements_of(state_dir)):
        directory.mkdir(parents=True, exist_ok=True)
        directory.chmod(mode)


def _ask(uid: int) -> dict[str, str | None]:
    if os.geteuid() != 0:
        return {"account": "the agent does not run as root", "view": "the agent does not run as root"}
    tried = subprocess.run(
        [sys.executable, "-I", "-S", confine.__file__, str(uid)], stdout=subprocess.PIPE, timeout=60, check=True
    )
    answer: dict[str, str | None] = json.loads(tried.stdout)
    return answer


def _has_data() -> bool:
    """Whether there is an empty directory to show inputs in. Somebody's own is left as it is."""
    with suppress(OSError):
        DATA.mkdir(exist_ok=True)
        return not any(DATA.iterdir())
    return False


def account_name(spec: Spec) -> str:
    return f"mill-{spec.project}"


def passwd_entry(spec: Spec, directory: Path, uid: int) -> str:
    """What /etc/passwd says of the account, for programs that ask there."""
    return f"{account_name(spec)}:x:{uid}:{uid}:Millpond job:{directory / HOME}:/bin/sh"


def _entries(spec: Spec, directory: Path, uid: int) -> dict[str, str]:
    return {"passwd": passwd_entry(spec, directory, uid), "group": f"{account_name(spec)}:x:{uid}:"}


def _names(spec: Spec, directory: Path) -> dict[str, str]:
    """Who the job is to programs that ask, unless whoever submitted it said something else."""
    name = account_name(spec)
    told = {"HOME": str(directory / HOME), "USER": name, "LOGNAME": name}
    return {key: value for key, value in told.items() if spec.env.get(key) in (None, os.environ.get(key))}


def _give(path: Path, uid: int) -> None:
    """All of it to this account, for nobody else to look into. What was copied is new: nothing else links to it."""
    path.chmod(0o700)
    os.chown(path, uid, uid)
    for top, directories, files in os.walk(path):
        for name in (*directories, *files):
            os.chown(os.path.join(top, name), uid, uid, follow_symlinks=False)  # noqa: PTH118 - many of them
