"""How routers reach replicas: by sockets on one machine, by ports from another; and what is said where they do not."""

from __future__ import annotations

from dataclasses import replace

import pytest

from millpond.decide.endpoints.addresses import ReplicaAddresses, addresses_of, serves_remotely, unreached
from millpond.decide.endpoints.replicas import ReplicaKind
from millpond.decide.endpoints.states import state_of
from millpond.model.compute import Compute
from millpond.model.endpoint import Endpoint, EndpointState
from millpond.model.endpoint_spec import EndpointSite
from millpond.model.replica import Replica, ReplicaState
from millpond.testing.clock import NOON
from tests.unit.decide.endpoints.test_pushes import spec_of
from tests.unit.decide.endpoints.test_replicas import replica

KIND = ReplicaKind("m", 1, "a")
TOLD = {
    "agent": "here", "http": "unix:/s/p", "grpc": "unix:/s/g", "remote_http": "tcp:10.0.0.7:1",
    "remote_grpc": "tcp:10.0.0.7:2",
}  # fmt: skip
SOCKETS, PORTS = ReplicaAddresses("unix:/s/p", "unix:/s/g"), ReplicaAddresses("tcp:10.0.0.7:1", "tcp:10.0.0.7:2")
ALONE = {"agent": "here", "http": "unix:/s/p", "grpc": "unix:/s/g"}


def ready(told: dict[str, str]) -> Replica:
    return replace(replica(1, KIND, ReplicaState.READY), ready=told, placement_id="p1")


@pytest.mark.parametrize(
    ("told", "agent", "found"),
    [
        (TOLD, "here", SOCKETS),
        (TOLD, "there", PORTS),
        (TOLD, None, PORTS),
        (ALONE, "there", ReplicaAddresses(None, None)),
        # As agents told before there were several machines.
        ({"http": "unix:/s/p", "grpc": "unix:/s/g"}, "there", SOCKETS),
    ],
)
def test_a_router_uses_sockets_of_its_own_machine_alone(
    told: dict[str, str], agent: str | None, found: ReplicaAddresses
) -> None:
    assert addresses_of(ready(told), agent) == found


def compute(name: str, **can: bool) -> Compute:
    return Compute(id=name, name=name, site_id="s", site="s", driver="process", created_at=NOON, capabilities=can)


def test_ports_are_opened_only_where_a_router_may_be_elsewhere() -> None:
    machine, cluster = compute("a", services=True, routers=True), compute("b", services=True)
    assert not serves_remotely([]) and not serves_remotely([machine]) and not serves_remotely([machine, compute("c")])
    assert serves_remotely([machine, compute("d", services=True, routers=True)])
    assert serves_remotely([cluster]), "its router runs on a machine that may come"


def test_an_endpoint_is_degraded_while_its_router_cannot_reach_a_replica() -> None:
    one = ready(TOLD)
    stats = {"lost": [{"id": "p1", "problem": "cannot connect to tcp:10.0.0.7:1", "seconds": 6}, {"id": "other"}, 7]}
    (said,) = unreached(stats, [one], "s")
    assert "m@1" in said and "10.0.0.7" in said and "--serving-address" in said
    assert not unreached({"lost": [{"id": "p1", "seconds": 1}]}, [one], "s"), "it may just have been killed"
    assert not unreached({"lost": "nonsense"}, [one], "s")
    endpoint = Endpoint(
        id="e", project_id="p", project="p", name="xray", created_by="ada", user_id="u", created_at=NOON,
        changed_at=NOON, spec=spec_of(EndpointSite(site="s")),
    )  # fmt: skip
    wanted = {"s": {KIND: 1}}
    assert state_of(endpoint, wanted, [one], [])[0] is EndpointState.READY
    assert state_of(endpoint, wanted, [one], [], unreached=[said]) == (
        EndpointState.DEGRADED, ("1 of 1 replica ready.", said),
    )  # fmt: skip
