"""The router's configuration file, as frozen values.

The agent writes it by rename. A file that cannot be read or says something impossible is an error that names the place;
the router then goes on with the last good one.
"""

from __future__ import annotations

import base64
import binascii
import json
from dataclasses import dataclass, field
from typing import Any

SCHEMA = "millpond.router/1"
LOG_LEVELS = ("none", "meta", "full")

# Where the configuration says nothing: long enough for a replica to be replaced, short enough for a client to wait.
DEFAULT_HOLD_SECONDS = 10.0
DEFAULT_HOLD_REQUESTS = 100


class ConfigError(ValueError):
    """The configuration of the router is not usable; the text names the place."""


@dataclass(frozen=True, slots=True, order=True)
class RoutedVersion:
    """A version of a model, as endpoints name it."""

    model: str
    version: int

    def __str__(self) -> str:
        return f"{self.model}@{self.version}"


@dataclass(frozen=True, slots=True)
class ReplicaAddress:
    """A replica and how it is reached: `unix:/path` or `tcp:host:port`."""

    id: str
    serves: RoutedVersion
    http: str
    grpc: str | None = None
    token: str | None = None
    draining: bool = False


@dataclass(frozen=True, slots=True)
class ShadowRule:
    """A version that receives a copy of some requests, whose answers nobody sees."""

    serves: RoutedVersion
    percent: int


@dataclass(frozen=True, slots=True)
class HoldRule:
    """How many requests wait for a replica, and for how long."""

    seconds: float = DEFAULT_HOLD_SECONDS
    requests: int = DEFAULT_HOLD_REQUESTS


@dataclass(frozen=True, slots=True)
class LogRule:
    """What is kept of each request, of which part of them, and which tensors and parameters are left out."""

    level: str = "none"
    sample: float = 1.0
    redact: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class RoutedEndpoint:
    """An endpoint as the router sees it."""

    name: str
    id: str
    public: bool = False
    quota_per_minute: int | None = None
    weights: dict[RoutedVersion, int] = field(default_factory=dict)
    shadow: ShadowRule | None = None
    replicas: tuple[ReplicaAddress, ...] = ()
    hold: HoldRule = HoldRule()
    log: LogRule = LogRule()


@dataclass(frozen=True, slots=True)
class RouterConfig:
    """The whole file."""

    project: str = ""
    site: str = ""
    revision: int = 0
    keys: dict[str, bytes] = field(default_factory=dict)
    revoked: frozenset[str] = frozenset()
    # The most that its request log takes on disk; None: as the command line says.
    log_bytes: int | None = None
    endpoints: tuple[RoutedEndpoint, ...] = ()


def read_config(text: str | bytes) -> RouterConfig:
    """The configuration in this text. ConfigError where it is not usable; keys that are not known are left alone."""
    try:
        document = json.loads(text)
    except ValueError as error:
        raise ConfigError(f"not JSON: {error}") from error
    root = _Part(document, "")
    if root.text("schema") != SCHEMA:
        raise ConfigError(f"schema: expected {SCHEMA}")
    endpoints = tuple(_endpoint(part) for part in root.parts("endpoints"))
    log = root.part("log")
    names = [endpoint.name for endpoint in endpoints]
    if doubled := {name for name in names if names.count(name) > 1}:
        raise ConfigError(f"endpoints: {min(doubled)} is there twice")
    return RouterConfig(
        project=root.text("project"),
        site=root.text("site", ""),
        revision=root.whole("revision", 0),
        keys={part.text("id"): _public_key(part) for part in root.parts("keys")},
        revoked=frozenset(root.texts("revoked")),
        log_bytes=log.whole("max_bytes", low=0) if log and log.has("max_bytes") else None,
        endpoints=endpoints,
    )


def _endpoint(part: _Part) -> RoutedEndpoint:
    weights = {_served(one): one.whole("weight", low=0, high=100) for one in part.parts("versions")}
    if len(weights) != len(part.parts("versions")):
        raise ConfigError(f"{part.place}versions: a version is there twice")
    shadow, hold, log = part.part("shadow"), part.part("hold"), part.part("log")
    return RoutedEndpoint(
        name=part.text("name"),
        id=part.text("id", ""),
        public=part.flag("public"),
        quota_per_minute=part.whole("token_quota_per_min", low=1) if part.has("token_quota_per_min") else None,
        weights=weights,
        shadow=ShadowRule(_served(shadow), shadow.whole("percent", low=0, high=100)) if shadow else None,
        replicas=tuple(_replica(one) for one in part.parts("replicas")),
        hold=_hold(hold) if hold else HoldRule(),
        log=_log(log) if log else LogRule(),
    )


def _served(part: _Part) -> RoutedVersion:
    return RoutedVersion(part.text("model"), part.whole("version", low=0))


def _replica(part: _Part) -> ReplicaAddress:
    return ReplicaAddress(
        id=part.text("id"),
        serves=_served(part),
        http=_address(part, "http"),
        grpc=_address(part, "grpc") if part.has("grpc") else None,
        token=part.text("token") if part.has("token") else None,
        draining=part.text("state", "ready") != "ready",
    )


def _hold(part: _Part) -> HoldRule:
    return HoldRule(part.number("seconds", DEFAULT_HOLD_SECONDS), part.whole("requests", DEFAULT_HOLD_REQUESTS, low=0))


def _log(part: _Part) -> LogRule:
    level = part.text("level", "none")
    if level not in LOG_LEVELS:
        raise ConfigError(f"{part.place}level: expected one of {', '.join(LOG_LEVELS)}, not {level!r}")
    sample = part.number("sample", 1.0)
    if sample > 1:
        raise ConfigError(f"{part.place}sample: expected 0 to 1, not {sample}")
    return LogRule(level, sample, frozenset(part.texts("redact")))


def _address(part: _Part, key: str) -> str:
    value = part.text(key)
    kind, _, rest = value.partition(":")
    host, _, port = rest.rpartition(":")
    if (kind == "unix" and rest.startswith("/")) or (kind == "tcp" and host and port.isdecimal()):
        return value
    raise ConfigError(f"{part.place}{key}: expected unix:/path or tcp:host:port, not {value!r}")


def _public_key(part: _Part) -> bytes:
    try:
        key = base64.b64decode(part.text("ed25519"), validate=True)
    except (binascii.Error, ValueError) as error:
        raise ConfigError(f"{part.place}ed25519: not base64") from error
    if len(key) != 32:
        raise ConfigError(f"{part.place}ed25519: expected 32 bytes, not {len(key)}")
    return key


class _Part:
    """An object of the document with the place where it stands, for errors."""

    def __init__(self, value: Any, place: str) -> None:
        if not isinstance(value, dict):
            raise ConfigError(f"{place or 'the file'}: expected an object")
        self.value: dict[str, Any] = value
        self.place = f"{place}." if place else ""

    def has(self, key: str) -> bool:
        return self.value.get(key) is not None

    def text(self, key: str, default: str | None = None) -> str:
        value = self.value.get(key)
        if value is None and default is not None:
            return default
        if not isinstance(value, str) or (not value and default is None):
            raise ConfigError(f"{self.place}{key}: expected a text")
        return value

    def whole(self, key: str, default: int | None = None, *, low: int | None = None, high: int | None = None) -> int:
        value = self.value.get(key, default)
        if not isinstance(value, int) or isinstance(value, bool):
            raise ConfigError(f"{self.place}{key}: expected a whole number")
        if (low is not None and value < low) or (high is not None and value > high):
            raise ConfigError(f"{self.place}{key}: {value} is out of range")
        return value

    def number(self, key: str, default: float) -> float:
        """A finite number of at least 0."""
        value = self.value.get(key, default)
        if not isinstance(value, int | float) or isinstance(value, bool) or not 0 <= value < float("inf"):
            raise ConfigError(f"{self.place}{key}: expected a number of at least 0")
        return float(value)

    def flag(self, key: str) -> bool:
        value = self.value.get(key, False)
        if not isinstance(value, bool):
            raise ConfigError(f"{self.place}{key}: expected true or false")
        return value

    def texts(self, key: str) -> list[str]:
        value = self.value.get(key) or []
        if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
            raise ConfigError(f"{self.place}{key}: expected a list of texts")
        return value

    def part(self, key: str) -> _Part | None:
        return _Part(self.value[key], f"{self.place}{key}") if self.has(key) else None

    def parts(self, key: str) -> list[_Part]:
        value = self.value.get(key) or []
        if not isinstance(value, list):
            raise ConfigError(f"{self.place}{key}: expected a list")
        return [_Part(one, f"{self.place}{key}[{index}]") for index, one in enumerate(value)]
