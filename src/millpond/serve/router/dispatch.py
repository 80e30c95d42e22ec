"""Who answers a request: names, tokens, quotas, weights and replicas put together.

The event loop (HTTP) and threads (gRPC) call it, so everything that changes is behind one lock. Nothing here waits.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Collection

from ..errors import ServeError
from .config import ReplicaAddress, RoutedEndpoint, RoutedVersion, RouterConfig
from .names import Asked, Names
from .quota import Quotas
from .replicas import Replica, least_outstanding
from .stats import EndpointStats
from .tokens import TokenClaims, TokenRefused, TokenVerifier
from .weights import WeightedTurns

_MOST_TARGETS = 4096


class Target:
    """What a request asks for, with the versions of it that have a replica now."""

    __slots__ = ("asked_by", "endpoint", "ready", "stats", "turns", "versions")

    def __init__(
        self, asked_by: tuple[str, str, str | None], asked: Asked, stats: EndpointStats, turns: WeightedTurns
    ) -> None:
        self.asked_by = asked_by
        self.endpoint = asked.endpoint
        self.versions = asked.versions
        self.stats = stats
        self.turns = turns
        self.ready: tuple[RoutedVersion, ...] = ()


class Dispatcher:
    """The live state of the router. `on_ready` is called, in any thread, whenever a replica begins to take requests."""

    def __init__(self, *, on_ready: Callable[[], None] = lambda: None) -> None:
        self._lock = threading.Lock()
        self._on_ready = on_ready
        self.config = RouterConfig()
        self._names = Names(self.config)
        self._verifier = TokenVerifier(self.config)
        self._quotas = Quotas()
        self._turns: dict[str, WeightedTurns] = {}
        self._weights: dict[str, dict[RoutedVersion, int]] = {}
        self._replicas: dict[tuple[str, ReplicaAddress], Replica] = {}
        self._taking: dict[tuple[str, RoutedVersion], list[Replica]] = {}
        self._targets: dict[tuple[str, str, str | None], Target] = {}
        self._start = 0
        self.stats: dict[str, EndpointStats] = {}

    def apply(self, config: RouterConfig) -> None:
        """Go on with this configuration. Replicas that stay keep their state; turns restart where weights changed."""
        with self._lock:
            self.config = config
            self._names = Names(config)
            self._verifier = TokenVerifier(config)
            for endpoint in config.endpoints:
                if self._weights.get(endpoint.name) != endpoint.weights:
                    self._weights[endpoint.name] = endpoint.weights
                    self._turns[endpoint.name] = WeightedTurns(endpoint.weights)
                stats = self.stats.setdefault(endpoint.name, EndpointStats())
                for version in endpoint.weights:
                    stats.of(version)
            before = {_steady(key): replica for key, replica in self._replicas.items()}
            self._replicas = {}
            for endpoint in config.endpoints:
                for address in endpoint.replicas:
                    key = (endpoint.name, address)
                    replica = before.get(_steady(key)) or Replica(address)
                    replica.address = address
                    self._replicas[key] = replica
            self._targets.clear()
            self._sort()
        self._on_ready()

    def target(self, model: str, version: str = "", endpoint: str | None = None) -> Target:
        """What these names ask for. ServeError 404 or 400 where they mean nothing."""
        key = (model, version, endpoint)
        found = self._targets.get(key)
        if found is not None:
            return found
        with self._lock:
            asked = self._names.resolve(model, version, endpoint)
            found = Target(key, asked, self.stats[asked.endpoint.name], self._turns[asked.endpoint.name])
            found.ready = self._ready(found)
            if len(self._targets) >= _MOST_TARGETS:
                self._targets.clear()
            self._targets[key] = found
            return found

    def renewed(self, target: Target) -> Target:
        """The same question asked of the configuration that holds now."""
        return self.target(*target.asked_by)

    def admit(self, target: Target, authorization: str | None, *, costs: bool = True) -> TokenClaims | None:
        """The claims of the token that came along, None for a public endpoint. ServeError 401, 403 or 429.

        What `costs` nothing is not counted against the token's quota.
        """
        endpoint = target.endpoint
        if endpoint.public and authorization is None:
            return None
        try:
            claims = self._verifier.verify(_bearer(authorization), endpoint=endpoint.name, now=time.time())
        except TokenRefused as refused:
            if endpoint.public:
                return None
            raise self.refuse(target, ServeError(refused.status, refused.reason)) from None
        quota = _quota(endpoint, claims) if costs else None
        if quota:
            with self._lock:
                wait = self._quotas.take(endpoint.name, claims.id, per_minute=quota, now=time.monotonic())
            if wait:
                text = f"The token's quota of {quota} requests per minute is used up. Try again in {math.ceil(wait)} s."
                raise self.refuse(target, ServeError(429, text, retry_after=math.ceil(wait)))
        return claims

    def refuse(self, target: Target, error: ServeError) -> ServeError:
        """Count a request that no replica saw, and return its error."""
        with self._lock:
            target.stats.refused[error.status] += 1
        return error

    def choose(self, target: Target, excluded: Collection[Replica] = ()) -> Replica | None:
        """The replica for the next request of this kind, counted as outstanding there; None if there is none."""
        with self._lock:
            ready = target.ready
            if not ready:
                return None
            version = target.turns.take(ready)
            return self._take(target.endpoint.name, target.stats, version, excluded)

    def choose_of(self, target: Target, version: RoutedVersion, excluded: Collection[Replica] = ()) -> Replica | None:
        """The same for a version that is decided already: a repeated request stays with its version."""
        with self._lock:
            return self._take(target.endpoint.name, target.stats, version, excluded)

    def _take(
        self, endpoint: str, stats: EndpointStats, version: RoutedVersion, excluded: Collection[Replica]
    ) -> Replica | None:
        self._start += 1
        replica = least_outstanding(self._taking.get((endpoint, version), ()), start=self._start, excluded=excluded)
        if replica is not None:
            replica.outstanding += 1
            stats.of(version).outstanding += 1
        return replica

    def release(self, target: Target, replica: Replica) -> None:
        """The request is no longer outstanding there, however it ended."""
        with self._lock:
            replica.outstanding -= 1
            target.stats.of(replica.address.serves).outstanding -= 1

    def count(self, target: Target, version: RoutedVersion, status: int, seconds: float) -> None:
        """Count an answer that a client got from this version."""
        with self._lock:
            target.stats.of(version).add(status, seconds)

    def finish(self, target: Target, replica: Replica, status: int, seconds: float) -> None:
        """Both at once: the answer of this replica reached its client."""
        with self._lock:
            replica.outstanding -= 1
            answers = target.stats.of(replica.address.serves)
            answers.outstanding -= 1
            answers.add(status, seconds)

    def count_retry(self, target: Target, version: RoutedVersion) -> None:
        with self._lock:
            target.stats.of(version).retries += 1

    def set_answers(self, replica: Replica, answers: bool) -> None:
        """A replica was seen to answer, or not to."""
        if replica.answers == answers:
            return
        with self._lock:
            replica.answers = answers
            self._sort()
        if answers:
            self._on_ready()

    @property
    def replicas(self) -> list[Replica]:
        with self._lock:
            return list(self._replicas.values())

    def replicas_of(self, endpoint: str, version: RoutedVersion) -> list[Replica]:
        """All replicas of a version that the configuration names, whether they take requests or not."""
        with self._lock:
            return [
                replica
                for (name, address), replica in self._replicas.items()
                if name == endpoint and address.serves == version
            ]

    def taking(self, endpoint: str, version: RoutedVersion) -> list[Replica]:
        """The replicas of a version that take requests now."""
        return self._taking.get((endpoint, version), [])

    def _sort(self) -> None:
        taking: dict[tuple[str, RoutedVersion], list[Replica]] = {}
        for (name, address), replica in self._replicas.items():
            if replica.takes_requests:
                taking.setdefault((name, address.serves), []).append(replica)
        self._taking = taking
        for target in self._targets.values():
            target.ready = self._ready(target)

    def _ready(self, target: Target) -> tuple[RoutedVersion, ...]:
        name = target.endpoint.name
        return tuple(version for version in target.versions if (name, version) in self._taking)


def _steady(key: tuple[str, ReplicaAddress]) -> tuple[str, ...]:
    """What makes a replica the same one in the next configuration: it may begin to drain meanwhile."""
    endpoint, address = key
    return (endpoint, address.id, str(address.serves), address.http, address.grpc or "", address.token or "")


def _bearer(authorization: str | None) -> str:
    kind, _, token = (authorization or "").partition(" ")
    if kind.lower() != "bearer" or not token:
        raise TokenRefused(401, "A token is required: Authorization: Bearer mep_…")
    return token.strip()


def _quota(endpoint: RoutedEndpoint, claims: TokenClaims) -> int | None:
    limits = [limit for limit in (endpoint.quota_per_minute, claims.quota) if limit]
    return min(limits, default=None)
