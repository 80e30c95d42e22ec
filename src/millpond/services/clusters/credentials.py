"""What lets programs into a cluster: certificates of Dask, a token of Ray. Made once, sealed at rest."""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping
from datetime import datetime

from millpond.model.cluster import ClusterKind, ClusterRole
from millpond.sealing import Seal
from millpond.services.clusters.certificates import make_certificates

CA, CERT, KEY, TOKEN = "ca.crt", "tls.crt", "tls.key", "token"

# Files by name, for each role.
Credentials = Mapping[ClusterRole, Mapping[str, str]]


def new_credentials(kind: ClusterKind, cluster_id: str, now: datetime) -> Credentials:
    if kind is ClusterKind.RAY:
        token = secrets.token_hex(32)
        return {role: {TOKEN: token} for role in ClusterRole}
    authority, made = make_certificates(cluster_id, tuple(role.value for role in ClusterRole), now)
    return {role: {CA: authority, CERT: made[role].cert, KEY: made[role].key} for role in ClusterRole}


def sealed(seal: Seal, cluster_id: str, credentials: Credentials) -> bytes:
    return seal.seal(json.dumps({role.value: dict(files) for role, files in credentials.items()}), _purpose(cluster_id))


def opened(seal: Seal, cluster_id: str, secret: bytes) -> Credentials:
    """Unavailable if they were sealed with another key."""
    found = json.loads(seal.open(secret, _purpose(cluster_id)))
    return {ClusterRole(role): files for role, files in found.items()}


def _purpose(cluster_id: str) -> str:
    return f"cluster {cluster_id}"
