"""`mill project`: teams' spaces and who is in them."""

from __future__ import annotations

from typing import Annotated

import typer

from millpond.cli import project_quota
from millpond.cli.command import command
from millpond.cli.project_settings import Name, add_settings_commands, gpus, show_project
from millpond.cli.session import Session
from millpond.client.credentials import config_dir, save_project
from millpond.client.people import (
    delete_project,
    get_project,
    list_members,
    list_projects,
    put_member,
    remove_member,
)
from millpond.model.people import Role

app = typer.Typer()
project_quota.add_to(app)

UserName = Annotated[str, typer.Argument(help="Name of the user.")]


@command(app, "list")
def list_all(mill: Session) -> None:
    """List your projects, with the GPUs that each is guaranteed, may expect, holds and waits for.

    Example: mill project list
    """
    mill.out.items(
        list_projects(mill.api),
        [
            ("PROJECT", lambda p: p.name),
            ("YOUR ROLE", lambda p: p.role),
            ("QUOTA", lambda p: gpus(p.quota + sum(p.pool_quotas.values()))),
            ("WEIGHT", lambda p: gpus(p.weight)),
            ("LIMIT", lambda p: gpus(p.limit)),
            ("SHARE", lambda p: gpus(p.share)),
            ("ALLOCATED", lambda p: gpus(p.allocated)),
            ("PENDING GPUS", lambda p: gpus(p.pending_gpus)),
            ("PENDING JOBS", lambda p: p.pending_jobs),
            ("CREATED", lambda p: p.created_at),
            ("DESCRIPTION", lambda p: p.description),
        ],
        empty="No projects. Ask an administrator for a role in one.",
    )


@command(app, "show")
def show(mill: Session, name: Name) -> None:
    """Show a project.

    Example: mill project show vision
    """
    show_project(mill, get_project(mill.api, name))


@command(app, "delete")
def delete(
    mill: Session, name: Name, yes: Annotated[bool, typer.Option("--yes", "-y", help="Skip the confirmation.")] = False
) -> None:
    """Delete an empty project. Refused while it has datasets or jobs.

    Example: mill project delete vision
    """
    mill.confirm(f"Delete the project {name}?", yes=yes)
    delete_project(mill.api, name)
    mill.out.note(f"Project {name} deleted.")


@command(app, "use")
def use(mill: Session, name: Name) -> None:
    """Set the default project.

    Example: mill project use vision
    """
    project = get_project(mill.api, name)
    save_project(config_dir(), project.name)
    mill.out.note(f"Default project: {project.name}")


@command(app, "set")
def set_default(mill: Session, name: Name) -> None:
    """Set the default project; the same as `mill project use`.

    Example: mill project set vision
    """
    use(mill, name)


@command(app, "members")
def members(mill: Session, name: Name) -> None:
    """List the members of a project and their roles.

    Example: mill project members vision
    """
    mill.out.items(
        list_members(mill.api, name),
        [("USER", lambda m: m.user), ("ROLE", lambda m: m.role), ("NAME", lambda m: m.full_name)],
        empty="No members.",
    )


@command(app, "add-member")
def add_member(
    mill: Session, name: Name, user: UserName, role: Annotated[Role, typer.Option(help="Role in the project.")]
) -> None:
    """Add a member to a project, or change their role.

    Example: mill project add-member vision ada --role member
    """
    member = put_member(mill.api, name, user, role)
    mill.out.note(f"{member.user} is now {member.role.value} of {name}.")
    if mill.out.as_json:
        mill.out.shape(member, [])


@command(app, "remove-member")
def drop_member(mill: Session, name: Name, user: UserName) -> None:
    """Remove a member from a project.

    Example: mill project remove-member vision ada
    """
    remove_member(mill.api, name, user)
    mill.out.note(f"{user} is no longer a member of {name}.")


add_settings_commands(app)
