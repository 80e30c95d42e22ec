"""Fills from the volume of another site, through the agent there: many files in few requests, every byte checked.

Whatever goes wrong, the rest comes from the lake: the other end is gone, is much slower than expected, lacks a file, or
sends what the commit does not hold.
"""

from __future__ import annotations

import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from functools import partial
from types import TracebackType

from millpond.agent.peers import protocol
from millpond.agent.peers.identity import calling_context, fingerprint_of
from millpond.agent.peers.protocol import BrokenStream, WantedFile
from millpond.errors import Corrupt
from millpond.lake.digests import digest_of
from millpond.lake.pages import Row, entry_of
from millpond.lake.streaming import entry_of_stream
from millpond.lake.target import Target
from millpond.model.address import HostPort
from millpond.model.fill_source import SourceKey, SourceKind
from millpond.model.tree import Content
from millpond.volumes.bases import FILES
from millpond.volumes.reuse_file import write_all
from millpond.volumes.source_tally import SourceTally
from millpond.volumes.source_watch import SourceGivenUp, SourceWatch

CONNECTIONS = 4
CONNECT_SECONDS = 5.0
SILENT_SECONDS = 20.0
# The other agent may hear of a grant a little later than this one.
GRANT_SECONDS = 5.0
_AGAIN_SECONDS = 0.2
# One request asks for so much, unless a single file is larger.
_BATCH_BYTES = 8 << 20
_BATCH_FILES = 512


@dataclass(frozen=True, slots=True)
class Peer:
    """Where to fetch one commit from; `volume` is the id of the volume that has it."""

    address: HostPort
    fingerprint: str
    token: str
    volume: str = ""


class PeerFiles:
    """Makes files of a tree from what a peer sends, as `FetchOptions.local` says. Leave the block to close."""

    def __init__(
        self,
        peer: Peer,
        tally: SourceTally | None = None,
        watch: SourceWatch | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`tally` is told of every file that came and was right; `watch` of all bytes, as they come."""
        self._tally = tally or SourceTally()
        self._watch = watch or SourceWatch(name=str(peer.address))
        self._source = SourceKey(SourceKind.PEER, peer.volume)
        self._peer = peer
        self._clock = clock
        self._session: str | None = None
        self._opening = threading.Lock()
        self._own = threading.local()
        self._open: list[ssl.SSLSocket] = []
        self._into: Target | None = None
        self._stack = ExitStack()
        self._pool = ThreadPoolExecutor(CONNECTIONS, "peer")
        self._stack.callback(self._pool.shutdown, cancel_futures=True)
        self._stack.callback(self._close)

    @property
    def given_up(self) -> str | None:
        """Why nothing more is asked of the peer; None while it is used."""
        return self._watch.given_up

    @property
    def has_waited(self) -> bool:
        """True if the peer was being filled itself, and was waited for."""
        return self._watch.has_waited

    def __enter__(self) -> PeerFiles:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()
        if self._into is not None:
            self._into.__exit__()

    def __call__(self, rows: Sequence[Row], into: Target) -> tuple[Sequence[Row], Callable[[], Sequence[Row]]]:
        """Begin to fetch; the rows that the peer is not asked for, and what waits for the others."""
        if self.given_up is not None:
            return rows, lambda: ()
        mine = [row for row in rows if _may_come(row)]
        target = self._target(into)
        made = [self._pool.submit(self._make, batch, target) for batch in _batches(mine)]
        return [row for row in rows if not _may_come(row)], partial(_left, made)

    def _target(self, into: Target) -> Target:
        """A directory of our own: threads may still write when whoever fetches has met an error and closed its own."""
        if self._into is None:
            self._into = Target.shared(into.root, read_only=into.read_only, exact_modes=into.exact_modes).__enter__()
        return self._into

    def _make(self, rows: Sequence[Row], into: Target) -> Sequence[Row]:
        """Fetch and write these; the rows that the lake must give."""
        if self.given_up is not None:
            return rows
        absent: list[Row] = []
        done = 0
        try:
            connection = self._connection()
            with self._watch.asking():
                protocol.send_list(connection, [WantedFile(row[0], 0, row[3]) for row in rows])
                for row in rows:
                    if self._is_there(connection):
                        self._write(connection, row, into)
                    else:
                        absent.append(row)
                    done += 1
        except (OSError, BrokenStream, Corrupt, SourceGivenUp) as error:
            self._give_up(str(error))
        return [*absent, *rows[done:]]

    def _is_there(self, connection: ssl.SSLSocket) -> bool:
        """Wait until the peer has the next file, if it is being filled there."""
        while (answer := protocol.exactly(connection, 1)) == protocol.LATER:
            self._watch.wait(protocol.receive_reached(connection))
        return answer == protocol.PRESENT

    def _write(self, connection: ssl.SSLSocket, row: Row, into: Target) -> None:
        path, kind, content, size, digest = row
        with self._tally.file() as came:
            blocks = self._counted(self._blocks(connection, size), came)
            if content == Content.BLOB:
                data = b"".join(blocks)
                if digest_of(data) != digest:
                    raise Corrupt("It sent other bytes than the commit holds.")
                into.write_file(path, kind, data)
            else:
                into.make_file(path, entry_of(row).kind, partial(self._stream, blocks, row))
            self._tally.add(self._source, size)

    def _stream(self, blocks: Iterator[bytes], row: Row, target: int) -> None:
        written = _written(blocks, target)
        if entry_of_stream(row[0], row[3], written, lambda digest, data: None).digest != row[4]:
            raise Corrupt("It sent other bytes than the commit holds.")

    def _blocks(self, connection: ssl.SSLSocket, size: int) -> Iterator[bytes]:
        most = self._watch.throttle.part_bytes
        return protocol.blocks(connection, size, min(most or protocol.BLOCK, protocol.BLOCK))

    def _counted(self, blocks: Iterator[bytes], came: Callable[[int], None]) -> Iterator[bytes]:
        for block in blocks:
            came(len(block))
            yield block
            self._watch.take(len(block))

    def _give_up(self, why: str) -> None:
        self._watch.give_up(why)
        self._close()

    def _connection(self) -> ssl.SSLSocket:
        """This thread's own, opened when it is first needed."""
        found: ssl.SSLSocket | None = getattr(self._own, "connection", None)
        if found is None:
            # One after the other: the first uses the grant up, the others show the session it opened.
            with self._opening:
                found = self._own.connection = self._connect()
        return found

    def _connect(self) -> ssl.SSLSocket:
        deadline = self._clock() + GRANT_SECONDS
        while True:
            connection = self._handshake()
            kind = protocol.GRANT if self._session is None else protocol.SESSION
            protocol.send_words(connection, kind, self._session or self._peer.token)
            answer, words = protocol.receive_words(connection)
            if answer == protocol.ACCEPTED:
                self._session = words
                return connection
            connection.close()
            if self._session is not None or self._clock() > deadline or self.given_up is not None:
                raise BrokenStream(f"It refused: {words}")
            time.sleep(_AGAIN_SECONDS)

    def _handshake(self) -> ssl.SSLSocket:
        address = self._peer.address
        plain = socket.create_connection((address.host, address.port), timeout=CONNECT_SECONDS)
        try:
            connection = calling_context().wrap_socket(plain)
        except BaseException:
            plain.close()
            raise
        if fingerprint_of(connection) != self._peer.fingerprint:
            connection.close()
            raise BrokenStream("Its certificate is not the one that the server named.")
        connection.settimeout(SILENT_SECONDS)
        self._open.append(connection)
        connection.sendall(protocol.MAGIC)
        return connection

    def _close(self) -> None:
        for connection in self._open:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
            connection.close()


def _may_come(row: Row) -> bool:
    """Files with content; what else a tree holds is made without any source."""
    return row[1] in FILES and row[2] in (Content.BLOB, Content.CHUNKS) and len(row[0]) <= protocol.MOST_PATH


def _batches(rows: Sequence[Row]) -> Iterator[list[Row]]:
    batch: list[Row] = []
    size = 0
    for row in rows:
        if batch and (size + row[3] > _BATCH_BYTES or len(batch) >= _BATCH_FILES):
            yield batch
            batch, size = [], 0
        batch.append(row)
        size += row[3]
    if batch:
        yield batch


def _left(made: Sequence[Future[Sequence[Row]]]) -> list[Row]:
    return [row for one in made for row in one.result()]


def _written(blocks: Iterator[bytes], target: int) -> Iterator[bytes]:
    """The same blocks, each written to the open file before it is used."""
    for block in blocks:
        write_all(target, block)
        yield block
