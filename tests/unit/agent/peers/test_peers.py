"""One agent fills from another, and from the lake what the other does not give; nothing beyond a grant is sent."""

from __future__ import annotations

import hashlib
import os
import random
import threading
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from millpond.agent.peers import protocol, receiving, serving
from millpond.agent.peers.grants import Shared
from millpond.agent.peers.identity import load_identity
from millpond.agent.peers.protocol import BrokenStream, WantedFile
from millpond.agent.peers.receiving import Peer, PeerFiles
from millpond.agent.peers.serving import Offered, PeerServer
from millpond.lake.push import push_directory
from millpond.lake.target import CACHED_MTIME_NS
from millpond.model.address import HostPort
from millpond.model.fill_source import Given, SourceKey, SourceKind
from millpond.testing.lake import DirectLake, Thing, read_things, write_things
from millpond.volumes.attempt import begin_attempt
from millpond.volumes.fill import Filled, fill
from millpond.volumes.source_tally import SourceTally
from millpond.volumes.source_watch import SourceWatch
from millpond.volumes.volume import CacheVolume, CommitPlace, adopt

PLACE = CommitPlace("project", "dataset", "1" * 64)
OTHER = CommitPlace("project", "dataset", "2" * 64)
TOKEN = "a token of the server"


def data(number: int, size: int = 2000) -> bytes:
    return random.Random(number).randbytes(size)


THINGS = [
    Thing(b"deep/er/file", data(1)),
    Thing(b"empty", b""),
    Thing(b"folder"),
    Thing(b"large", data(2, 5_000_000)),
    Thing(b"link", b"/etc", link=True),
    *(Thing(f"many/{n:04d}".encode(), data(n)) for n in range(1200)),
    Thing(b"tool", b"#!/bin/sh", executable=True),
]
FILES = 1203


class Sites:
    """Site one has the commit on its volume and serves it; site two fills it."""

    def __init__(self, root: Path) -> None:
        self.root, self.lake = root, DirectLake()
        write_things(root / "data", THINGS)
        self.tree = push_directory(root / "data", self.lake).tree.root
        self.lake.accept(self.tree)
        self.volumes = [self._volume(name) for name in ("one", "two")]
        fill(begin_attempt(self.volumes[0], PLACE, 1), self.tree, self.lake)
        self.lake.ranges.clear()
        self.identity = load_identity(root)
        self.server = PeerServer(HostPort("127.0.0.1", 0), self.identity, self._find)
        self.grant(TOKEN)
        self.why: str | None = None
        # A fill of site one that is under way.
        self.growing: Offered | None = None

    @property
    def published(self) -> Path:
        return self.volumes[0].commit(PLACE)

    def grant(self, *tokens: str, place: CommitPlace = PLACE) -> None:
        self.server.grant({hashlib.sha256(one.encode()).hexdigest(): Shared("one", place) for one in tokens})

    def peer(self, token: str = TOKEN, fingerprint: str = "") -> Peer:
        address = HostPort("127.0.0.1", self.server.port)
        return Peer(address, fingerprint or self.identity.fingerprint, token, volume="one")

    def fill(self, peer: Peer | None = None, watch: SourceWatch | None = None) -> Filled:
        tally = SourceTally()
        with PeerFiles(peer or self.peer(), tally, watch) as files:
            attempt = begin_attempt(self.volumes[1], PLACE, 1)
            filled = fill(attempt, self.tree, self.lake, peer=files, tally=tally)
        self.why = files.given_up
        assert read_things(self.volumes[1].commit(PLACE)) == THINGS, "whatever happens, the commit is whole"
        return filled

    def _find(self, shared: Shared) -> Offered | None:
        path = self.volumes[0].commit(shared.place)
        return Offered(path) if path.is_dir() else self.growing

    def _volume(self, name: str) -> CacheVolume:
        volume = CacheVolume(root=self.root / name, id=name)
        volume.root.mkdir()
        adopt(volume, "lake")
        return volume


@pytest.fixture
def sites(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Sites]:
    monkeypatch.setattr(receiving, "GRANT_SECONDS", 0.0)
    found = Sites(tmp_path)
    yield found
    found.server.close()


def test_a_commit_comes_from_the_other_site(sites: Sites) -> None:
    filled = sites.fill()
    assert filled.given == {
        SourceKey(SourceKind.LAKE): Given(len(b"/etc")),  # the link's target
        SourceKey(SourceKind.PEER, "one"): Given(sum(len(one.content or b"") for one in THINGS if not one.link), FILES),
    }
    assert sites.why is None


def test_a_grant_is_used_once(sites: Sites) -> None:
    with PeerFiles(sites.peer()) as files:
        files._connection()
    filled = sites.fill()
    assert (filled.gave(SourceKind.PEER).files, sites.why) == (0, "It refused: This grant was used before.")


def test_an_unknown_grant_opens_nothing(sites: Sites) -> None:
    assert sites.fill(sites.peer("guessed")).gave(SourceKind.PEER).files == 0
    assert sites.why == "It refused: The server has granted nothing of the kind."


def test_a_grant_for_another_commit_gives_none_of_this_one(sites: Sites) -> None:
    sites.grant(TOKEN, place=OTHER)
    assert sites.fill().gave(SourceKind.PEER).files == 0
    assert sites.why is None, "that site has not what was granted any more"


def test_another_certificate_is_not_trusted(sites: Sites) -> None:
    assert sites.fill(sites.peer(fingerprint="0" * 64)).gave(SourceKind.PEER).files == 0
    assert sites.why == "Its certificate is not the one that the server named."


def test_a_peer_that_is_away(sites: Sites) -> None:
    sites.server.close()
    assert sites.fill().gave(SourceKind.PEER).files == 0
    assert sites.why is not None


@pytest.mark.parametrize("name", ["large", "many/0000"])
def test_a_peer_that_lies_is_left(sites: Sites, name: str) -> None:
    with open(_writable(sites.published / name), "r+b") as file:
        file.write(b"lies")
    filled = sites.fill()
    assert filled.gave(SourceKind.LAKE).bytes > 0
    assert sites.why == "It sent other bytes than the commit holds."


def test_a_file_that_the_peer_lacks_comes_from_the_lake(sites: Sites) -> None:
    (sites.published / "many/0100").unlink()
    (sites.published / "many/0101").write_bytes(b"too short")
    filled = sites.fill()
    assert (filled.gave(SourceKind.PEER).files, sites.why) == (FILES - 2, None)
    assert filled.gave(SourceKind.LAKE).bytes > 0


def test_a_peer_that_disappears_half_way(sites: Sites, monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[WantedFile] = []
    send = serving._is_sent

    def dying(out: serving._Buffered, root: int, wanted: WantedFile, *, finished: bool) -> bool:
        sent.append(wanted)
        if len(sent) > 600:
            raise OSError("killed")
        return send(out, root, wanted, finished=finished)

    monkeypatch.setattr(serving, "_is_sent", dying)
    filled = sites.fill()
    assert filled.gave(SourceKind.LAKE).bytes > 0 and sites.why == "The connection was closed."


def test_a_peer_that_sends_without_end(sites: Sites, monkeypatch: pytest.MonkeyPatch) -> None:
    send = serving._is_sent

    def endless(out: serving._Buffered, root: int, wanted: WantedFile, *, finished: bool) -> bool:
        send(out, root, wanted, finished=finished)
        out.write(protocol.PRESENT * 1_000_000)
        return True

    monkeypatch.setattr(serving, "_is_sent", endless)
    assert sites.fill().gave(SourceKind.LAKE).bytes > 0
    assert sites.why == "It sent other bytes than the commit holds."


def test_a_peer_that_is_much_slower_than_expected_is_left(sites: Sites) -> None:
    filled = sites.fill(watch=SourceWatch(expected=1e9, lake=1e8, clock=count(step=0.1).__next__))
    assert (sites.why or "").startswith("It is too slow: ")
    assert filled.gave(SourceKind.LAKE).bytes > 0


class Growing(SourceWatch):
    """What is told when the peer is waited for makes it go on."""

    def __init__(self, go_on: Callable[[], None], **options: Any) -> None:
        super().__init__(**options)
        self._go_on, self._one_by_one = go_on, threading.Lock()

    def wait(self, reached: int) -> None:
        with self._one_by_one:
            self._go_on()
        super().wait(reached)


def under_way(sites: Sites) -> Path:
    """Site one has half of the files, one of them not finished."""
    tree = sites.volumes[0].attempts / "tree"
    sites.volumes[0].attempts.mkdir(exist_ok=True)
    sites.published.rename(tree)
    for path in (tree / "many").iterdir():
        if path.name >= "0600":
            path.rename(sites.root / path.name)
    _writable(tree / "large").write_bytes(bytes(5_000_000))
    sites.growing = Offered(tree, 1000)
    return tree


def test_files_of_a_fill_under_way_come_as_soon_as_they_are_there(sites: Sites) -> None:
    tree = under_way(sites)

    def finish() -> None:
        if sites.growing is None:
            return
        (tree / "large").write_bytes(data(2, 5_000_000))
        os.utime(tree / "large", ns=(CACHED_MTIME_NS, CACHED_MTIME_NS))
        for path in sites.root.glob("[0-9]*"):
            path.rename(tree / "many" / path.name)
        tree.rename(sites.published)
        sites.growing = None

    filled = sites.fill(watch=Growing(finish))
    assert sites.why is None
    assert filled.gave(SourceKind.LAKE).bytes == len(b"/etc") and filled.gave(SourceKind.PEER).files == FILES


def test_a_fill_that_has_not_begun_is_waited_for(sites: Sites, monkeypatch: pytest.MonkeyPatch) -> None:
    tree = sites.root / "later"
    sites.published.rename(tree)
    monkeypatch.chdir(tree)  # what lies around the agent is nobody's commit
    sites.growing = Offered(None, 0)

    def publish() -> None:
        if tree.exists():
            tree.rename(sites.published)

    filled = sites.fill(watch=Growing(publish))
    assert sites.why is None and filled.gave(SourceKind.PEER).files == FILES


def test_a_fill_under_way_that_fails_is_left(sites: Sites) -> None:
    under_way(sites)

    def fail() -> None:
        sites.growing = None

    filled = sites.fill(watch=Growing(fail))
    assert filled.gave(SourceKind.LAKE).bytes > 5_000_000


@pytest.mark.parametrize("expected", [1e6, None])
def test_a_fill_under_way_that_stands_still_is_left(sites: Sites, expected: float | None) -> None:
    under_way(sites)
    filled = sites.fill(watch=SourceWatch(expected, clock=count(step=1.0).__next__))
    assert filled.gave(SourceKind.LAKE).bytes > 5_000_000
    assert (sites.why or "").startswith("It is too slow: ")


def test_a_peer_that_always_promises_more_is_left(sites: Sites, monkeypatch: pytest.MonkeyPatch) -> None:
    under_way(sites)
    promises = count(step=1_000_000)
    monkeypatch.setattr(protocol, "later", lambda reached: protocol.LATER + next(promises).to_bytes(8, "big"))
    watch = SourceWatch(expected=1e6, total=5_000_000, clock=count(step=1.0).__next__)
    assert sites.fill(watch=watch).gave(SourceKind.LAKE).bytes > 5_000_000
    assert (sites.why or "").startswith("It is too slow: ")


def test_a_peer_that_has_no_room_for_more_connections(sites: Sites) -> None:
    while sites.server._slots.acquire(blocking=False):
        pass
    assert sites.fill().gave(SourceKind.PEER).files == 0
    assert sites.why is not None


@pytest.mark.parametrize("path", [b"link/passwd", b"../data/empty", b"/etc/passwd", b"many/../empty", b"many", b"a\0b"])
def test_nothing_outside_the_commit_is_sent(sites: Sites, path: bytes) -> None:
    assert (Path("/etc/passwd")).exists() and (sites.published / "link").readlink() == Path("/etc")
    with PeerFiles(sites.peer()) as files:
        connection = files._connection()
        protocol.send_list(connection, [WantedFile(path, 0, 0), WantedFile(b"tool", 0, 9)])
        assert protocol.exactly(connection, 1) == protocol.ABSENT
        assert protocol.exactly(connection, 10) == protocol.PRESENT + b"#!/bin/sh"


def test_a_list_that_is_too_long_ends_the_connection(sites: Sites) -> None:
    with PeerFiles(sites.peer()) as files:
        connection = files._connection()
        connection.sendall(b"\xff\xff\xff\xff")
        with pytest.raises(BrokenStream):
            protocol.exactly(connection, 1)


def test_connections_of_one_session_are_limited(sites: Sites) -> None:
    with PeerFiles(sites.peer()) as files:
        for _ in range(8):
            files._connect()
        with pytest.raises(BrokenStream, match="too many connections"):
            files._connect()


def _writable(path: Path) -> Path:
    path.chmod(0o644)
    return path
