"""Statistics of the replicas of an endpoint, summed up as if they were one server."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from ..http.message import Response, json_response
from .config import RoutedVersion
from .dispatch import Dispatcher, Target
from .links import Links
from .replicas import Replica
from .upstream import ReplicaLost, ReplicaMisbehaved, ReplicaSlow, ask

_ANSWER_SECONDS = 5.0


async def gather_statistics(dispatcher: Dispatcher, links: Links, targets: list[Target]) -> Response:
    """`model_stats` with an entry for each version; replicas that do not answer are left out."""
    wanted = [(target.endpoint.name, version) for target in targets for version in target.versions]
    entries = await asyncio.gather(*(_of_version(dispatcher, links, name, version) for name, version in wanted))
    return json_response({"model_stats": [entry for entry in entries if entry is not None]})


async def _of_version(
    dispatcher: Dispatcher, links: Links, endpoint: str, version: RoutedVersion
) -> dict[str, Any] | None:
    answers = await asyncio.gather(
        *(ask_statistics(links, replica) for replica in dispatcher.taking(endpoint, version))
    )
    found = [answer for answer in answers if answer is not None]
    if not found:
        return None
    return {**sum_statistics(found), "name": endpoint, "version": str(version.version)}


async def ask_statistics(links: Links, replica: Replica) -> dict[str, Any] | None:
    """The entry of a replica's newest version; None if it does not answer."""
    link = links.to(replica)
    try:
        answer = await ask(link.upstream, link.request("GET", "/stats", [], b""), seconds=_ANSWER_SECONDS)
        entries = json.loads(b"".join(answer.body))["model_stats"]
        return entries[-1] if entries and isinstance(entries[-1], dict) else None
    except (ReplicaLost, ReplicaMisbehaved, ReplicaSlow, ValueError, KeyError, TypeError):
        return None


def sum_statistics(entries: list[dict[str, Any]]) -> dict[str, Any]:
    """One entry from those of several replicas: counts and times add up, the last inference is the latest."""
    summed: dict[str, Any] = {}
    for entry in entries:
        for key, value in entry.items():
            summed[key] = _combine(key, summed[key], value) if key in summed else value
    return summed


def _combine(key: str, one: Any, other: Any) -> Any:
    if isinstance(one, dict) and isinstance(other, dict):
        both = {name: _combine(name, one[name], other[name]) for name in one.keys() & other.keys()}
        return {**one, **other, **both}
    if isinstance(one, list) and isinstance(other, list):
        by_size: dict[Any, Any] = {}
        for item in [*one, *other]:
            size = item.get("batch_size") if isinstance(item, dict) else repr(item)
            by_size[size] = _combine(key, by_size[size], item) if size in by_size else item
        return list(by_size.values())
    if isinstance(one, int | float) and isinstance(other, int | float):
        return max(one, other) if key in ("last_inference", "batch_size") else one + other
    return one
