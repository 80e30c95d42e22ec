"""Serves commits to agents of other sites, to each what the server has granted it and nothing else.

Of a commit that is still being filled, each file is sent as soon as it is whole.
"""

from __future__ import annotations

import logging
import os
import socket
import ssl
import stat
import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from millpond.agent.peers import protocol
from millpond.agent.peers.grants import Grants, Refused, Shared
from millpond.agent.peers.identity import PeerIdentity, serving_context
from millpond.agent.peers.protocol import BrokenStream, WantedFile
from millpond.errors import SetupError
from millpond.lake.target import CACHED_MTIME_NS
from millpond.lake.throttle import UNLIMITED, Throttle
from millpond.model.address import HostPort

log = logging.getLogger(__name__)

# A line that carries nothing for so long is given up.
SILENT_SECONDS = 60.0
# Those who have shown nothing yet get less time.
GREETING_SECONDS = 10.0
MOST_THREADS = 64
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK

# A file that is not there yet is looked for so often.
_LOOK_SECONDS = 0.1


class Offered(NamedTuple):
    """Where a commit lies; `reached` says how many of its bytes are there while it is being filled, else None."""

    # None for one whose fill has not begun.
    path: Path | None
    reached: int | None = None


# Where a commit lies; None while its volume is not well, or it is neither published nor being filled.
FindCommit = Callable[[Shared], Offered | None]


class PeerServer:
    """Listens from the start; `close` ends all connections. Used from any thread."""

    def __init__(
        self,
        listen: HostPort,
        identity: PeerIdentity,
        find: FindCommit,
        throttle_to: Callable[[str], Throttle] = lambda site_id: UNLIMITED,
    ) -> None:
        """`throttle_to` is what passes to a site."""
        self.fingerprint = identity.fingerprint
        self._throttle_to = throttle_to
        self._find = find
        self._grants = Grants()
        self._context = serving_context(identity)
        self._slots = threading.BoundedSemaphore(MOST_THREADS)
        self._open: set[socket.socket] = set()
        self._closed = threading.Event()
        try:
            self._listener = socket.create_server((listen.host, listen.port), backlog=MOST_THREADS)
        except OSError as error:
            raise SetupError(
                f"Cannot listen at {listen}: {error.strerror or error}.", hint="Choose another --listen address."
            ) from error
        self.port: int = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, name="peers", daemon=True).start()

    def grant(self, granted: Mapping[str, Shared]) -> None:
        """These are all grants that the server has given, by the SHA-256 of their tokens."""
        self._grants.replace(granted)

    def close(self) -> None:
        self._closed.set()
        for one in (self._listener, *list(self._open)):
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()

    def _accept(self) -> None:
        while True:
            try:
                connection, address = self._listener.accept()
            except OSError:
                return  # closed
            if not self._slots.acquire(blocking=False):
                log.warning("peer refused, too many connections: %s", address[0])
                connection.close()
                continue
            threading.Thread(target=self._serve, args=(connection, address[0]), name="peer", daemon=True).start()

    def _serve(self, plain: socket.socket, address: str) -> None:
        try:
            plain.settimeout(GREETING_SECONDS)
            with closing(self._context.wrap_socket(plain, server_side=True)) as connection:
                self._open.add(connection)
                try:
                    self._converse(connection)
                finally:
                    self._open.discard(connection)
        except (OSError, BrokenStream) as error:
            log.info("peer left: %s %s", address, error)
        except Exception:
            log.exception("peer failed: %s", address)
        finally:
            plain.close()
            self._slots.release()

    def _converse(self, connection: ssl.SSLSocket) -> None:
        if protocol.exactly(connection, len(protocol.MAGIC)) != protocol.MAGIC:
            raise BrokenStream("It speaks another protocol.")
        kind, words = protocol.receive_words(connection)
        try:
            session = self._grants.open(words) if kind == protocol.GRANT else words
            shared = self._grants.enter(session)
        except Refused as error:
            protocol.send_words(connection, protocol.REFUSED, str(error))
            return
        try:
            protocol.send_words(connection, protocol.ACCEPTED, session)
            connection.settimeout(SILENT_SECONDS)
            while (wanted := protocol.receive_list(connection)) is not None:
                self._send_all(connection, shared, wanted)
        finally:
            self._grants.leave(session)

    def _send_all(self, connection: ssl.SSLSocket, shared: Shared, wanted: list[WantedFile]) -> None:
        out, left = _Buffered(connection, self._throttle_to(shared.site_id)), deque(wanted)
        while left:
            offered = self._find(shared)
            is_growing = offered is not None and offered.reached is not None
            with _opened_root(offered) as root:
                while root is not None and left and _is_sent(out, root, left[0], finished=is_growing):
                    left.popleft()
            if left and offered is not None and offered.reached is not None:
                out.write(protocol.later(offered.reached))
                out.flush()
                if self._closed.wait(_LOOK_SECONDS):
                    return
            elif left:
                out.write(protocol.ABSENT)
                left.popleft()
        out.flush()


class _Buffered:
    """Joins small pieces: a system call and a TLS record for each small file would be most of the work."""

    def __init__(self, connection: ssl.SSLSocket, throttle: Throttle) -> None:
        self._connection = connection
        self._throttle = throttle
        self._pieces: list[bytes] = []
        self._size = 0

    def write(self, data: bytes) -> None:
        self._pieces.append(data)
        self._size += len(data)
        if self._size >= protocol.BLOCK:
            self.flush()

    def flush(self) -> None:
        """In small parts where there is a limit: whoever receives does not wait long for the next."""
        data = memoryview(b"".join(self._pieces))
        part = min(self._throttle.part_bytes or protocol.BLOCK, protocol.BLOCK)
        for start in range(0, len(data), part):
            self._throttle.take(min(part, len(data) - start))
            self._connection.sendall(data[start : start + part])
        self._pieces, self._size = [], 0


def _is_sent(out: _Buffered, root: int, wanted: WantedFile, *, finished: bool) -> bool:
    """Send the file if it is there; with `finished` only one that nobody writes any more."""
    with _opened(root, wanted, finished=finished) as descriptor:
        if descriptor is None:
            return False
        out.write(protocol.PRESENT)
        at, end = wanted.start, wanted.start + wanted.size
        while at < end:
            block = os.pread(descriptor, min(end - at, protocol.BLOCK), at)
            if not block:
                raise BrokenStream("A file became shorter while it was sent.")
            out.write(block)
            at += len(block)
        return True


@contextmanager
def _opened_root(offered: Offered | None) -> Iterator[int | None]:
    try:
        root = os.open(offered.path, _DIRECTORY) if offered is not None and offered.path is not None else None
    except OSError:
        root = None  # published, evicted or begun anew just now
    if root is None:
        yield None
        return
    try:
        yield root
    finally:
        os.close(root)


@contextmanager
def _opened(root: int, wanted: WantedFile, *, finished: bool) -> Iterator[int | None]:
    """The file, if all of the range is there. Never through a link: a commit may hold links to anywhere.

    With `finished` only one that nobody writes any more: its time is the last thing that it is given.
    """
    *above, name = wanted.path.split(b"/")
    held: list[int] = []
    try:
        at = root
        for part in above:
            at = os.open(_checked(part), _DIRECTORY, dir_fd=at)
            held.append(at)
        descriptor = os.open(_checked(name), _FILE, dir_fd=at)
        held.append(descriptor)
        found = os.fstat(descriptor)
        is_whole = stat.S_ISREG(found.st_mode) and found.st_size >= wanted.start + wanted.size
        is_whole &= not finished or found.st_mtime_ns == CACHED_MTIME_NS
    except OSError:
        descriptor, is_whole = -1, False
    try:
        yield descriptor if is_whole else None
    finally:
        for one in held:
            os.close(one)


def _checked(part: bytes) -> bytes:
    if part in (b"", b".", b"..") or b"\0" in part:
        raise OSError("not a name")
    return part
