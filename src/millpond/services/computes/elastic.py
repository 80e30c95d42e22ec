"""Elastic computes as administrators keep them: created, changed, listed and removed."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from sqlalchemy import Connection
from sqlalchemy.exc import IntegrityError

from millpond.db import computes, elastic, server, volumes
from millpond.decide.computes import NodeView
from millpond.errors import BadName, InUse, Invalid, NameTaken
from millpond.model.elastic import ElasticCompute, ElasticNode, ElasticSpec, ElasticState
from millpond.model.ids import new_id
from millpond.model.people import Actor
from millpond.model.quantity import format_count
from millpond.services.computes.provisioners import CommandProvisioner, open_provisioner
from millpond.services.deps import Deps
from millpond.services.listing import Listing, page_of, text_of
from millpond.services.people import access, audit
from millpond.services.places import sites

TOPIC = "elastic"
_SHOWN = 50
_NAME = re.compile(r"[a-z]([a-z0-9-]{0,38}[a-z0-9])?")
_DRIVERS = ("process", "podman")


@dataclass(frozen=True, slots=True)
class ElasticView:
    """An elastic compute and its newest machines."""

    elastic: ElasticCompute
    nodes: Sequence[ElasticNode]

    def count(self, *states: ElasticState) -> int:
        return sum(node.state in states for node in self.nodes)


def create(deps: Deps, actor: Actor, name: str, spec: ElasticSpec) -> ElasticView:
    """NameTaken if a compute or an elastic compute has the name."""
    with deps.db.read() as tx:
        if elastic.find(tx, name) is not None:
            raise NameTaken(f"Elastic compute {name!r} already exists.", hint=f"Change it: mill elastic update {name}")
    return put(deps, actor, name, spec)


def put(deps: Deps, actor: Actor, name: str, spec: ElasticSpec) -> ElasticView:
    """Create or replace it. Machines that are there stay; limits apply to them at once."""
    _check(deps, name, spec)
    now = deps.clock.now()
    try:
        with deps.db.write() as tx:
            sites.find(tx, spec.site)
            before = elastic.find(tx, name)
            if before is None:
                _check_free(tx, name)
                elastic.insert(tx, ElasticCompute(new_id(), name, spec, now, actor.name, now, actor.name))
            else:
                # Somebody has looked after it: it is tried again at once.
                changed = replace(
                    before, spec=spec, changed_at=now, changed_by=actor.name, failures=0, retry_at=None, problem=None
                )
                elastic.change(tx, changed)
            action = "elastic.create" if before is None else "elastic.update"
            audit.record(
                tx, now=now, actor=actor, action=action, subject=name,
                before=_told(before.spec) if before else None, after=_told(spec),
            )  # fmt: skip
    except IntegrityError as error:
        raise NameTaken(f"Elastic compute {name!r} is being created by somebody else.", hint="Try again.") from error
    deps.events.wake(TOPIC)
    return get(deps, name)


def _told(spec: ElasticSpec) -> dict[str, object]:
    """Of an elastic compute, for the audit log. What its provisioner is given may hold a secret: only the names."""
    return {**audit.values_of(spec), "options": sorted(spec.options)}


def remove(deps: Deps, actor: Actor, name: str) -> None:
    """InUse while it has machines: nobody would delete them any more."""
    with deps.db.write() as tx:
        found = find(tx, name)
        living = elastic.living_nodes(tx, [found.id])
        if living:
            raise InUse(
                f"Elastic compute {name!r} has {format_count(len(living), 'machine')}: "
                f"{', '.join(node.name for node in living[:5])}.",
                hint=f"Let them go first: mill elastic update {name} --min 0 --max 0",
                depends=[f"machine {node.name}" for node in living],
            )
        elastic.delete(tx, found.id)
        audit.record(tx, now=deps.clock.now(), actor=actor, action="elastic.delete", subject=name,
                     before=_told(found.spec))  # fmt: skip


def get(deps: Deps, name: str) -> ElasticView:
    with deps.db.read() as tx:
        return _view(tx, find(tx, name))


def list_all(deps: Deps, *, limit: int, cursor: str | None) -> Listing[ElasticView]:
    with deps.db.read() as tx:
        found = [_view(tx, one) for one in elastic.page(tx, limit=limit + 1, after=text_of(cursor))]
    return page_of(found, limit, key=lambda view: view.elastic.name)


def find(tx: Connection, name: str) -> ElasticCompute:
    found = elastic.find(tx, name)
    if found is None:
        raise access.not_found("elastic compute", name, [one.name for one in elastic.all_of(tx)])
    return found


def provisioner_of(deps: Deps, value: ElasticCompute) -> CommandProvisioner:
    """Invalid if its commands are not there (any more)."""
    with deps.db.read() as tx:
        row = server.get(tx)
    return open_provisioner(
        deps.settings.provisioners,
        value.spec.provisioner,
        owner=f"mill-{row.database_id if row else 'unknown'}"[:63],
        elastic=value.name,
        options=value.spec.options,
    )


def possible_nodes(tx: Connection) -> list[NodeView]:
    """What could be created, as empty nodes: a job that fits one of them can run some day."""
    return [node_of(tx, one) for one in elastic.all_of(tx) if one.spec.maximum > 0]


def node_of(tx: Connection, value: ElasticCompute) -> NodeView:
    """A new machine of this elastic compute, as plans see it."""
    spec = value.spec
    site = sites.find(tx, spec.site)
    return NodeView(
        compute_id="",
        compute=value.name,
        site_id=site.id,
        name=value.name,
        connected=True,
        cpus=spec.cpus,
        memory_bytes=spec.memory_bytes,
        gpus=spec.gpus,
        gpu_model=spec.gpu_type,
        gpu_memory_bytes=spec.gpu_memory_bytes,
        labels=spec.labels,
        containers=spec.driver == "podman",
        gangs=spec.driver == "process",
        mpi=spec.driver in ("process", "podman"),
        services=True,
        routers=True,
        driver=spec.driver,
        reached=frozenset({"exec", "ports"}),
        elastic=value.name,
    )


def has_volume(tx: Connection, value: ElasticCompute) -> bool:
    """True if its site has a volume: a job with code or data can run nowhere else."""
    return any(volume.site == value.spec.site for volume in volumes.all_of(tx))


def known_names(tx: Connection) -> list[str]:
    return [one.name for one in elastic.all_of(tx)]


def joined(tx: Connection, join_token_id: str, compute_id: str) -> None:
    """Note that the agent of a machine has joined with its token; nothing for other tokens."""
    node = elastic.node_of_token(tx, join_token_id)
    if node is None:
        return
    elastic.change_node(tx, replace(node, compute_id=compute_id))
    found = elastic.lock(tx, node.elastic_id)
    if found is not None and found.spec.trust_all:
        computes.change(tx, compute_id, trusts_all=True)


def _view(tx: Connection, value: ElasticCompute) -> ElasticView:
    living = elastic.living_nodes(tx, [value.id])
    known = {node.id for node in living}
    gone = [node for node in elastic.nodes_of(tx, value.id, limit=_SHOWN) if node.id not in known]
    return ElasticView(value, [*living, *gone[: max(0, _SHOWN - len(living))]])


def _check(deps: Deps, name: str, spec: ElasticSpec) -> None:
    if not _NAME.fullmatch(name):
        raise BadName(
            f"{name!r} is not a valid name for an elastic compute.",
            hint="Use 1 to 40 lower-case letters, digits and '-', starting with a letter: machines are named after it.",
        )
    if spec.minimum > spec.maximum:
        raise Invalid("The minimum is larger than the maximum.", fields=["minimum", "maximum"])
    if spec.driver not in _DRIVERS:
        raise Invalid(f"Driver {spec.driver!r} cannot be used.", hint=f"One of: {', '.join(_DRIVERS)}.")
    open_provisioner(deps.settings.provisioners, spec.provisioner, owner="", elastic=name, options=spec.options)


def _check_free(tx: Connection, name: str) -> None:
    if computes.find(tx, name) is not None:
        raise NameTaken(f"A compute is named {name!r}.", hint="Jobs name either: choose another name.")
