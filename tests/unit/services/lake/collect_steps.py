"""An upload and a collection as steps, for tests that mix them in any order."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass

from millpond.db import commits as commit_rows
from millpond.decide.collection import Policy
from millpond.errors import Incomplete, NotFound, NotReady, RefMoved, Unavailable
from millpond.lake.keys import ProjectKeys
from millpond.lake.pages import pack_page
from millpond.model.dataset import Commit
from millpond.model.people import Actor
from millpond.services.commits import accept
from millpond.services.commits.accept import Proposal
from millpond.services.commits.uploads import uploads
from millpond.services.commits.uploads.uploads import WrittenPack
from millpond.services.deps import Deps
from millpond.services.lake import collect, pending_deletion
from millpond.testing.builders_data import a_dataset, a_pack, a_tree, the_project

HURRIED = Policy.hurried()
DAYS = 2 * 86_400.0
# What a client answers by sending again, at once or in a moment.
REFUSED = (Incomplete, Unavailable)
# What tells it that others were quicker, or that the dataset is gone.
TOO_LATE = (RefMoved, NotFound)


@dataclass
class Uploading:
    """A client that sends files step by step; `steps` end with the commit, or are refused."""

    deps: Deps
    actor: Actor
    files: Mapping[str, bytes]
    dataset: str = "new"
    commit: Commit | None = None

    def steps(self) -> Iterator[str]:
        deps, tree = self.deps, a_tree(self.files)
        dataset = a_dataset(deps, self.dataset)
        keys = ProjectKeys(dataset.project_id)
        with deps.db.read() as tx:
            ref = commit_rows.find_ref(tx, dataset.id, "main")
            head = commit_rows.get(tx, ref.commit_id) if ref else None
        upload = uploads.create(deps, self.actor, the_project(deps))
        digests = list(tree.content)
        missing = uploads.missing(deps, upload, b"".join(digests))
        yield "asked what is missing"
        wanted = {digest: tree.content[digest] for digest, flag in zip(digests, missing, strict=True) if flag}
        if wanted:
            (slot,) = uploads.pack_slots(deps, upload, 1)
            pack = a_pack(wanted)
            deps.store.put(keys.pack(slot.id), pack)
            yield "wrote a pack"
            uploads.packs_written(deps, upload, [WrittenPack(id=slot.id, size=len(pack))])
        slots = uploads.page_slots(deps, upload, list(tree.pages))
        yield "has slots for pages"
        for slot in slots:
            deps.store.put(keys.page(slot.id), pack_page(tree.pages[slot.id]))
        yield "sent pages"
        parents = [head] if head else []
        expected = head.id if head else None
        proposal = Proposal(tree.root, "main", expected, parents, "", owner=upload.owner, upload_id=upload.id)
        checked = accept.check(deps, dataset, proposal)
        yield "was checked"
        self.commit = accept.make_visible(deps, self.actor, dataset, proposal, checked)


def collecting(deps: Deps, policy: Policy = HURRIED) -> Iterator[str]:
    """One collection; what somebody else's commit made stale is not carried out."""
    project_id = the_project(deps).id
    collect.remove_commits(deps, project_id, policy)
    plan = collect.look(deps, project_id, policy)
    assert not isinstance(plan, str), plan
    yield "marked"
    with suppress(collect.CollectedBytes):
        collect.remove_pages(deps, plan, policy)
        yield "removed pages"
        collect.condemn(deps, plan, policy)
        yield "condemned"
        collect.delete(deps, plan, policy)
        yield "deleting"
    with suppress(NotReady), pending_deletion.permission(deps) as held:
        pending_deletion.remove_all(held)


def drive(steps: Iterator[str]) -> bool:
    """One step; whether there are more."""
    return next(steps, None) is not None
