"""The smallest distributed program: every process adds its number to all others', by nothing but the environment.

Run as a file or by `python -c`: it needs the standard library alone, as `RANK`, `WORLD_SIZE`, `MASTER_ADDR` and
`MASTER_PORT` are what PyTorch's own rendezvous needs.
"""

from __future__ import annotations

import json
import os
import socket
import sys
import time


def all_reduce(number: int) -> int:
    rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    master = (os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]))
    if rank:
        with connected(master) as peer:
            peer.sendall(b"%d\n" % number)
            return int(peer.makefile().readline())
    with socket.create_server(("", master[1])) as server:
        peers = [server.accept()[0] for _ in range(size - 1)]
        total = number + sum(int(peer.makefile().readline()) for peer in peers)
        for peer in peers:
            peer.sendall(b"%d\n" % total)
            peer.close()
    return total


def connected(master: tuple[str, int]) -> socket.socket:
    """The first process may begin to listen after the others began to call."""
    deadline = time.monotonic() + 60
    while True:
        try:
            return socket.create_connection(master, timeout=60)
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)


def main() -> None:
    rank = os.environ["RANK"]
    with open(f"environment-{rank}.json", "w") as file:
        json.dump(dict(os.environ), file)
    sys.stdout.write(f"rank {rank}: sum {all_reduce(int(rank) + 1)}\n")


if __name__ == "__main__":
    main()
