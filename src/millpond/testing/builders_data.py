"""Builders for data: people who act, datasets with real commits, volumes with an agent that tells what it sees."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from millpond.blobs.store import Buffer
from millpond.db import actors, blobs, commits, datasets, projects, users, volumes
from millpond.db.blobs import PageRow
from millpond.lake.chunks import WHOLE_MOST, ChunkList, encode_chunk_list
from millpond.lake.commits import new_commit
from millpond.lake.digests import digest_of
from millpond.lake.keys import ProjectKeys
from millpond.lake.packs import PackWriter
from millpond.lake.pages import pack_page
from millpond.lake.tree import build_tree
from millpond.model.agent import Agent
from millpond.model.dataset import Commit, Dataset, Ref, RefType
from millpond.model.ids import new_id
from millpond.model.names import DEFAULT_BRANCH, DEFAULT_PROJECT
from millpond.model.people import Actor, Project, Role
from millpond.model.tree import Content, Entry, Kind
from millpond.model.volume import Volume
from millpond.services.caches.fills import desired as desired_fills
from millpond.services.caches.fills import reports as cache_reports
from millpond.services.commits import commits as commit_service
from millpond.services.commits.commits import NewCommit
from millpond.services.commits.uploads import uploads
from millpond.services.commits.uploads.uploads import WrittenPack
from millpond.services.datasets import datasets as dataset_service
from millpond.services.deps import Deps
from millpond.services.places import volumes as volume_service
from millpond.testing.builders_work import add_agent
from millpond.testing.server import ADMIN, add_user
from millpond.wire.desired import DesiredFill
from millpond.wire.observed import CommitSeen, FillSeen, VolumeSeen

GB = 10**9
MB = 10**6


def the_project(deps: Deps, name: str = DEFAULT_PROJECT) -> Project:
    with deps.db.read() as tx:
        found = projects.find(tx, name)
    assert found is not None, name
    return found


def the_admin(deps: Deps) -> Actor:
    """The site administrator that every test database has."""
    return an_actor(deps, ADMIN)


def an_actor(deps: Deps, name: str, **roles: Role) -> Actor:
    """A user as they act now, made with these roles (by project) if there is none of that name."""
    with deps.db.read() as tx:
        user = users.find(tx, name)
    if user is None:
        user = add_user(deps, name, roles=roles)
    with deps.db.read() as tx:
        return actors.of_user(tx, user)


def a_dataset(deps: Deps, name: str = "xray", *, project: str = DEFAULT_PROJECT) -> Dataset:
    """The dataset of that name, made if need be."""
    where = the_project(deps, project)
    with deps.db.read() as tx:
        found = datasets.find(tx, where.id, name)
    return found or dataset_service.create(deps, the_admin(deps), where, name=name)


# Commits -----------------------------------------------------------------------------------------


@dataclass
class Pushed:
    """A tree with everything it needs, ready to be sent: what a client makes of a directory."""

    root: str
    pages: dict[str, bytes] = field(default_factory=dict)
    content: dict[bytes, bytes] = field(default_factory=dict)


def a_tree(files: Mapping[str, bytes]) -> Pushed:
    """Files by path; content longer than 1 MiB is cut into chunks of 1 MiB."""
    pushed = Pushed("")
    entries: list[Entry] = []
    for path, content in files.items():
        if len(content) <= WHOLE_MOST:
            kind = Content.BLOB if content else Content.NOTHING
            digest = digest_of(content) if content else bytes(32)
            pushed.content |= {digest: content} if content else {}
        else:
            chunks = [content[at : at + WHOLE_MOST] for at in range(0, len(content), WHOLE_MOST)]
            pushed.content |= {digest_of(chunk): chunk for chunk in chunks}
            listed = encode_chunk_list(ChunkList([digest_of(c) for c in chunks], [len(c) for c in chunks]))
            kind, digest = Content.CHUNKS, digest_of(listed)
            pushed.content[digest] = listed
        entries.append(Entry(path.encode(), Kind.FILE, len(content), kind, digest))
    entries.sort(key=lambda entry: entry.path)
    pushed.root = build_tree(entries, pushed.pages.__setitem__).root
    return pushed


def a_pack(content: Mapping[bytes, bytes]) -> bytes:
    """One pack that holds these blobs, whatever their digests say."""
    writer = PackWriter()
    for digest, raw in content.items():
        writer.add(digest, raw)
    return bytes(writer.finish())


def send(deps: Deps, actor: Actor, pushed: Pushed, *, project: str = DEFAULT_PROJECT) -> str:
    """Upload what is missing, as a client does; the id of the upload."""
    upload = uploads.create(deps, actor, the_project(deps, project))
    digests = list(pushed.content)
    missing = uploads.missing(deps, upload, b"".join(digests))
    wanted = {digest: pushed.content[digest] for digest, flag in zip(digests, missing, strict=True) if flag}
    keys = ProjectKeys(upload.project_id)
    if wanted:
        (slot,) = uploads.pack_slots(deps, upload, 1)
        pack = a_pack(wanted)
        deps.store.put(keys.pack(slot.id), pack)
        uploads.packs_written(deps, upload, [WrittenPack(id=slot.id, size=len(pack))])
    for slot in uploads.page_slots(deps, upload, list(pushed.pages)):
        _put_page(deps, keys, slot.id, pushed.pages[slot.id])
    return upload.id


def a_commit(
    deps: Deps,
    files: Mapping[str, bytes],
    *,
    dataset: str = "xray",
    actor: Actor | None = None,
    project: str = DEFAULT_PROJECT,
    branch: str = DEFAULT_BRANCH,
    message: str = "",
) -> Commit:
    """A real commit of these files on top of the branch, through the services; the dataset is made if need be."""
    actor = actor or the_admin(deps)
    found = a_dataset(deps, dataset, project=project)
    pushed = a_tree(files)
    upload = send(deps, actor, pushed, project=project)
    with deps.db.read() as tx:
        ref = commits.find_ref(tx, found.id, branch)
    asked = NewCommit(
        upload=upload, tree=pushed.root, branch=branch, expected=ref.commit_id if ref else None, message=message
    )
    return commit_service.create(deps, actor, the_project(deps, project), dataset, asked)[1]


def a_sized_commit(
    deps: Deps, dataset: Dataset, *, size: int, allocated: int | None = None, files: int = 1, branch: str | None = None
) -> Commit:
    """Rows of a commit of any size, without its bytes: for everything that only counts."""
    now = deps.clock.now()
    tree = hashlib.sha256(f"{dataset.id} {new_id()}".encode()).hexdigest()
    commit = new_commit(
        dataset_id=dataset.id, tree=tree, parents=(), author=ADMIN, time=now, message="", files=files, bytes=size
    )
    row = PageRow(tree, 0, files, files, size, size if allocated is None else allocated, b"a", b"a")
    with deps.db.write() as tx:
        blobs.insert_pages(tx, dataset.project_id, [row])
        commits.insert(tx, commit)
        if branch is not None:
            commits.set_ref(tx, Ref(dataset.id, branch, RefType.BRANCH, commit.id, now))
    return commit


def _put_page(deps: Deps, keys: ProjectKeys, page_id: str, data: Buffer) -> None:
    deps.store.put(keys.page(page_id), pack_page(data))


# Volumes -----------------------------------------------------------------------------------------


def an_agent(deps: Deps, site: str = "lab") -> Agent:
    """A new agent at the site, which is made if need be."""
    return add_agent(deps.db, f"{site}-{new_id(4)}", site=site, now=deps.clock.now()).agent


def a_volume(deps: Deps, agent: Agent, name: str = "nfs", *, capacity: int | None = 100 * GB, **limits: Any) -> Volume:
    """A volume at the agent's site that the agent has looked at; its disk has room for its whole capacity."""
    path = f"/mnt/{name}"
    volume_service.create(
        deps, the_admin(deps), name=name, path=path, site=agent.site, capacity_bytes=capacity, **limits
    )
    volume = the_volume(deps, name)
    cache_reports.observe_volumes(deps, agent, [sees(volume, free=capacity or 100 * GB)])
    return the_volume(deps, name)


def the_volume(deps: Deps, name: str = "nfs") -> Volume:
    with deps.db.read() as tx:
        found = volumes.find(tx, name)
    assert found is not None, name
    return found


def sees(
    volume: Volume, *, free: int | None = None, problem: str | None = None, commits: Sequence[Commit] | None = None
) -> VolumeSeen:
    """What an agent tells of a volume."""
    listed = [CommitSeen(dataset_id=commit.dataset_id, commit_id=commit.id) for commit in commits or ()]
    return VolumeSeen(
        id=volume.id,
        problem=problem,
        disk_total_bytes=free,
        disk_free_bytes=free,
        commits=listed if commits is not None else None,
    )


def told(fill: DesiredFill, state: str, **progress: object) -> FillSeen:
    """An agent's report on something it was told to do."""
    return FillSeen.model_validate({"cached_id": fill.cached_id, "attempt": fill.attempt, "state": state, **progress})


def carry_out(deps: Deps, agent: Agent) -> list[DesiredFill]:
    """The agent does all it is told, at once; what that was."""
    _, fills = desired_fills.desired_for(deps, agent)
    reports = [told(fill, "ready" if fill.want == "present" else "evicted") for fill in fills]
    cache_reports.observe_fills(deps, agent, reports)
    return fills
