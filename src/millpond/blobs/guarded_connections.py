"""Connections of urllib3 to nothing but addresses that may be reached, whatever a name leads to."""

from __future__ import annotations

import socket
import ssl
from dataclasses import dataclass

import urllib3
from urllib3.connection import HTTPConnection, HTTPSConnection

from millpond.blobs.deadline import Deadline
from millpond.decide.allowed_addresses import Reach
from millpond.errors import AddressRefused

CONNECT_SECONDS, READ_SECONDS = 10.0, 30.0
_TIMEOUT = urllib3.Timeout(connect=CONNECT_SECONDS, read=READ_SECONDS)


class _Guarded(HTTPConnection):
    """Connects to nothing but an address that may be reached."""

    reach = Reach()
    deadline: Deadline | None = None

    def _new_conn(self) -> socket.socket:
        host = self._dns_host.strip("[]")
        try:
            found = socket.getaddrinfo(host, self.port, type=socket.SOCK_STREAM)
        except (OSError, UnicodeError) as error:
            raise urllib3.exceptions.NameResolutionError(host, self, socket.gaierror(str(error))) from error
        refused: list[str] = []
        problem: OSError | None = None
        for family, kind, protocol, _, address in found:
            if not self.reach.allows(host, str(address[0])):
                refused.append(str(address[0]))
                continue
            try:
                return self._connect(family, kind, protocol, address)
            except OSError as error:
                problem = error
        if problem is None:
            raise AddressRefused(
                f"Access to {host} refused: {', '.join(dict.fromkeys(refused))} is not a public address.",
                hint="An administrator can allow hosts and networks for imports (MILL_IMPORT_HOSTS).",
            )
        raise urllib3.exceptions.NewConnectionError(self, f"cannot be connected to: {problem}") from problem

    def _connect(self, family: int, kind: int, protocol: int, address: tuple[object, ...]) -> socket.socket:
        opened = socket.socket(family, kind, protocol)
        try:
            timeout = self.timeout
            opened.settimeout(timeout if isinstance(timeout, int | float) else 10.0)
            opened.connect(address)
            # The kernel's word, whatever stands between: the address that bytes will come from.
            if not self.reach.allows(self._dns_host.strip("[]"), str(opened.getpeername()[0])):
                raise OSError("it led to an address that is not public")
            opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if self.deadline is not None:
                self.deadline.hold(opened)
        except BaseException:
            opened.close()
            raise
        return opened


@dataclass(frozen=True, slots=True)
class Guarded:
    """Classes of connections that know a `reach`: urllib3 makes connections from classes."""

    plain: type[HTTPConnection]
    tls: type[HTTPSConnection]
    context: ssl.SSLContext

    def connected(self, scheme: str, host: str, port: int | None) -> HTTPConnection:
        """A new connection of one's own; its socket has the limit of reads. Raises as urllib3 does."""
        if scheme == "https":
            made: HTTPConnection = self.tls(host, port, timeout=CONNECT_SECONDS, ssl_context=self.context)
        else:
            made = self.plain(host, port, timeout=CONNECT_SECONDS)
        made.connect()
        made.sock.settimeout(READ_SECONDS)
        return made

    def pool(self) -> urllib3.PoolManager:
        pool = urllib3.PoolManager(retries=False, timeout=_TIMEOUT, maxsize=8, block=False, ssl_context=self.context)
        pool.pool_classes_by_scheme = {
            "http": type("GuardedPool", (urllib3.HTTPConnectionPool,), {"ConnectionCls": self.plain}),
            "https": type("GuardedTlsPool", (urllib3.HTTPSConnectionPool,), {"ConnectionCls": self.tls}),
        }
        return pool


def guarded(reach: Reach, deadline: Deadline | None) -> Guarded:
    known = {"reach": reach, "deadline": deadline}
    return Guarded(
        type("GuardedConnection", (_Guarded,), known),
        type("GuardedTlsConnection", (_Guarded, HTTPSConnection), known),
        ssl.create_default_context(),
    )
