"""One agent fills from another, and from the lake what the other does not give; nothing beyond a grant is sent."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from millpond.agent.peers import protocol, receiving, serving
from millpond.agent.peers.grants import Shared
from millpond.agent.peers.identity import load_identity
from millpond.agent.peers.protocol import BrokenStream, WantedFile
from millpond.agent.peers.receiving import Peer, PeerFiles
from millpond.agent.peers.serving import PeerServer
from millpond.lake.push import push_directory
from millpond.model.address import HostPort
from millpond.model.fill_source import Given, SourceKey, SourceKind
from millpond.testing.lake import DirectLake, Thing, read_things, write_things
from millpond.volumes.attempt import begin_attempt
from millpond.volumes.fill import Filled, fill
from millpond.volumes.source_tally import SourceTally
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

    @property
    def published(self) -> Path:
        return self.volumes[0].commit(PLACE)

    def grant(self, *tokens: str, place: CommitPlace = PLACE) -> None:
        self.server.grant({hashlib.sha256(one.encode()).hexdigest(): Shared("one", place) for one in tokens})

    def peer(self, token: str = TOKEN, fingerprint: str = "", **rates: float) -> Peer:
        address = HostPort("127.0.0.1", self.server.port)
        return Peer(address, fingerprint or self.identity.fingerprint, token, volume="one", **rates)

    def fill(self, peer: Peer | None = None) -> Filled:
        tally = SourceTally()
        with PeerFiles(peer or self.peer(), tally) as files:
            attempt = begin_attempt(self.volumes[1], PLACE, 1)
            filled = fill(attempt, self.tree, self.lake, peer=files, tally=tally)
        self.why = files.given_up
        assert read_things(self.volumes[1].commit(PLACE)) == THINGS, "whatever happens, the commit is whole"
        return filled

    def _find(self, shared: Shared) -> Path | None:
        path = self.volumes[0].commit(shared.place)
        return path if path.is_dir() else None

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
    send = serving._send

    def dying(out: serving._Buffered, root: int, wanted: WantedFile) -> None:
        sent.append(wanted)
        if len(sent) > 600:
            raise OSError("killed")
        send(out, root, wanted)

    monkeypatch.setattr(serving, "_send", dying)
    filled = sites.fill()
    assert filled.gave(SourceKind.LAKE).bytes > 0 and sites.why == "The connection was closed."


def test_a_peer_that_sends_without_end(sites: Sites, monkeypatch: pytest.MonkeyPatch) -> None:
    send = serving._send

    def endless(out: serving._Buffered, root: int, wanted: WantedFile) -> None:
        send(out, root, wanted)
        out.write(protocol.PRESENT * 1_000_000)

    monkeypatch.setattr(serving, "_send", endless)
    assert sites.fill().gave(SourceKind.LAKE).bytes > 0
    assert sites.why == "It sent other bytes than the commit holds."


def test_a_peer_that_is_much_slower_than_expected_is_left(sites: Sites) -> None:
    class Slow(PeerFiles):
        def _watch(self, received: int) -> None:
            self._began = self._clock() - 60
            super()._watch(received)

    with Slow(sites.peer(expected=1e9, lake=1e8)) as files:
        fill(begin_attempt(sites.volumes[1], PLACE, 1), sites.tree, sites.lake, peer=files)
    assert read_things(sites.volumes[1].commit(PLACE)) == THINGS
    assert (files.given_up or "").startswith("It is too slow: ")


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
