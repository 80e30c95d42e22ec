"""Write and remove the files of a service; nobody else's are touched."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from millpond.client.files import write_atomically
from millpond.client.service_units import ServicePlan, environment_text, is_unchanged, unit_text
from millpond.errors import InUse, NotFound, SetupError

SYSTEM_UNITS = Path("/etc/systemd/system")


@dataclass(frozen=True, slots=True)
class ServiceFile:
    path: Path
    content: str
    mode: int


@dataclass(frozen=True, slots=True)
class ServiceChanges:
    """What an installation does. `account` is a user that is made; `kept` is there already, and stays as it is."""

    files: Sequence[ServiceFile]
    kept: Sequence[Path]
    account: str | None


def plan_install(plan: ServicePlan, units: Path, *, root: Path, force: bool = False) -> ServiceChanges:
    """InUse for a unit that somebody else wrote, or changed. `root`: where the machine's `/` lies."""
    unit, environment = below(root, units / plan.name), below(root, plan.environment_file)
    if unit.exists() and not force:
        unchanged = is_unchanged(unit.read_text("utf-8", errors="replace"))
        if not unchanged:
            why = "was not written by Millpond" if unchanged is None else "was changed after Millpond wrote it"
            raise InUse(f"{unit} {why}.", hint="Move it away, or overwrite it: --force")
    files = [ServiceFile(unit, unit_text(plan), 0o644)]
    kept = [environment] if environment.exists() else []
    if not kept:
        files.append(ServiceFile(environment, environment_text(plan), 0o600))
    elif plan.variables:
        raise InUse(f"{environment} exists; its settings stay.", hint="Edit it, and leave --env out.")
    missing = plan.account is not None and root == Path("/") and not _has_account(plan.account)
    return ServiceChanges(files, kept, plan.account if missing else None)


def carry_out(changes: ServiceChanges, home: Path) -> None:
    """SetupError if this machine does not let us."""
    try:
        if changes.account is not None:
            _add_account(changes.account, home)
        for file in changes.files:
            file.path.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(file.path, file.content.encode(), mode=file.mode)
    except PermissionError as error:
        raise SetupError(
            f"Cannot write {error.filename}: {error.strerror}.",
            hint="Run it as root, or use --user for a service of yours.",
        ) from error


def remove(plan: ServicePlan, units: Path, *, root: Path, force: bool = False, dry_run: bool = False) -> Path:
    """The unit that was removed; settings and data stay. NotFound, or InUse for somebody else's."""
    unit = below(root, units / plan.name)
    if not unit.exists():
        raise NotFound(f"No {plan.name} in {unit.parent}.")
    if is_unchanged(unit.read_text("utf-8", errors="replace")) is None and not force:
        raise InUse(f"{unit} was not written by Millpond.", hint="Remove it yourself, or use --force.")
    if not dry_run:
        try:
            unit.unlink()
        except PermissionError as error:
            raise SetupError(f"Cannot remove {unit}: {error.strerror}.", hint="Run it as root.") from error
    return unit


def unreachable(plan: ServicePlan) -> Path | None:
    """The directory that keeps the service's user from its interpreter; None if there is none."""
    if plan.account in (None, "root"):
        return None
    folders = [*plan.python.parents, *plan.python.resolve().parents]
    return next((folder for folder in folders if not folder.stat().st_mode & stat.S_IXOTH), None)


def below(root: Path, path: Path) -> Path:
    return root / path.relative_to("/")


def user_units() -> Path:
    return Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config") / "systemd" / "user"


def _has_account(name: str) -> bool:
    """Asked of `id`, which knows accounts of directories, too."""
    program = shutil.which("id")
    return (
        program is not None and subprocess.run([program, "-u", name], capture_output=True, check=False).returncode == 0
    )


def _add_account(name: str, home: Path) -> None:
    program = shutil.which("useradd", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
    if os.geteuid() != 0 or program is None:
        raise SetupError(f"User {name} does not exist.", hint=f"Create it: useradd --system --home-dir {home} {name}")
    shell = "/usr/sbin/nologin"
    done = subprocess.run(
        [program, "--system", "--user-group", "--home-dir", str(home), "--no-create-home", "--shell", shell, name],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode != 0:
        raise SetupError(f"Cannot create user {name}: {done.stderr.strip()}")
