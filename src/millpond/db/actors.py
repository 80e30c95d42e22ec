"""Who is behind a credential: users, agents and placements as actors with the roles they have right now."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Connection, bindparam, select

from millpond.db import projects
from millpond.db.tables import agent, cached, compute, job, placement, project, volume
from millpond.model.job_spec import JobSpec
from millpond.model.people import Actor, ActorKind, Role, TokenScope, User

# Made once: they are asked with every request of an agent.
_AGENT = (
    select(agent.c.compute_id, compute.c.name, compute.c.site_id)
    .join(compute, compute.c.id == agent.c.compute_id)
    .where(agent.c.id == bindparam("wanted"), compute.c.detached_at.is_(None))
)
_CACHED_AT = (
    select(cached.c.project_id)
    .distinct()
    .join(volume, volume.c.id == cached.c.volume_id)
    .where(volume.c.site_id == bindparam("site"))
)


@dataclass(frozen=True, slots=True)
class PlacementActor:
    actor: Actor
    # False once the placement has ended or the job was placed anew: then it may do nothing at all.
    is_current: bool


def of_user(tx: Connection, value: User, scopes: frozenset[TokenScope] | None = None) -> Actor:
    return Actor(
        kind=ActorKind.USER,
        name=value.name,
        user_id=value.id,
        is_admin=value.is_admin,
        roles=projects.roles_of(tx, value.id),
        scopes=scopes,
    )


def of_agent(tx: Connection, agent_id: str) -> Actor | None:
    """An agent views the projects whose commits its site's volumes hold or are told to hold; services narrow that."""
    row = tx.execute(_AGENT, {"wanted": agent_id}).first()
    if row is None:
        return None
    held = tx.scalars(_CACHED_AT, {"site": row.site_id})
    return Actor(
        kind=ActorKind.AGENT,
        name=f"agent {row.name}",
        agent_id=agent_id,
        compute_id=row.compute_id,
        site_id=row.site_id,
        roles=dict.fromkeys(held, Role.VIEWER),
    )


def compute_of_agent(tx: Connection, agent_id: str) -> str | None:
    """The name of the attached compute that an agent spoke for."""
    query = select(compute.c.name).join(agent, agent.c.compute_id == compute.c.id)
    return tx.scalars(query.where(agent.c.id == agent_id, compute.c.detached_at.is_(None))).first()


def of_placement(tx: Connection, placement_id: str) -> PlacementActor | None:
    """A job acts for the one who submitted it: member of its project, viewer where its inputs come from."""
    query = (
        select(placement.c.ended_at, job.c.id, job.c.project_id, job.c.created_by, job.c.placement_id, job.c.spec)
        .add_columns(compute.c.site_id)
        .join(job, job.c.id == placement.c.job_id)
        .outerjoin(compute, compute.c.id == placement.c.compute_id)
        .where(placement.c.id == placement_id)
    )
    row = tx.execute(query).first()
    if row is None:
        return None
    names = {item.project for item in JobSpec.from_document(row.spec).inputs}
    inputs = tx.scalars(select(project.c.id).where(project.c.name.in_(names))) if names else ()
    actor = Actor(
        kind=ActorKind.PLACEMENT,
        name=row.created_by,
        placement_id=placement_id,
        job_id=row.id,
        site_id=row.site_id,
        roles={**dict.fromkeys(inputs, Role.VIEWER), row.project_id: Role.MEMBER},
    )
    return PlacementActor(actor, is_current=row.ended_at is None and row.placement_id == placement_id)
