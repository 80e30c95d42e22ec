"""Commits: nothing is accepted that is not whole, canonical, and the committer's to build on."""

from __future__ import annotations

import random
from typing import Any

import pytest

from millpond.db import commits as rows
from millpond.db import placements
from millpond.db import uploads as upload_rows
from millpond.errors import BadFormat, BadRequest, Forbidden, Incomplete, NotFound, RefMoved
from millpond.lake.chunks import ChunkList, encode_chunk_list
from millpond.lake.commits import decode_commit
from millpond.lake.digests import digest_of
from millpond.lake.keys import ProjectKeys
from millpond.lake.locators import unpack_locator
from millpond.lake.pages import PageRef, encode_index, encode_leaf, pack_page
from millpond.lake.tree import build_tree
from millpond.model.dataset import Commit, PackState
from millpond.model.job import Placement, PlacementState
from millpond.model.job_spec import JobInput
from millpond.model.names import CODE_DATASET, OUTPUT_DATASET
from millpond.model.people import Actor, ActorKind, Role
from millpond.model.tree import Content, Entry, Kind
from millpond.services.commits import commits
from millpond.services.commits.commits import NewCommit
from millpond.services.commits.packs import verify
from millpond.services.commits.uploads import uploads
from millpond.services.commits.uploads.uploads import WrittenPack
from millpond.services.datasets import diffs, files, reading
from millpond.services.deps import Deps
from millpond.services.people import projects
from millpond.testing.builders_data import (
    Pushed,
    a_commit,
    a_dataset,
    a_pack,
    a_tree,
    an_actor,
    send,
    the_admin,
    the_project,
)
from millpond.testing.builders_work import add_agent, add_job
from millpond.testing.clock import NOON


def commit_tree(deps: Deps, actor: Actor, pushed: Pushed, *, expected: str | None = None, upload: str = "") -> Commit:
    a_dataset(deps)
    asked = NewCommit(upload=upload or send(deps, actor, pushed), tree=pushed.root, expected=expected)
    return commits.create(deps, actor, the_project(deps), "xray", asked)[1]


def content(deps: Deps, commit: Commit, path: str) -> bytes:
    file = files.open_file(deps, a_dataset(deps), commit, path)
    return b"".join(file.read(deps, 0, file.size))


def test_what_was_committed_comes_back(deps: Deps) -> None:
    big = random.Random(1).randbytes(3_000_000)
    commit = a_commit(deps, {"a/small": b"hello", "big": big, "empty": b""}, message="first")
    assert (commit.files, commit.bytes, commit.author, commit.message) == (3, 3_000_005, "admin", "first")
    assert content(deps, commit, "a/small") == b"hello"
    assert content(deps, commit, "big") == big
    assert content(deps, commit, "empty") == b""


def test_the_lake_holds_the_commit_as_it_is(deps: Deps) -> None:
    commit = a_commit(deps, {"a": b"1"})
    stored = deps.store.get(ProjectKeys(the_project(deps).id).commit(commit.id))
    assert decode_commit(stored, commit.id) == commit


def test_a_tree_of_many_pages_is_taken_and_the_next_one_shares_most_of_them(deps: Deps) -> None:
    files_ = {f"dir/file-{n:05}": b"%d" % (n % 50) for n in range(9000)}
    first = a_commit(deps, files_)
    assert first.files == 9000
    with deps.db.read() as tx:
        before = len(upload_rows.unverified(tx, limit=100))
    second = a_commit(deps, files_ | {"dir/file-04000": b"another"})
    with deps.db.read() as tx:
        assert len(upload_rows.unverified(tx, limit=100)) == before + 1
    assert content(deps, second, "dir/file-04000") == b"another"
    assert content(deps, second, "dir/file-08999") == b"49"
    shown = diffs.diff(deps, a_dataset(deps), first, second, limit=10, cursor=None)
    assert [change.path for change in shown.changes] == [b"dir/file-04000"]


def test_refuses_a_tree_whose_content_was_not_sent(deps: Deps) -> None:
    pushed = a_tree({"a": b"1", "b": b"2"})
    upload = send(deps, the_admin(deps), Pushed(pushed.root, pushed.pages, {}))
    with pytest.raises(Incomplete) as caught:
        commit_tree(deps, the_admin(deps), pushed, upload=upload)
    assert caught.value.details["blobs"] == sorted(digest.hex() for digest in pushed.content)


def test_refuses_a_tree_whose_pages_were_not_sent(deps: Deps) -> None:
    pushed = a_tree({f"{n:05}": b"x" for n in range(6000)})
    assert len(pushed.pages) > 2
    lost = next(page for page in pushed.pages if page != pushed.root)
    sent = {page: data for page, data in pushed.pages.items() if page != lost}
    upload = send(deps, the_admin(deps), Pushed(pushed.root, sent, pushed.content))
    with pytest.raises(Incomplete) as caught:
        commit_tree(deps, the_admin(deps), pushed, upload=upload)
    assert caught.value.details["pages"] == [lost]


def test_refuses_a_size_that_its_content_does_not_have(deps: Deps) -> None:
    pushed = a_tree({"a": b"12345"})
    lying = Pushed("", {}, pushed.content)
    entry = Entry(b"a", Kind.FILE, 6, Content.BLOB, digest_of(b"12345"))
    lying.root = build_tree([entry], lying.pages.__setitem__).root
    with pytest.raises(BadFormat, match="6 bytes"):
        commit_tree(deps, the_admin(deps), lying)


def test_refuses_a_chunk_list_that_counts_wrongly(deps: Deps) -> None:
    chunks = [b"a" * 900_000, b"b" * 900_000]
    listed = encode_chunk_list(ChunkList([digest_of(c) for c in chunks], [900_001, 899_999]))
    lying = Pushed("", {}, {digest_of(listed): listed} | {digest_of(c): c for c in chunks})
    entry = Entry(b"a", Kind.FILE, 1_800_000, Content.CHUNKS, digest_of(listed))
    lying.root = build_tree([entry], lying.pages.__setitem__).root
    with pytest.raises(BadFormat, match="900001"):
        commit_tree(deps, the_admin(deps), lying)


def test_refuses_a_page_whose_bytes_are_not_its_own(deps: Deps) -> None:
    pushed = a_tree({"a": b"1"})
    other = a_tree({"b": b"1"})
    upload = send(deps, the_admin(deps), pushed)
    deps.store.put(ProjectKeys(the_project(deps).id).page(pushed.root), pack_page(other.pages[other.root]))
    with pytest.raises(BadFormat):
        commit_tree(deps, the_admin(deps), pushed, upload=upload)


def leaf(pushed: Pushed, *names: str) -> PageRef:
    entries = [Entry(name.encode(), Kind.FILE, 1, Content.BLOB, digest_of(b"x")) for name in names]
    data = encode_leaf(entries)
    page_id = digest_of(data).hex()
    pushed.pages[page_id] = data
    return PageRef(page_id, 0, len(entries), len(entries), entries[0].path)


def index(pushed: Pushed, *children: PageRef) -> Pushed:
    data = encode_index(1, children)
    pushed.root = digest_of(data).hex()
    pushed.pages[pushed.root] = data
    return pushed


def crafted() -> Pushed:
    return Pushed("", {}, {digest_of(b"x"): b"x"})


def test_refuses_pages_that_end_where_they_should_not(deps: Deps) -> None:
    pushed = crafted()
    index(pushed, leaf(pushed, "a"), leaf(pushed, "b"))
    with pytest.raises(BadFormat, match="ends in the wrong place"):
        commit_tree(deps, the_admin(deps), pushed)


def test_refuses_an_entry_that_is_a_directory_of_another_page(deps: Deps) -> None:
    """Were `a` a link, `a/b` would be written wherever it leads."""
    pushed = crafted()
    names = [f"a-{n:04}" for n in range(6000)]
    entries = sorted(
        [Entry(b"a", Kind.FILE), *(Entry(name.encode(), Kind.FILE) for name in names)], key=lambda e: e.path
    )
    refs = leaves_of(pushed, entries)
    refs[-1] = replace_last(pushed, entries, refs, Entry(b"a/b", Kind.FILE))
    index(pushed, *refs)
    with pytest.raises(BadFormat, match="both an entry"):
        commit_tree(deps, the_admin(deps), pushed)


def leaves_of(pushed: Pushed, entries: list[Entry]) -> list[PageRef]:
    found: dict[str, bytes] = {}
    root = build_tree(entries, found.__setitem__).root
    refs: list[PageRef] = []
    at = 0
    for page_id, data in found.items():
        if page_id == root:
            continue
        pushed.pages[page_id] = data
        count = int.from_bytes(data[8:12], "little")
        refs.append(PageRef(page_id, 0, count, sum(e.size for e in entries[at : at + count]), entries[at].path))
        at += count
    return refs


def replace_last(pushed: Pushed, entries: list[Entry], refs: list[PageRef], more: Entry) -> PageRef:
    """The last leaf with one entry more: it is alone in knowing its directory."""
    start = sum(ref.entries for ref in refs[:-1])
    last = [*entries[start:], more]
    data = encode_leaf(last)
    page_id = digest_of(data).hex()
    pushed.pages[page_id] = data
    return PageRef(page_id, 0, len(last), sum(e.size for e in last), last[0].path)


def test_refuses_an_index_that_counts_wrongly(deps: Deps) -> None:
    pushed = crafted()
    entries = [Entry(f"{n:05}".encode(), Kind.FILE) for n in range(6000)]
    refs = leaves_of(pushed, entries)
    wrong = PageRef(refs[0].id, 0, refs[0].entries + 1, refs[0].size, refs[0].first)
    index(pushed, wrong, *refs[1:])
    with pytest.raises(BadFormat, match="wrong counts for page"):
        commit_tree(deps, the_admin(deps), pushed)


def test_a_refused_tree_leaves_nothing_visible(deps: Deps) -> None:
    pushed = a_tree({"a": b"1"})
    upload = send(deps, the_admin(deps), Pushed(pushed.root, pushed.pages, {}))
    with pytest.raises(Incomplete):
        commit_tree(deps, the_admin(deps), pushed, upload=upload)
    with deps.db.read() as tx:
        assert rows.refs(tx, a_dataset(deps).id, limit=9) == []
    with pytest.raises(NotFound):
        reading.get_commit(deps, a_dataset(deps), "main")


def test_somebody_else_came_first(deps: Deps) -> None:
    head = a_commit(deps, {"a": b"1"})
    with pytest.raises(RefMoved) as caught:
        commit_tree(deps, the_admin(deps), a_tree({"a": b"2"}), expected=None)
    assert caught.value.details["head"] == head.id


def test_a_lost_answer_is_given_again(deps: Deps) -> None:
    first = a_commit(deps, {"a": b"1"})
    pushed = a_tree({"a": b"2"})
    second = commit_tree(deps, the_admin(deps), pushed, expected=first.id)
    assert commit_tree(deps, the_admin(deps), pushed, expected=first.id) == second
    assert commit_tree(deps, the_admin(deps), pushed, expected=second.id) == second


def test_content_of_another_project_cannot_be_named(deps: Deps) -> None:
    """Knowing a digest is not enough, neither to learn that it exists nor to use it."""
    admin = the_admin(deps)
    projects.create(deps, admin, name="secret")
    a_commit(deps, {"a": b"confidential"}, project="secret")
    verify.verify_some(deps)
    mallory = an_actor(deps, "mallory", default=Role.MEMBER)
    upload = uploads.create(deps, mallory, the_project(deps))
    assert uploads.missing(deps, upload, digest_of(b"confidential")) == b"\1"
    stolen = a_tree({"mine": b"confidential"})
    with pytest.raises(Incomplete):
        commit_tree(deps, mallory, stolen, upload=send(deps, mallory, Pushed(stolen.root, stolen.pages, {})))


def test_unverified_content_serves_its_uploader_alone(deps: Deps) -> None:
    maria = an_actor(deps, "maria", default=Role.MEMBER)
    a_commit(deps, {"a": b"shared"})
    digest = digest_of(b"shared")
    hers = uploads.create(deps, maria, the_project(deps))
    own = uploads.create(deps, the_admin(deps), the_project(deps))
    assert uploads.missing(deps, hers, digest) == b"\1"
    assert uploads.missing(deps, own, digest) == b"\0"
    assert (uploads.begins_empty(deps, hers), uploads.begins_empty(deps, own)) == (True, False)
    assert verify.verify_some(deps) == 1
    assert uploads.missing(deps, hers, digest) == b"\0"
    assert not uploads.begins_empty(deps, hers)


def lie(deps: Deps, actor: Actor, pushed: Pushed) -> str:
    """Upload a pack whose index names digests that its bytes do not have."""
    upload = uploads.create(deps, actor, the_project(deps))
    (slot,) = uploads.pack_slots(deps, upload, 1)
    pack = a_pack({digest: b"?" * len(raw) for digest, raw in pushed.content.items()})
    deps.store.put(ProjectKeys(the_project(deps).id).pack(slot.id), pack)
    uploads.packs_written(deps, upload, [WrittenPack(id=slot.id, size=len(pack))])
    for page in uploads.page_slots(deps, upload, list(pushed.pages)):
        deps.store.put(ProjectKeys(the_project(deps).id).page(page.id), pack_page(pushed.pages[page.id]))
    return upload.id


def test_a_lying_upload_never_breaks_somebody_elses_commit(deps: Deps) -> None:
    mallory = an_actor(deps, "mallory", default=Role.MEMBER)
    pushed = a_tree({"a": b"the truth"})
    bad = commit_tree(deps, mallory, pushed, upload=lie(deps, mallory, pushed))
    good = a_commit(deps, {"a": b"the truth", "b": b"more"})
    assert content(deps, good, "a") == b"the truth"
    # The same page: before it is shared, the packs it rests on are checked, found bad, and replaced.
    same = a_commit(deps, {"a": b"the truth"})
    assert content(deps, same, "a") == b"the truth"
    assert content(deps, bad, "a") == b"the truth"


def test_a_bad_pack_is_condemned_and_its_content_asked_for_again(deps: Deps) -> None:
    mallory = an_actor(deps, "mallory", default=Role.MEMBER)
    pushed = a_tree({"a": b"the truth"})
    upload = lie(deps, mallory, pushed)
    verify.verify_some(deps)
    with deps.db.read() as tx:
        place = next(iter(upload_rows.packs(tx, the_project(deps).id, _pack_ids(deps))))
    assert place.state is PackState.CONDEMNED
    with pytest.raises(Incomplete):
        commit_tree(deps, mallory, pushed, upload=upload)


def _pack_ids(deps: Deps) -> list[str]:
    prefix = ProjectKeys(the_project(deps).id).packs
    return [info.key.rpartition("/")[2] for info in deps.store.list(prefix)]


def test_two_who_bring_the_same_page_share_one_locator_they_can_both_trust(deps: Deps) -> None:
    maria = an_actor(deps, "maria", default=Role.MEMBER)
    first = a_commit(deps, {"a": b"same"})
    a_dataset(deps, "other")
    second = a_commit(deps, {"a": b"same"}, actor=maria, dataset="other")
    assert first.tree == second.tree
    key = ProjectKeys(the_project(deps).id).locator(first.tree)
    places = unpack_locator(deps.store.get(key))
    with deps.db.read() as tx:
        (pack,) = upload_rows.packs(tx, the_project(deps).id, [place.pack_id for place in places.values()])
    assert pack.verified_at is not None


def test_a_user_who_lost_the_upload_cannot_use_it(deps: Deps) -> None:
    maria = an_actor(deps, "maria", default=Role.MEMBER)
    upload = send(deps, the_admin(deps), a_tree({"a": b"1"}))
    with pytest.raises(NotFound):
        commit_tree(deps, maria, a_tree({"a": b"1"}), upload=upload)


def a_placement(deps: Deps, job_id: str) -> Actor:
    return Actor(
        kind=ActorKind.PLACEMENT,
        name="maria",
        placement_id="p1",
        job_id=job_id,
        roles={the_project(deps).id: Role.MEMBER},
    )


def test_a_job_commits_its_outputs_with_the_lineage_the_server_knows(deps: Deps) -> None:
    data = a_commit(deps, {"a": b"1"})
    code = a_commit_of(deps, the_admin(deps), CODE_DATASET, {"train.py": b"print()"}, "main")
    entry = JobInput("default/xray", "main", data.id, a_dataset(deps).id, "MILL_DATA_XRAY")
    job = add_job(deps.db, inputs=(entry,), code_commit=code.id)
    made = a_commit_of(deps, a_placement(deps, job.id), OUTPUT_DATASET, {"model": b"weights"}, job.id)
    assert made.lineage == {"job": job.id, "inputs": [f"default/xray@{data.id}"], "code": code.id}


def a_commit_of(deps: Deps, actor: Actor, dataset: str, files_: dict[str, bytes], branch: str) -> Commit:
    pushed = a_tree(files_)
    asked = NewCommit(upload=send(deps, actor, pushed), tree=pushed.root, branch=branch)
    return commits.create(deps, actor, the_project(deps), dataset, asked)[1]


def a_running_job(deps: Deps, **values: Any) -> Actor:
    """A job with a placement: its token."""
    job = add_job(deps.db, placement_id="p1", **values)
    agent = add_agent(deps.db).agent
    placement = Placement(
        "p1", job.id, agent.compute_id, agent.id, "local", PlacementState.PLACED, 600, (), NOON, NOON, None
    )
    with deps.db.write() as tx:
        placements.insert(tx, placement)
    return a_placement(deps, job.id)


def test_a_job_commits_nothing_of_its_project_that_it_neither_reads_nor_sent(deps: Deps) -> None:
    files_ = {f"{n}": b"secret %d" % n for n in range(9)}
    secret, data = a_commit(deps, files_, dataset="secret"), a_commit(deps, {"a": b"its input"})
    verify.verify_some(deps)
    entry = JobInput("default/xray", "main", data.id, a_dataset(deps).id, "MILL_DATA_XRAY")
    job = a_running_job(deps, inputs=(entry,))
    upload = uploads.create(deps, job, the_project(deps))
    digests = [digest_of(b"secret 1"), digest_of(b"its input")]
    assert uploads.missing(deps, upload, b"".join(digests)) == b"\1\0", "not even whether it is there"

    def commit(tree: str, upload_id: str, parent: str | None = None) -> Commit:
        asked = NewCommit(upload=upload_id, tree=tree, branch=job.job_id or "", parent=parent)
        return commits.create(deps, job, the_project(deps), OUTPUT_DATASET, asked)[1]

    with pytest.raises(Incomplete) as refused:
        commit(secret.tree, upload.id)
    assert set(refused.value.details["blobs"]) == {digest_of(content).hex() for content in files_.values()}
    some = a_tree({"b": b"secret 1"})
    with pytest.raises(Incomplete):
        commit(some.root, send(deps, job, Pushed(some.root, some.pages, {})))
    with pytest.raises(Forbidden):
        commit(secret.tree, upload.id, parent=secret.id)
    assert commit(data.tree, upload.id).tree == data.tree, "what it reads it may write again without sending it"


def test_a_job_may_commit_what_the_project_has_once_it_has_sent_it(deps: Deps) -> None:
    known = a_commit(deps, {"a": b"the same", "d/b": b"everywhere"})
    verify.verify_some(deps)
    job = a_running_job(deps)
    made = a_commit_of(deps, job, OUTPUT_DATASET, {"a": b"the same", "d/b": b"everywhere"}, job.job_id or "")
    assert made.tree == known.tree
    assert content(deps, made, "a") == b"the same"


def test_jobs_and_people_keep_to_their_own_datasets(deps: Deps) -> None:
    job = add_job(deps.db)
    a_dataset(deps)
    for actor, dataset, branch in (
        (a_placement(deps, job.id), "xray", job.id),
        (a_placement(deps, job.id), OUTPUT_DATASET, "main"),
        (the_admin(deps), OUTPUT_DATASET, "main"),
    ):
        with pytest.raises(Forbidden):
            a_commit_of(deps, actor, dataset, {"a": b"1"}, branch)


@pytest.mark.parametrize("size", [1, 43, 100])
def test_refuses_a_pack_that_is_none(deps: Deps, size: int) -> None:
    upload = uploads.create(deps, the_admin(deps), the_project(deps))
    (slot,) = uploads.pack_slots(deps, upload, 1)
    deps.store.put(ProjectKeys(upload.project_id).pack(slot.id), b"x" * size)
    with pytest.raises(BadFormat):
        uploads.packs_written(deps, upload, [WrittenPack(id=slot.id, size=size)])


def test_refuses_packs_that_are_absent_short_or_not_promised(deps: Deps) -> None:
    upload = uploads.create(deps, the_admin(deps), the_project(deps))
    other = uploads.create(deps, the_admin(deps), the_project(deps))
    (slot,) = uploads.pack_slots(deps, upload, 1)
    with pytest.raises(Incomplete) as caught:
        uploads.packs_written(deps, upload, [WrittenPack(id=slot.id, size=100)])
    assert caught.value.details["packs"] == [slot.id]
    pack = a_pack({digest_of(b"x"): b"x"})
    deps.store.put(ProjectKeys(upload.project_id).pack(slot.id), pack)
    with pytest.raises(Incomplete):
        uploads.packs_written(deps, upload, [WrittenPack(id=slot.id, size=len(pack) + 1)])
    with pytest.raises(BadRequest):
        uploads.packs_written(deps, other, [WrittenPack(id=slot.id, size=len(pack))])
    for _ in range(2):
        uploads.packs_written(deps, upload, [WrittenPack(id=slot.id, size=len(pack))])
    assert uploads.missing(deps, upload, digest_of(b"x") + digest_of(b"y")) == b"\0\1"
    with pytest.raises(BadRequest):
        uploads.missing(deps, upload, b"short")


def test_a_page_with_what_others_sent_is_taken_over_once_that_is_checked(deps: Deps) -> None:
    """Who commits on top of others need not have what they sent, not even before it was checked."""
    maria, paul = (an_actor(deps, name, default=Role.MEMBER) for name in ("maria", "paul"))
    first = a_commit(deps, {"a": b"maria's"}, actor=maria)
    pushed = a_tree({"a": b"maria's", "b": b"paul's"})
    pushed.content.pop(digest_of(b"maria's"))
    second = commit_tree(deps, paul, pushed, expected=first.id)
    assert content(deps, second, "a") == b"maria's"
