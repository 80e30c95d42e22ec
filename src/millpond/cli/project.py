"""`mill project`: teams' spaces and who is in them."""

from __future__ import annotations

from typing import Annotated

import typer

from millpond.cli.command import command
from millpond.cli.session import Session
from millpond.client.credentials import config_dir, save_project
from millpond.client.people import (
    create_project,
    delete_project,
    get_project,
    list_members,
    list_projects,
    put_member,
    remove_member,
)
from millpond.model.people import Role
from millpond.wire.people import Project

app = typer.Typer()

Name = Annotated[str, typer.Argument(help="The project's name.")]
UserName = Annotated[str, typer.Argument(help="The user's name.")]


@command(app, "list")
def list_all(mill: Session) -> None:
    """List the projects you have a role in."""
    mill.out.items(
        list_projects(mill.api),
        [
            ("PROJECT", lambda p: p.name),
            ("YOUR ROLE", lambda p: p.role),
            ("CREATED", lambda p: p.created_at),
            ("DESCRIPTION", lambda p: p.description),
        ],
        empty="You have no role in any project. Ask an administrator for one.",
    )


@command(app, "show")
def show(mill: Session, name: Name) -> None:
    """Show one project."""
    _show(mill, get_project(mill.api, name))


@command(app, "create")
def create(
    mill: Session, name: Name, description: Annotated[str, typer.Option("--description", "-d", help="What for.")] = ""
) -> None:
    """Create a project."""
    project = create_project(mill.api, name, description)
    mill.out.note(f"Project {project.name} created.")
    _show(mill, project)


@command(app, "delete")
def delete(
    mill: Session, name: Name, yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False
) -> None:
    """Delete an empty project. Refused while it has datasets or jobs."""
    mill.confirm(f"Delete the project {name}?", yes=yes)
    delete_project(mill.api, name)
    mill.out.note(f"Project {name} deleted.")


@command(app, "use")
def use(mill: Session, name: Name) -> None:
    """Make a project the one meant when none is named."""
    project = get_project(mill.api, name)
    save_project(config_dir(), project.name)
    mill.out.note(f"From now on, {project.name} is meant when no project is named.")


@command(app, "members")
def members(mill: Session, name: Name) -> None:
    """List who has which role in a project."""
    mill.out.items(
        list_members(mill.api, name),
        [("USER", lambda m: m.user), ("ROLE", lambda m: m.role), ("NAME", lambda m: m.full_name)],
        empty="Nobody is in this project.",
    )


@command(app, "add-member")
def add_member(
    mill: Session, name: Name, user: UserName, role: Annotated[Role, typer.Option(help="What they may do.")]
) -> None:
    """Give somebody a role in a project, or another one."""
    member = put_member(mill.api, name, user, role)
    mill.out.note(f"{member.user} is {member.role.value} of {name}.")
    if mill.out.as_json:
        mill.out.shape(member, [])


@command(app, "remove-member")
def drop_member(mill: Session, name: Name, user: UserName) -> None:
    """Take somebody's role in a project away."""
    remove_member(mill.api, name, user)
    mill.out.note(f"{user} has no role in {name} any more.")


def _show(mill: Session, project: Project) -> None:
    mill.out.shape(
        project,
        [
            ("project", project.name),
            ("id", project.id),
            ("description", project.description),
            ("your role", project.role),
            ("created", project.created_at),
        ],
    )
