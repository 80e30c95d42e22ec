"""The version of the protocol between server and agents, and what passes beside `observed` and `desired`."""

from __future__ import annotations

from pydantic import Field

from millpond.wire.base import Request, Response, Time

PROTOCOL = 1
# Told with every request of an agent: a server that speaks another version says so whatever the body looks like.
PROTOCOL_HEADER = "X-Mill-Protocol"


class TrialUrls(Response):
    """One object of the lake to write and read back; URLs that begin with `/` are the server's own."""

    put: str
    put_headers: dict[str, str]
    get: str
    bytes: int
    server_time: Time


class StoreProbe(Response):
    """Where the lake's own document is read in one store of the agent's site."""

    store: str
    name: str
    url: str


class StoreProbes(Response):
    # The lake that is to be found there.
    lake: str
    items: list[StoreProbe]


class LogAnswer(Response):
    """How far the server has the log; the agent goes on from there. Up to `durable` every server has it."""

    offset: int
    durable: int = 0


class UsageSample(Request):
    at: Time
    cpu_percent: float = Field(allow_inf_nan=False)
    memory_bytes: int
    read_bytes: int
    write_bytes: int
    gpu_percent: float | None = None
    gpu_memory_bytes: int | None = None
    received_bytes: int | None = None
    sent_bytes: int | None = None
    network_shared: bool | None = None


class UsageBatch(Request):
    samples: list[UsageSample] = Field(max_length=1000)
