"""Places of packs that came a moment ago: a shortcut that never says more than the database does."""

from __future__ import annotations

from dataclasses import replace

import pytest

from millpond.db import promised_pages, uploads
from millpond.errors import Incomplete
from millpond.lake.digests import digest_of
from millpond.lake.keys import ProjectKeys
from millpond.model.dataset import BlobPlace
from millpond.services.commits import commits
from millpond.services.commits.commits import NewCommit
from millpond.services.commits.packs.recent_places import RecentPlaces
from millpond.services.commits.uploads import relay as upload_bytes
from millpond.services.commits.uploads import uploads as upload_service
from millpond.services.commits.uploads.uploads import WrittenPack
from millpond.services.deps import Deps
from millpond.testing.builders_data import a_dataset, a_pack, a_tree, send, the_admin, the_project


def some_places(pack: str, count: int) -> list[BlobPlace]:
    return [BlobPlace(digest_of(f"{pack} {n}".encode()), pack, 10 * n, 10, 12, n % 2) for n in range(count)]


def test_what_was_noted_is_found_as_it_was() -> None:
    recent = RecentPlaces()
    first, second = some_places("a" * 32, 200), some_places("b" * 32, 1)
    recent.note("one", first)
    recent.note("one", second)
    recent.note("one", [])
    asked = [place.digest for place in [*first[50:150], *second]] + [digest_of(b"of another pack")]
    assert recent.find("one", asked) == {place.digest: place for place in [*first[50:150], *second]}


def test_nothing_is_found_for_another_project() -> None:
    recent = RecentPlaces()
    places = some_places("a" * 32, 100)
    recent.note("one", places)
    assert recent.find("two", [place.digest for place in places]) == {}


def test_the_oldest_go_first() -> None:
    recent = RecentPlaces(most_bytes=250 * 45)
    packs = [some_places(letter * 32, 100) for letter in "abc"]
    for places in packs:
        recent.note("one", places)
    found = [len(recent.find("one", [place.digest for place in places])) for places in packs]
    assert found == [0, 100, 100]


def test_a_bad_pack_is_not_built_on_though_its_places_are_remembered(deps: Deps) -> None:
    actor, dataset = the_admin(deps), a_dataset(deps)
    pushed = a_tree({f"{n:03}": f"content {n}".encode() for n in range(100)})
    upload = send(deps, actor, pushed)
    with deps.db.write() as tx:
        (pack,) = uploads.unverified(tx, limit=10)
        uploads.reject(tx, pack.id, "not what it says", deps.clock.now())
    assert deps.recent_places.find(dataset.project_id, list(pushed.content))
    asked = NewCommit(upload=upload, tree=pushed.root, branch="main", expected=None, message="")
    with pytest.raises(Incomplete) as caught:
        commits.create(deps, actor, the_project(deps), dataset.name, asked)
    assert len(caught.value.details["blobs"]) == 100


def test_a_page_from_memory_counts_only_with_the_token_it_was_written_with(deps: Deps) -> None:
    """What was removed and promised anew is read from the lake, where it is not."""
    actor, dataset, project = the_admin(deps), a_dataset(deps), the_project(deps)
    pushed = a_tree({"a": b"content"})
    upload = send(deps, actor, pushed)
    found = upload_service.get(deps, actor, project, upload)
    key = ProjectKeys(project.id).page(pushed.root)
    frame = deps.store.get(key)
    upload_bytes.put_page(deps, found, pushed.root, frame)
    with deps.db.write() as tx:
        promised_pages.forget(tx, project.id, [bytes.fromhex(pushed.root)])
    deps.store.delete(key)
    upload_service.promise_pages(deps, project.id, [pushed.root])
    asked = NewCommit(upload=upload, tree=pushed.root, branch="main", expected=None, message="")
    with pytest.raises(Incomplete) as caught:
        commits.create(deps, actor, project, dataset.name, asked)
    assert caught.value.details["pages"] == [pushed.root]
    upload_bytes.put_page(deps, found, pushed.root, frame)
    assert commits.create(deps, actor, project, dataset.name, asked)[1].tree == pushed.root


def test_a_pack_that_another_server_took_meanwhile_is_not_noted(deps: Deps, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever has a URL may write the pack anew between two servers' looks at it: what the database has is true."""
    project = the_project(deps)
    upload = upload_service.create(deps, the_admin(deps), project)
    (slot,) = upload_service.pack_slots(deps, upload, 1)
    key = ProjectKeys(project.id).pack(slot.id)
    first, second = ({digest_of(content): content} for content in (b"first", b"other"))
    written = [WrittenPack(id=slot.id, size=len(a_pack(first)))]
    other = replace(deps, recent_places=RecentPlaces())
    read = upload_service.read_index

    def meanwhile(*arguments: object) -> list[BlobPlace]:
        found = read(*arguments)  # type: ignore[arg-type]
        monkeypatch.setattr(upload_service, "read_index", read)
        deps.store.put(key, a_pack(second))
        upload_service.packs_written(other, upload, written)
        return found

    deps.store.put(key, a_pack(first))
    monkeypatch.setattr(upload_service, "read_index", meanwhile)
    upload_service.packs_written(deps, upload, written)
    assert list(other.recent_places.find(project.id, list(second))) == list(second)
    assert not deps.recent_places.find(project.id, list(first))
