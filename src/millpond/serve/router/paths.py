"""What the path of a request asks the router for."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from urllib.parse import unquote


class Asks(Enum):
    """The kinds of requests that the router tells apart."""

    SERVER = "server"
    LIVE = "live"
    READY = "ready"
    INDEX = "index"
    ALL_STATISTICS = "all statistics"
    MODEL = "model"
    INFER = "infer"
    MODEL_READY = "model ready"
    STATISTICS = "statistics"
    CHANGE = "change"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Route:
    """A path, read: `rest` is what follows the model's name for the replica (`/infer`, `/config` …)."""

    asks: Asks
    endpoint: str | None = None
    model: str = ""
    version: str = ""
    rest: str = ""


_SERVER = {
    (): Asks.SERVER,
    ("health", "live"): Asks.LIVE,
    ("health", "ready"): Asks.READY,
    ("repository", "index"): Asks.INDEX,
    ("models", "stats"): Asks.ALL_STATISTICS,
}
_MODEL = {
    (): Asks.MODEL,
    ("config",): Asks.MODEL,
    ("infer",): Asks.INFER,
    ("ready",): Asks.MODEL_READY,
    ("stats",): Asks.STATISTICS,
}
# Settings of a server and of the models it loads: replicas get theirs from the endpoint alone.
_CHANGES = frozenset({"repository", "trace", "logging", "systemsharedmemory", "cudasharedmemory"})


def read_path(path: str) -> Route:
    """What this path asks for: `/v2/…`, or `/endpoints/E/v2/…` with the endpoint named."""
    parts = [unquote(part) for part in path.strip("/").split("/")]
    endpoint: str | None = None
    if len(parts) >= 3 and parts[0] == "endpoints":
        endpoint, parts = parts[1], parts[2:]
    if parts[0] != "v2":
        return Route(Asks.UNKNOWN, endpoint)
    rest = tuple(parts[1:])
    if rest in _SERVER:
        return Route(_SERVER[rest], endpoint)
    if rest[0] in _CHANGES:
        return Route(Asks.CHANGE, endpoint)
    if rest[0] != "models" or len(rest) < 2:
        return Route(Asks.UNKNOWN, endpoint)
    model, rest, version = rest[1], rest[2:], ""
    if len(rest) >= 2 and rest[0] == "versions":
        version, rest = rest[1], rest[2:]
    if rest[:1] == ("trace",):
        return Route(Asks.CHANGE, endpoint)
    asks = _MODEL.get(rest, Asks.UNKNOWN)
    return Route(asks, endpoint, model, version, "".join(f"/{part}" for part in rest))
