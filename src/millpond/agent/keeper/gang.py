"""One rank of a distributed job: where it is, whether all have come, what its command is told.

Every rank has a keeper in a directory of its own, `ranks/N` of the placement's (docs/design/012-distributed-jobs.md);
names here are relative to that.
"""

from __future__ import annotations

import json
import os
import socket
import zlib

# Type checkers take this for typing.TYPE_CHECKING.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# Above what services use, below what the kernel gives to outgoing connections.
FIRST_PORT, PORTS = 20_000, 12_000
PLACEMENT = "../.."
LOOPBACK = "127.0.0.1"


def place(gang: dict[str, Any], placement: str) -> dict[str, Any]:
    """Where this rank is, told with its claim: the machine it shares with others, and where it can be reached."""
    address = gang.get("address") or os.environ.get("MILL_ADDRESS") or socket.gethostname()
    node = os.environ.get("SLURMD_NODENAME") or gang.get("node") or address
    # Ranks that share an address may share a machine; pods of one node do not.
    host = os.environ.get("SLURMD_NODENAME") or address
    return {"host": host, "node": node, "address": address, "port": free_port(gang, placement)}


def free_port(gang: dict[str, Any], placement: str) -> int:
    """One that nothing listens at here, and that no other rank of the same job is given on this machine."""
    begin: int = zlib.crc32(placement.encode()) + gang["rank"]
    for step in range(PORTS // gang["size"]):
        port: int = FIRST_PORT + (begin + step * gang["size"]) % PORTS
        with socket.socket() as tried:
            try:
                tried.bind(("", port))
            except OSError:
                continue
        return port
    raise OSError("no free port for the processes of the job")


def all_places(size: int) -> list[dict[str, Any]] | None:
    """Where every rank is, in order; None as long as one of them has not come."""
    found = []
    for rank in range(size):
        try:
            with open(f"../{rank}/claim") as file:
                found.append(json.load(file))
        except FileNotFoundError:
            return None
    return found


def may_begin(size: int) -> bool | None:
    """Whether all begin; None while some are missing. Whoever sees the last one come claims the whole placement; if
    its agent has claimed it, it was given up, and none begins."""
    try:
        with open(f"{PLACEMENT}/claim") as file:
            return bool(json.load(file).get("gang"))
    except FileNotFoundError:
        if all_places(size) is None:
            return None
    with open("claim") as file:
        return claim_first("claim", {**json.load(file), "gang": True}) or None


def claim_first(name: str, said: dict[str, Any]) -> bool:
    """Write a file of the placement that only one rank can write; False when another has."""
    with open(f"{name}.new", "w") as file:
        json.dump(said, file)
    try:
        os.link(f"{name}.new", f"{PLACEMENT}/{name}")
    except FileExistsError:
        return False
    finally:
        os.unlink(f"{name}.new")  # noqa: PTH108
    return True


def tell_failed(rank: int) -> None:
    """The first that fails ends all: the others look for this."""
    claim_first("failed", {"rank": rank})


def another_failed() -> bool:
    """Listing a directory makes a network file system look again for what was not there a moment ago."""
    return "failed" in os.listdir(PLACEMENT)


def must_stop() -> bool:
    return "stop" in os.listdir(".")


def environment(rank: int, places: list[dict[str, Any]], run: str) -> dict[str, str]:
    """What torchrun, Horovod, MPI launchers and TensorFlow put into the environment of rank `rank`; `run` is what no
    other attempt of no other job is called."""
    size = len(places)
    hosts = list(dict.fromkeys(one["host"] for one in places))
    local = [number for number, one in enumerate(places) if one["host"] == places[rank]["host"]]
    local_rank, group = local.index(rank), hosts.index(places[rank]["host"])
    together = len({one["address"] for one in places}) == 1
    addresses = [LOOPBACK if together else str(one["address"]) for one in places]
    workers = [f"{address}:{one['port']}" for address, one in zip(addresses, places)]  # noqa: B905 - 3.9
    task = {"type": "worker", "index": rank}
    said: dict[str, object] = {
        "RANK": rank,
        "WORLD_SIZE": size,
        "LOCAL_RANK": local_rank,
        "LOCAL_WORLD_SIZE": len(local),
        "GROUP_RANK": group,
        "GROUP_WORLD_SIZE": len(hosts),
        "ROLE_NAME": "default",
        "ROLE_RANK": rank,
        "ROLE_WORLD_SIZE": size,
        "TORCHELASTIC_RUN_ID": run,
        "TORCHELASTIC_RESTART_COUNT": 0,
        "TORCHELASTIC_MAX_RESTARTS": 0,
        # Rank 0 holds the store by which all meet: here is no process of torchrun that does.
        "TORCHELASTIC_USE_AGENT_STORE": False,
        "MASTER_ADDR": addresses[0],
        "MASTER_PORT": places[0]["port"],
        "HOROVOD_RANK": rank,
        "HOROVOD_SIZE": size,
        "HOROVOD_LOCAL_RANK": local_rank,
        "HOROVOD_LOCAL_SIZE": len(local),
        "HOROVOD_CROSS_RANK": group,
        "HOROVOD_CROSS_SIZE": len(hosts),
        "HOROVOD_HOSTNAME": places[rank]["host"],
        "OMPI_COMM_WORLD_RANK": rank,
        "OMPI_COMM_WORLD_SIZE": size,
        "OMPI_COMM_WORLD_LOCAL_RANK": local_rank,
        "OMPI_COMM_WORLD_LOCAL_SIZE": len(local),
        "OMPI_COMM_WORLD_NODE_RANK": local_rank,
        "OMPI_UNIVERSE_SIZE": size,
        "PMI_RANK": rank,
        "PMI_SIZE": size,
        "MPI_LOCALRANKID": local_rank,
        "MPI_LOCALNRANKS": len(local),
        "TF_CONFIG": json.dumps({"cluster": {"worker": workers}, "task": task}),
        "MILL_RANK": rank,
        "MILL_PROCESSES": size,
    }
    return {name: str(value) for name, value in said.items()}
