"""`mill service`: units of systemd for a server or an agent without Kubernetes."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import Annotated

import typer

from millpond.cli.command import command
from millpond.cli.session import Session
from millpond.client import service_install
from millpond.client.service_install import SYSTEM_UNITS, ServiceChanges, below, user_units
from millpond.client.service_units import ServiceKind, ServicePlan
from millpond.errors import BadRequest

app = typer.Typer()

ACCOUNT = "millpond"
_STATES = {ServiceKind.SERVER: "millpond", ServiceKind.AGENT: "millpond-agent"}
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_ACCOUNT_NAME = re.compile(r"[a-z_][a-z0-9_-]{0,31}")

Kind = Annotated[ServiceKind, typer.Argument(help="What to run: server or agent.")]
User = Annotated[bool, typer.Option("--user", help="A service of your own user, without root.")]
Root = Annotated[
    Path, typer.Option(metavar="DIR", help="Directory to take for /, as when an image of a machine is made.")
]
Force = Annotated[
    bool, typer.Option("--force", help="Also replace or remove a unit that somebody else wrote or changed.")
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Show the files without writing them.")]


@command(app, "install", context_settings={"allow_extra_args": True, "ignore_unknown_options": True})
def install(
    mill: Session,
    context: typer.Context,
    kind: Kind,
    user: User = False,
    run_as: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="User to run as.", show_default="millpond for a server, root for an agent"),
    ] = None,
    write: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="DIR", help="Directory that the server may write beside its own, like a lake. Repeatable."
        ),
    ] = None,
    env: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Variable of this shell to keep in the service's settings. Repeatable."),
    ] = None,
    root: Root = Path("/"),
    force: Force = False,
    dry_run: DryRun = False,
) -> None:
    """Write a hardened systemd unit and a file for its settings. What follows `--` goes to `mill up` or `mill agent`.

    Nothing is started; the commands that do it are printed.

    Example: mill service install server -- --host 0.0.0.0 --public-url https://mill.example.com
    """
    plan, units = _plan(kind, user=user, account=run_as, arguments=context.args, writable=write, env=env)
    changes = service_install.plan_install(plan, units, root=root.absolute(), force=force)
    if dry_run:
        _show(mill, changes)
        return
    service_install.carry_out(changes, plan.state)
    if changes.account is not None:
        mill.out.note(f"Created user {changes.account}.")
    for file in changes.files:
        mill.out.note(f"Wrote {file.path} ({file.mode:04o}).")
    for path in changes.kept:
        mill.out.note(f"Kept {path}.")
    if (folder := service_install.unreachable(plan)) is not None:
        mill.out.note(f"User {plan.account} cannot enter {folder}: install Millpond elsewhere, as in /opt/millpond.")
    _tell_next(mill, plan, user=user)


@command(app, "uninstall")
def uninstall(
    mill: Session,
    kind: Kind,
    user: User = False,
    root: Root = Path("/"),
    force: Force = False,
    dry_run: DryRun = False,
) -> None:
    """Remove the unit that `install` wrote. Settings and data stay.

    Example: mill service uninstall server
    """
    plan, units = _plan(kind, user=user)
    unit = service_install.remove(plan, units, root=root.absolute(), force=force, dry_run=dry_run)
    mill.out.note(f"{'Would remove' if dry_run else 'Removed'} {unit}.")
    control = "systemctl --user" if user else "systemctl"
    mill.out.note(f"Stop it: {control} disable --now {plan.name}; {control} daemon-reload")
    mill.out.note(f"Settings stay in {below(root.absolute(), plan.environment_file)}, data in {plan.state}.")


def _plan(
    kind: ServiceKind,
    *,
    user: bool,
    account: str | None = None,
    arguments: list[str] | None = None,
    writable: list[Path] | None = None,
    env: list[str] | None = None,
) -> tuple[ServicePlan, Path]:
    if user and account is not None:
        raise BadRequest("--user and --run-as exclude each other.", hint="A user's own service runs as that user.")
    if account is not None and not _ACCOUNT_NAME.fullmatch(account):
        raise BadRequest(f"{account!r} is not the name of a user.")
    for owned in ("--data-dir", "--state-dir"):
        if any(word == owned or word.startswith(f"{owned}=") for word in arguments or ()):
            raise BadRequest(f"{owned} is chosen by the unit.", hint="Move the directory, or link to it.")
    config = Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config") if user else Path("/etc")
    data = Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share") if user else Path("/var/lib")
    plan = ServicePlan(
        kind=kind,
        # Not resolved: the link in a virtual environment is what makes it one.
        python=Path(sys.executable).absolute(),
        arguments=arguments or (),
        account=None if user else account or (ACCOUNT if kind is ServiceKind.SERVER else "root"),
        environment_file=config / "millpond" / f"{kind}.env",
        state=data / _STATES[kind],
        writable=[path.absolute() for path in writable or ()],
        variables=_variables(env or ()),
    )
    return plan, user_units() if user else SYSTEM_UNITS


def _variables(names: list[str] | tuple[()]) -> dict[str, str]:
    """By name, from this process: a value in an argument would be read by others."""
    found = {}
    for name in names:
        if not _NAME.fullmatch(name):
            raise BadRequest(f"{name!r} is not the name of a variable.", hint="Export it, then: --env NAME")
        if name not in os.environ:
            raise BadRequest(f"{name} is not set in this shell.", hint=f"export {name}=…")
        if "\n" in os.environ[name]:
            raise BadRequest(f"{name} has several lines; an environment file holds one for each variable.")
        found[name] = os.environ[name]
    return found


def _show(mill: Session, changes: ServiceChanges) -> None:
    if mill.out.as_json:
        files = [{"path": str(one.path), "mode": f"{one.mode:04o}", "content": one.content} for one in changes.files]
        mill.out.json({"files": files, "kept": [str(path) for path in changes.kept], "user": changes.account})
        return
    if changes.account is not None:
        mill.out.line(f"# Would create user {changes.account}")
    for file in changes.files:
        mill.out.line(f"# {file.path} ({file.mode:04o})")
        mill.out.line(file.content)


def _tell_next(mill: Session, plan: ServicePlan, *, user: bool) -> None:
    control, journal = ("systemctl --user", "journalctl --user") if user else ("systemctl", "journalctl")
    mill.out.note("Next:")
    mill.out.note(f"  {control} daemon-reload")
    mill.out.note(f"  {control} enable --now {plan.name}")
    mill.out.note(f"  {journal} -f -u {plan.name}")
    if user:
        mill.out.note("  loginctl enable-linger   # so that it runs while you are signed out")
    if plan.kind is ServiceKind.SERVER:
        mill.out.note(f"The first password is in {plan.state / 'admin-password'} then.")
