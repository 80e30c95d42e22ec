"""The token with which an agent keeps snapshots of a workspace, and reads commits for it that are not cached.

Derived from the server's secret, so that it can be told again and nothing is stored.
"""

from __future__ import annotations

import base64
import hashlib
import hmac

from millpond.db import workspace_snapshots, workspaces
from millpond.errors import NotSignedIn
from millpond.model.dataset import Commit
from millpond.model.people import Actor, ActorKind, Role
from millpond.model.workspace import Workspace
from millpond.services.deps import Deps

PREFIX = "millw_"


def secret_of(server_secret: bytes, workspace_id: str) -> str:
    digest = hmac.digest(server_secret, f"workspace:{workspace_id}".encode(), hashlib.sha256)
    return f"{PREFIX}{workspace_id}_{base64.b32encode(digest).decode().rstrip('=').lower()}"


def is_token(secret: str) -> bool:
    return secret.startswith(PREFIX)


def actor_of(deps: Deps, secret: str) -> Actor:
    """NotSignedIn for a token that no workspace has."""
    workspace_id = secret.removeprefix(PREFIX).partition("_")[0]
    is_real = hmac.compare_digest(secret.encode(), secret_of(deps.secret, workspace_id).encode())
    with deps.db.read() as tx:
        found = workspaces.get(tx, workspace_id) if is_real else None
    if found is None:
        raise NotSignedIn("Unknown token of a workspace.")
    reads = {found.source.project_id, found.restore.source.project_id if found.restore else ""} - {""}
    return Actor(
        kind=ActorKind.WORKSPACE,
        name=found.owner,
        site_id=found.site_id,
        workspace_id=found.id,
        via=f"workspace {found.id}",
        roles={**dict.fromkeys(reads, Role.VIEWER), found.project_id: Role.MEMBER},
    )


def reads(deps: Deps, actor: Actor, commit: Commit) -> bool:
    """True for what the workspace is made from or restored to, and for kept snapshots of it and of its origin."""
    with deps.db.read() as tx:
        found = workspaces.get(tx, actor.workspace_id or "")
        kept = workspace_snapshots.by_commit(tx, commit.id)
    if found is None:
        return False
    return commit.id in _commits(found) or any(one.workspace_id in _related(found) for one in kept)


def _commits(found: Workspace) -> set[str]:
    restored = found.restore.source.commit_id if found.restore else ""
    return {found.source.commit_id, restored} - {""}


def _related(found: Workspace) -> set[str]:
    restored = found.restore.source.workspace_id if found.restore else ""
    return {found.id, found.source.workspace_id, restored} - {""}
