"""What a token with scopes may do: which scope a request needs, and whether the token has it."""

from __future__ import annotations

import re
from collections.abc import Collection, Set

from millpond.model.people import Role, TokenScope

READ, DATA, SUBMIT, ADMIN = TokenScope.READ, TokenScope.DATA, TokenScope.SUBMIT, TokenScope.ADMIN

_READING = frozenset({"GET", "HEAD", "OPTIONS"})
# Questions with a body; and what changes nothing but one's own sign-in.
_QUESTIONS = re.compile(
    r".*/runs/(metrics|compare)|.*/endpoints/[^/]+/v2/.*|.*/commits/.+/(preview|urls)|.*(backfills:plan|flows:validate)"
    r"|/session",
    re.DOTALL,
)
# Commits that jobs bring along: their code, and with it what their packages are.
_CODE = re.compile(r"/projects/[^/]+/datasets/\.code/commits")
# Nouns whose things members change; the first part of a path, or the one behind `/projects/{project}`.
_NEEDED: dict[str, frozenset[TokenScope]] = {
    # Jobs bring their code and take their outputs along.
    "uploads": frozenset({DATA, SUBMIT}),
    **dict.fromkeys(
        (
            "datasets", "caches", "cache-policies", "sources", "connections", "workspaces", "lake", "mirrors",
        ),
        frozenset({DATA}),
    ),
    **dict.fromkeys(
        (
            "jobs", "runs", "run-views", "searches", "flows", "flow-runs", "flow-triggers", "flow-backfills", "models",
            "endpoints", "edge", "clusters", "mlflow", "library", "mlperf",
        ),
        frozenset({SUBMIT}),
    ),
}  # fmt: skip


def needed_scopes(method: str, path: str, *, role: Role | None, site_admin: bool = False) -> frozenset[TokenScope]:
    """Any of these will do for a request to this path, behind `/api/v1`. What is not known to be less needs `admin`.

    `role` is what its route needs in the project.
    """
    if site_admin or (role is Role.ADMIN and method not in _READING):
        return frozenset({ADMIN})
    if method in _READING or _QUESTIONS.fullmatch(path):
        return frozenset({READ})
    if _CODE.fullmatch(path):
        return frozenset({DATA, SUBMIT})
    return _NEEDED.get(_noun(path), frozenset({ADMIN}))


def allows(scopes: Collection[TokenScope] | None, needed: Set[TokenScope]) -> bool:
    """True for a token without scopes, with one of those needed, and with `admin`; every scope includes `read`."""
    if scopes is None or ADMIN in scopes or READ in needed:
        return True
    return not needed.isdisjoint(scopes)


def written(needed: Collection[TokenScope]) -> str:
    return " or ".join(scope.value for scope in TokenScope if scope in needed)


def _noun(path: str) -> str:
    parts = path.strip("/").split("/")
    if parts[0] == "projects" and len(parts) > 2:
        return parts[2].partition(":")[0]
    return parts[0].partition(":")[0]
