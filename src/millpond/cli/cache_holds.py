"""`mill cache hold`, `release`, `keep`, `unkeep`, `kept`: cached commits that stay because somebody wants them to."""

from __future__ import annotations

from typing import Annotated

import typer

from millpond.cli.cache_arguments import On, Written, name_of
from millpond.cli.cache_lookup import find_cached
from millpond.cli.command import command
from millpond.cli.session import Session
from millpond.cli.values import CommitId
from millpond.client.caches import hold_cached, keep_branch, list_policies, release_cached, unkeep_branch
from millpond.errors import NotFound
from millpond.model.names import DEFAULT_BRANCH, DatasetRef
from millpond.model.quantity import LONGEST_HOLD, format_seconds, parse_seconds
from millpond.model.volume import LeaseKind
from millpond.wire.cache import CachedCommit, CacheHold
from millpond.wire.cache_plans import CachePolicyCreate

Branch = Annotated[str, typer.Argument(metavar="DATASET[@BRANCH]", help="Dataset and branch (default: main).")]


def add_keeping_commands(app: typer.Typer) -> None:
    for name, function in (
        ("hold", hold),
        ("release", release),
        ("keep", keep),
        ("unkeep", unkeep),
        ("kept", kept),
    ):
        command(app, name)(function)


def hold(
    mill: Session,
    dataset: Written,
    length: Annotated[str, typer.Option("--for", metavar="TIME", help="Duration, like 8h or 3d.")] = "8h",
    why: Annotated[str, typer.Option("--why", metavar="TEXT", help="Reason, shown to others.")] = "",
    on: On = None,
) -> None:
    """Hold a cached commit for some time, so that it is not evicted. Holding it again sets a new time.

    Example: mill cache hold x-ray@v1 --for 3d --why "labelling"
    """
    asked = CacheHold(seconds=parse_seconds(length, least=1, most=LONGEST_HOLD), reason=why)
    held = [hold_cached(mill.api, cached.id, asked) for cached in find_cached(mill, dataset, on)]
    for cached in held:
        until = max(holder.until for holder in cached.leased_by if holder.until is not None)
        mill.out.note(f"{name_of(cached)} is held on {cached.volume} until {until.astimezone():%Y-%m-%d %H:%M}.")
    _as_json(mill, held)


def release(
    mill: Session,
    dataset: Written,
    on: On = None,
    of: Annotated[
        str | None, typer.Option(metavar="USER", help="End the holds of this user; for administrators of the project.")
    ] = None,
) -> None:
    """End your holds of a cached commit, including those made by reading it. Its idle time starts now.

    Example: mill cache release x-ray@v1
    """
    found = find_cached(mill, dataset, on)
    if of is not None and not any(_is_held(cached, of) for cached in found):
        raise NotFound(f"{of} has no hold on {dataset}.", hint=f"Who holds it: mill cache why {dataset}")
    released = [release_cached(mill.api, cached.id, user=of) for cached in found]
    for cached in released:
        goes = f", evicted in {format_seconds(cached.idle_seconds)} unless used" if cached.expires_at else ""
        mill.out.note(f"{name_of(cached)} on {cached.volume} released{goes}.")
    _as_json(mill, released)


def _is_held(cached: CachedCommit, user: str) -> bool:
    return any(holder.user == user and holder.kind is LeaseKind.HOLD for holder in cached.leased_by)


def keep(
    mill: Session,
    dataset: Branch,
    on: Annotated[str, typer.Option("--on", metavar="VOLUME", help="Volume.")],
) -> None:
    """Keep a branch cached on a volume: each new commit is cached automatically, and the previous one expires.

    Example: mill cache keep x-ray@main --on nfs
    """
    asked = CachePolicyCreate(dataset=dataset, volume=on, project=DatasetRef.parse(dataset).project or mill.project)
    policy = keep_branch(mill.api, asked)
    mill.out.note(f"{policy.dataset}@{policy.branch} is kept cached on {policy.volume}.")
    if policy.problem:
        mill.out.warn(policy.problem)
    mill.out.shape(
        policy,
        [
            ("branch", f"{policy.project}/{policy.dataset}@{policy.branch}"),
            ("volume", policy.volume),
            ("commit", policy.commit_id),
            ("state", policy.state or "not cached"),
            ("problem", policy.problem),
        ],
    )


def unkeep(mill: Session, dataset: Branch, on: On = None) -> None:
    """Stop keeping a branch cached. Its commits expire like any other.

    Example: mill cache unkeep x-ray@main --on nfs
    """
    ref = DatasetRef.parse(dataset)
    project = ref.project or mill.project
    branch = ref.ref or DEFAULT_BRANCH
    listed = list_policies(mill.api, project=project, dataset=ref.dataset, volume=on)
    found = [policy for policy in listed if policy.branch == branch]
    if not found:
        where = f" on volume {on}" if on else ""
        raise NotFound(f"{ref.dataset}@{branch} is not kept cached{where}.", hint="List kept branches: mill cache kept")
    for policy in found:
        unkeep_branch(mill.api, policy.id)
        mill.out.note(f"{policy.dataset}@{policy.branch} is no longer kept cached on {policy.volume}.")


def kept(mill: Session, on: On = None) -> None:
    """List the branches that are kept cached, and whether their newest commit is cached.

    Example: mill cache kept
    """
    mill.out.items(
        list_policies(mill.api, project=mill.flags.project, volume=on),
        [
            ("BRANCH", lambda p: f"{p.project}/{p.dataset}@{p.branch}"),
            ("VOLUME", lambda p: p.volume),
            ("COMMIT", lambda p: CommitId(p.commit_id) if p.commit_id else None),
            ("STATE", lambda p: p.state or "not cached"),
            ("BY", lambda p: p.created_by),
            ("SINCE", lambda p: p.created_at),
            ("PROBLEM", lambda p: p.problem),
        ],
        empty="No branches are kept cached. Keep one: mill cache keep DATASET@BRANCH --on VOLUME",
    )


def _as_json(mill: Session, found: list[CachedCommit]) -> None:
    if mill.out.as_json:
        mill.out.items(found, [], empty="")
