"""Projects and the roles people have in them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, Row, Select, bindparam, func, select

from millpond.db.tables import account, dataset, job, member, project, run, user, workspace
from millpond.model.names import SYSTEM_DATASETS
from millpond.model.people import Member, Project, Role
from millpond.model.project_shares import ProjectShares

# Made once: they are asked with nearly every request.
_BY_NAME = select(project).where(project.c.name == bindparam("wanted"))
_ROLES = select(member.c.project_id, member.c.role).where(member.c.user_id == bindparam("wanted"))


def insert(tx: Connection, value: Project) -> None:
    """With the number of its account on computes. IntegrityError when the name is taken."""
    tx.execute(
        project.insert().values(
            id=value.id,
            name=value.name,
            description=value.description,
            created_at=value.created_at,
            shares=value.shares.to_document(),
        )
    )
    # One that came back from the lake may have its number still.
    if tx.scalars(select(account.c.number).where(account.c.project_id == value.id)).first() is None:
        tx.execute(account.insert().values(project_id=value.id))


def accounts(tx: Connection, project_ids: Collection[str]) -> Mapping[str, int]:
    """The numbers from which agents make the accounts that jobs of these projects run under, in order of the ids."""
    if not project_ids:
        return {}
    query = select(account).where(account.c.project_id.in_(sorted(project_ids))).order_by(account.c.project_id)
    return {row.project_id: row.number for row in tx.execute(query)}


def get(tx: Connection, project_id: str) -> Project | None:
    row = tx.execute(select(project).where(project.c.id == project_id)).first()
    return _project(row) if row else None


def find(tx: Connection, name: str) -> Project | None:
    row = tx.execute(_BY_NAME, {"wanted": name}).first()
    return _project(row) if row else None


def names_of(tx: Connection, project_ids: Collection[str]) -> Mapping[str, str]:
    """Of those of them that there are, by id."""
    query = select(project.c.id, project.c.name).where(project.c.id.in_(sorted(project_ids)))
    return {row.id: row.name for row in tx.execute(query)} if project_ids else {}


def page(tx: Connection, *, among: Collection[str] | None, limit: int, after: str = "") -> Sequence[Project]:
    """At most `limit` projects by name, behind the name `after`; only those whose id is `among`, None meaning all."""
    query = select(project).where(project.c.name > after).order_by(project.c.name).limit(limit)
    return [_project(row) for row in tx.execute(_only(query, among))]


def names(tx: Connection, *, among: Collection[str] | None) -> Sequence[str]:
    """Names of the projects whose id is `among`, None meaning all."""
    return tx.scalars(_only(select(project.c.name).order_by(project.c.name), among)).all()


def lock(tx: Connection, project_id: str) -> None:
    """Alone until the transaction ends: everything that changes who is in the project begins here."""
    tx.execute(select(project.c.id).where(project.c.id == project_id).with_for_update())


def raise_sequence(tx: Connection, project_id: str) -> None:
    """More of the lake may be in use than before. Alone with the project's packs and pages until the end."""
    tx.execute(project.update().where(project.c.id == project_id).values(sequence=project.c.sequence + 1))


def lock_sequence(tx: Connection, project_id: str) -> int | None:
    """The sequence, which nobody raises until the transaction ends; None for a project that is gone."""
    # Not FOR UPDATE: rows that refer to the project may be inserted meanwhile.
    query = select(project.c.sequence).where(project.c.id == project_id).with_for_update(key_share=True)
    return tx.scalars(query).first()


def sequence(tx: Connection, project_id: str) -> int | None:
    return tx.scalars(select(project.c.sequence).where(project.c.id == project_id)).first()


def save(tx: Connection, value: Project) -> None:
    """Its description and shares; what else there is of it never changes."""
    values = {"description": value.description, "shares": value.shares.to_document()}
    tx.execute(project.update().where(project.c.id == value.id).values(**values))


def all_of(tx: Connection) -> Sequence[Project]:
    """By name."""
    return [_project(row) for row in tx.execute(select(project).order_by(project.c.name))]


def delete(tx: Connection, project_id: str) -> None:
    tx.execute(project.delete().where(project.c.id == project_id))


def contents(tx: Connection, project_id: str, *, limit: int = 5) -> Sequence[str]:
    """What stands in the way of deleting a project: `dataset xray`, `job train`, at most `limit` of each."""
    found: list[str] = []
    for table, noun in ((dataset, "dataset"), (job, "job"), (run, "run"), (workspace, "workspace")):
        query = select(table.c.name).where(table.c.project_id == project_id).order_by(table.c.name).limit(limit)
        if table is not dataset:
            query = query.distinct()
        found.extend(f"{noun} {name}" for name in tx.scalars(query) if name not in SYSTEM_DATASETS)
    return found


def roles_of(tx: Connection, user_id: str) -> Mapping[str, Role]:
    """Project ids and the role this user has there."""
    rows = tx.execute(_ROLES, {"wanted": user_id})
    return {row.project_id: Role(row.role) for row in rows}


def members(tx: Connection, project_id: str) -> Sequence[tuple[Member, str]]:
    """Everybody with a role, by name, each with the full name."""
    query = (
        select(member.c.project_id, member.c.user_id, user.c.name, user.c.full_name, member.c.role)
        .join(user, user.c.id == member.c.user_id)
        .where(member.c.project_id == project_id)
        .order_by(user.c.name)
    )
    return [(Member(row.project_id, row.user_id, row.name, Role(row.role)), row.full_name) for row in tx.execute(query)]


def set_role(tx: Connection, project_id: str, user_id: str, role: Role) -> None:
    key = (member.c.project_id == project_id) & (member.c.user_id == user_id)
    changed = tx.execute(member.update().where(key).values(role=role.value)).rowcount
    if not changed:
        tx.execute(member.insert().values(project_id=project_id, user_id=user_id, role=role.value))


def remove_member(tx: Connection, project_id: str, user_id: str) -> bool:
    """Whether there was such a role."""
    key = (member.c.project_id == project_id) & (member.c.user_id == user_id)
    return tx.execute(member.delete().where(key)).rowcount > 0


def only_administered_by(tx: Connection, user_id: str) -> Sequence[str]:
    """Names of the projects whose one administrator is this user, each locked as by `lock`."""
    admins = (
        select(member.c.project_id)
        .where(member.c.role == Role.ADMIN.value)
        .group_by(member.c.project_id)
        .having(func.count() == 1)
    )
    query = (
        select(project.c.name)
        .join(member, member.c.project_id == project.c.id)
        .where(member.c.user_id == user_id, member.c.role == Role.ADMIN.value, project.c.id.in_(admins))
        .order_by(project.c.name)
        .with_for_update(of=project)
    )
    return tx.scalars(query).all()


def _only(query: Select[Any], among: Collection[str] | None) -> Select[Any]:
    return query if among is None else query.where(project.c.id.in_(among))


def _project(row: Row[*tuple[Any, ...]]) -> Project:
    shares = ProjectShares.from_document(row.shares)
    return Project(row.id, row.name, row.description, row.created_at, shares)
