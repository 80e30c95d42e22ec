"""Computes, join tokens and tests of computes as the wire shows them."""

from __future__ import annotations

from collections.abc import Sequence

from millpond.model.compute import ComputeTest, JoinToken
from millpond.services.computes.computes import ComputeView, NodeUse
from millpond.wire import computes
from millpond.wire.trust import Trust

_CLUSTERS = frozenset({"kubernetes", "slurm", "ray"})


def compute(view: ComputeView, let_in: Sequence[str]) -> computes.Compute:
    """`let_in` are the names of projects that may use it, as far as they may be told."""
    found, nodes = view.compute, [node(use) for use in view.nodes]
    return computes.Compute(
        id=found.id,
        name=found.name,
        kind="cluster" if found.driver in _CLUSTERS else "machine",
        site=found.site,
        driver=found.driver,
        capabilities=computes.Capabilities.model_validate(found.capabilities) if found.capabilities else None,
        version=found.agent.version if found.agent else "",
        health=view.health.value,
        connected=view.connected,
        seen_at=found.seen_at,
        created_at=found.created_at,
        cordoned=found.cordoned_at is not None,
        cordoned_by=found.cordoned_by,
        cordoned_at=found.cordoned_at,
        revoked_at=found.revoked_at,
        trust=Trust(shared=view.trust.shared, all=view.trust.all, projects=list(let_in)),
        declared=any(one.declared for one in nodes),
        cpus=sum(one.cpus for one in nodes if one.left_at is None),
        cpu_used=sum(one.cpu_used for one in nodes),
        memory_bytes=sum(one.memory_bytes for one in nodes if one.left_at is None),
        memory_used_bytes=sum(one.memory_used_bytes for one in nodes),
        gpus=sum(one.gpus for one in nodes if one.left_at is None),
        gpu_used_hundredths=sum(one.gpu_used_hundredths for one in nodes),
        running=view.running,
        nodes=nodes,
    )


def node(use: NodeUse) -> computes.Node:
    return computes.Node(
        name=use.node.name,
        cpus=use.node.cpus,
        memory_bytes=use.node.memory_bytes,
        gpus=use.node.gpus,
        gpu_model=use.node.gpu_model,
        gpu_memory_bytes=use.node.gpu_memory_bytes,
        declared=use.node.declared,
        running=use.running,
        cpu_used=use.cpu_used,
        memory_used_bytes=use.memory_used_bytes,
        gpu_used_hundredths=use.gpu_used_hundredths,
        labels=dict(use.node.labels),
        closed=use.node.closed,
        left_at=use.node.left_at,
    )


def join_token(token: JoinToken) -> computes.JoinToken:
    return computes.JoinToken(
        id=token.id,
        site=token.site,
        created_by=token.created_by,
        created_at=token.created_at,
        expires_at=token.expires_at,
        used_at=token.used_at,
        compute=token.compute,
    )


def new_join_token(token: JoinToken, secret: str) -> computes.NewJoinToken:
    return computes.NewJoinToken(**join_token(token).model_dump(), secret=secret)


def test(named: tuple[str, ComputeTest]) -> computes.ComputeTest:
    name, found = named
    return computes.ComputeTest(
        id=found.id,
        compute=name,
        created_by=found.created_by,
        created_at=found.created_at,
        ended_at=found.ended_at,
        checks=[computes.Check.model_validate(check) for check in found.checks or ()],
    )
