"""Short-lived URLs to read the objects of a commit straight from the store, for those who may read that commit."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import Connection

from millpond.db import blobs, datasets, jobs, models, promised_pages, uploads
from millpond.errors import Forbidden
from millpond.lake.keys import ProjectKeys
from millpond.model.dataset import Commit, Dataset, DatasetKind, PackState
from millpond.model.people import Actor, ActorKind
from millpond.services.caches.fills import desired as desired_fills
from millpond.services.commits.pages import page_ids
from millpond.services.commits.uploads.uploads import check_page_id
from millpond.services.datasets import external
from millpond.services.datasets.external import ExternalUrl
from millpond.services.datasets.reading import reader_of
from millpond.services.deps import Deps
from millpond.services.lake import stores
from millpond.services.lake.stores import ReadableStore
from millpond.services.models import job_reads
from millpond.services.people import access
from millpond.services.workspaces import tokens as workspace_tokens

_READABLE = (PackState.LIVE, PackState.CONDEMNED)


def check_may_know(deps: Deps, actor: Actor, commit: Commit) -> None:
    """People by their role, checked already; an agent what it is told to bring or check, a job its data and outputs, a
    workspace what it is made from and keeps."""
    if actor.kind is ActorKind.WORKSPACE:
        if not workspace_tokens.reads(deps, actor, commit):
            raise Forbidden("A workspace can only read what it is made from and its own snapshots.")
    elif actor.kind is not ActorKind.USER:
        with deps.db.read() as tx:
            _check_may_read(tx, actor, commit)


def _check_may_read(tx: Connection, actor: Actor, commit: Commit) -> None:
    if actor.kind is ActorKind.AGENT and not desired_fills.reads(tx, actor.agent_id, commit.id):
        raise Forbidden("An agent can only read the commits that it fills or verifies, and those it links from.")
    if actor.kind is ActorKind.PLACEMENT and not (
        _is_output(actor, commit) or _is_input(tx, actor, commit) or _is_model(tx, actor, commit)
    ):
        raise Forbidden("A job can only read its own inputs and outputs, and the models of its project.")


@dataclass(frozen=True, slots=True)
class UrlsWanted:
    """Objects of one commit: pages, locators and packs by id, external files by path, and the commit's document."""

    pages: Sequence[str] = ()
    locators: Sequence[str] = ()
    packs: Sequence[str] = ()
    external: Sequence[str] = ()
    commit: bool = False


@dataclass(frozen=True, slots=True)
class StoreUrls:
    """Signed URLs of one store, by what was asked for."""

    store: str
    pages: Mapping[str, str]
    locators: Mapping[str, str]
    packs: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Urls:
    """Signed URLs by what was asked for, and the sizes of the packs.

    They lead to `store`, the best for whoever asks; `others` hold the same objects, the next best first.
    """

    store: str
    pages: Mapping[str, str]
    locators: Mapping[str, str]
    packs: Mapping[str, str]
    pack_sizes: Mapping[str, int]
    external: Mapping[str, ExternalUrl]
    commit: str | None
    lake: str | None
    others: Sequence[StoreUrls]
    expires_at: datetime


def sign(deps: Deps, actor: Actor, dataset: Dataset, commit: Commit, asked: UrlsWanted) -> Urls:
    """URLs for pages, locators and packs. NotFound names one that does not belong to the project (or the commit)."""
    for page_id in (*asked.pages, *asked.locators):
        check_page_id(page_id)
    check_may_know(deps, actor, commit)
    if dataset.kind is DatasetKind.MODEL and (asked.packs or asked.external):
        job_reads.note(deps, actor, commit.id)
    sizes = _check_belong(deps, actor, dataset, commit, asked)
    keys = ProjectKeys(dataset.project_id)
    seconds = deps.settings.url_seconds
    now = deps.clock.now()
    expires = now + timedelta(seconds=seconds)
    if asked.packs:
        deps.lake_use.last_read = now

    found = stores.stores_for(deps, actor, commit.id)
    best, *others = [_signed(store, keys, asked, seconds) for store in found]
    return Urls(
        store=best.store,
        pages=best.pages,
        locators=best.locators,
        packs=best.packs,
        pack_sizes=sizes,
        external=external.urls(deps, dataset, commit, asked.external) if asked.external else {},
        commit=found[0].sign(keys.commit(commit.id), seconds) if asked.commit else None,
        lake=(stores.lake_id(deps) or None) if asked.commit else None,
        others=others,
        expires_at=expires,
    )


def _signed(store: ReadableStore, keys: ProjectKeys, asked: UrlsWanted, seconds: int) -> StoreUrls:
    return StoreUrls(
        store=store.id,
        pages={page_id: store.sign(keys.page(page_id), seconds) for page_id in asked.pages},
        locators={page_id: store.sign(keys.locator(page_id), seconds) for page_id in asked.locators},
        packs={pack_id: store.sign(keys.pack(pack_id), seconds) for pack_id in asked.packs},
    )


def _check_belong(deps: Deps, actor: Actor, dataset: Dataset, commit: Commit, asked: UrlsWanted) -> dict[str, int]:
    """The sizes of the packs that were asked for. NotFound for what does not belong there."""
    pages = {*asked.pages, *asked.locators}
    project_id = dataset.project_id
    with deps.db.read() as tx:
        found = [pack for pack in uploads.packs(tx, project_id, asked.packs) if pack.state in _READABLE]
    known_packs: Collection[str] = {pack.id for pack in found}
    if actor.kind is ActorKind.USER:  # who may read the project may read all of it
        with deps.db.read() as tx:
            known_pages: Collection[str] = {
                *blobs.pages(tx, project_id, pages),
                # Index pages are forgotten for a while when a bad pack is found; they are there all the same.
                *promised_pages.tokens(tx, project_id, pages),
            }
    else:
        reader = reader_of(deps, dataset, commit)
        known_pages = page_ids(reader)
        with deps.db.read() as tx:
            named = blobs.packs_of_pages(tx, project_id, known_pages) if asked.packs else {}
        known_packs = {pack_id for packs_of in named.values() for pack_id in packs_of}
    for noun, wanted, known in (("page", pages, known_pages), ("pack", set(asked.packs), known_packs)):
        for absent in sorted(wanted - set(known)):
            raise access.not_found(noun, absent)
    return {pack.id: pack.bytes for pack in found}


def _is_output(actor: Actor, commit: Commit) -> bool:
    """What the job itself wrote (the server notes it in the lineage): it looks whether a lost answer was a yes."""
    return actor.job_id is not None and commit.lineage.get("job") == actor.job_id


def _is_input(tx: Connection, actor: Actor, commit: Commit) -> bool:
    job = jobs.get(tx, actor.job_id or "")
    return job is not None and (
        commit.id in (job.spec.code_commit, job.status.environment_commit)
        or any(entry.commit_id == commit.id for entry in job.spec.inputs)
    )


def _is_model(tx: Connection, actor: Actor, commit: Commit) -> bool:
    """A version of a model of the job's own project: scripts compare with the model that is in use (017)."""
    dataset = datasets.get(tx, commit.dataset_id)
    return (
        dataset is not None
        and dataset.kind is DatasetKind.MODEL
        and actor.role_in(dataset.project_id) is not None
        and models.is_version(tx, dataset.id, commit.id)
    )
