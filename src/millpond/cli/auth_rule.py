"""`mill auth rule`: what groups of a provider give in projects."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from millpond.cli.command import command
from millpond.cli.prompts import read_secret
from millpond.cli.session import Session
from millpond.client.sign_in import create_rule, delete_rule, list_providers, list_rules, test_rules
from millpond.errors import BadRequest
from millpond.model.people import Role

app = typer.Typer(help="Manage rules that give groups of a provider roles in projects.")

Provider = Annotated[str | None, typer.Option(metavar="NAME", help="Provider whose groups count (default: all).")]


@command(app, "add")
def add(
    mill: Session,
    group: Annotated[str, typer.Argument(help="Name of the group at the provider; `*` stands for anything.")],
    to_project: Annotated[
        str | None, typer.Option("--to", metavar="PROJECT", help="Project to give a role in.")
    ] = None,
    role: Annotated[Role | None, typer.Option(help="Role in the project.")] = None,
    site_admin: Annotated[bool, typer.Option("--site-admin", help="Make them site administrators instead.")] = False,
    provider: Provider = None,
) -> None:
    """Give people of a group a role in a project, from their next sign-in on, for as long as they are in it.

    Example: mill auth rule add data-team --to vision --role member
    """
    if site_admin == (to_project is not None) or (role is not None) == site_admin:
        raise BadRequest("Give --to PROJECT with --role ROLE, or --site-admin.", hint="See: mill auth rule add --help")
    rule = create_rule(mill.api, group, project=to_project, role=role, provider=provider)
    gives = f"{rule.role.value} of {rule.project}" if rule.project else "site administrators"
    mill.out.note(f"Rule {rule.id} added: people of {group} become {gives} at their next sign-in.")
    if mill.out.as_json:
        mill.out.shape(rule, [])


@command(app, "list")
def list_all(mill: Session) -> None:
    """List rules.

    Example: mill auth rule list
    """
    mill.out.items(
        list_rules(mill.api),
        [
            ("ID", lambda one: one.id),
            ("GROUP", lambda one: one.group),
            ("PROVIDER", lambda one: one.provider or "all"),
            ("PROJECT", lambda one: one.project or "(site)"),
            ("ROLE", lambda one: one.role),
            ("CREATED", lambda one: one.created_at),
            ("BY", lambda one: one.created_by),
        ],
        empty="No rules: groups give nobody a role. Add one: mill auth rule add GROUP --to PROJECT --role member",
    )


@command(app, "test")
def test(
    mill: Session,
    claims: Annotated[
        Path,
        typer.Option(metavar="FILE", help="JSON with the claims of somebody (- for stdin); of an ID token, or so."),
    ],
    provider: Annotated[
        str | None, typer.Option(metavar="NAME", help="Provider they sign in with.", show_default="the only one")
    ] = None,
) -> None:
    """Show which roles somebody with these claims would get, and why. Nothing is changed.

    Example: mill auth rule test --claims claims.json --provider corp
    """
    try:
        document = json.loads(read_secret(claims, "JSON object"))
    except ValueError as error:
        raise BadRequest(f"{claims} is not JSON: {error}") from error
    if not isinstance(document, dict):
        raise BadRequest(f"{claims} holds no JSON object.", hint='Like {"sub": "1", "groups": ["data-team"]}')
    tested = test_rules(mill.api, provider or _only_provider(mill), document)
    if mill.out.as_json:
        mill.out.shape(tested, [])
        return
    if tested.refused:
        mill.out.note(f"They would not be let in: {tested.refused}")
        return
    mill.out.note(f"{tested.name} would sign in as {tested.user or 'a new user'}.")
    mill.out.note(f"Groups: {', '.join(tested.groups) or 'none' if tested.groups is not None else 'not told'}")
    mill.out.items(
        tested.reasons,
        [
            ("PROJECT", lambda one: one.project or "(site)"),
            ("ROLE NOW", lambda one: one.before or "-"),
            ("ROLE THEN", lambda one: one.after or "-"),
            ("WHY", lambda one: one.text),
        ],
        empty="No rule fits: they would get no role.",
    )


@command(app, "rm")
def remove(
    mill: Session,
    rule: Annotated[str, typer.Argument(help="Id of the rule.")],
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Skip the confirmation.")] = False,
) -> None:
    """Remove a rule. Roles that it gave go at the next sign-in of each.

    Example: mill auth rule rm 3fa2c1
    """
    mill.confirm(f"Remove the rule {rule}?", yes=yes)
    delete_rule(mill.api, rule)
    mill.out.note(f"Rule {rule} removed.")


def _only_provider(mill: Session) -> str:
    known = [one.name for one in list_providers(mill.api).items]
    if len(known) != 1:
        told = f"one of {', '.join(known)}" if known else "there is none yet"
        raise BadRequest(f"Which provider? {told}", hint="Add --provider NAME.")
    return known[0]
