"""The toolkit's own exceptions, so that `except` clauses of its users go on working."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from millpond.errors import MillError, NotSignedIn, Unavailable


class DataOpsError(Exception):
    """Whatever the functions raise on purpose."""


class APIConnectionError(DataOpsError):
    """The server could not be reached."""


class InvalidConfigError(DataOpsError):
    """No server is set up, or nobody is logged in."""


class ConnectionTypeError(DataOpsError):
    """Here for `except` clauses; never raised, because there is one kind of connection."""


class InvalidVolumeParameterError(DataOpsError):
    """The server refused what was asked of a volume."""


class InvalidSnapshotParameterError(DataOpsError):
    """The server refused what was asked of a snapshot."""


class InvalidSnapMirrorParameterError(DataOpsError):
    """The server refused what was asked of a mirror."""


class SnapMirrorSyncOperationError(DataOpsError):
    """A run of a mirror failed."""


class CloudSyncSyncOperationError(DataOpsError):
    """A run of a source failed."""


class MountOperationError(DataOpsError):
    """The tree of a volume could not be shown at a mountpoint."""


class ServiceUnavailableError(DataOpsError):
    """A workspace did not become ready."""


class NotSupported(DataOpsError):
    """The verb needs a NetApp storage system; the message says what takes its place."""


@contextmanager
def told_as(refused: type[Exception]) -> Iterator[None]:
    """What the server says against it, in the exceptions that callers of the toolkit expect."""
    try:
        yield
    except Unavailable as error:
        raise APIConnectionError(_sentence(error)) from error
    except NotSignedIn as error:
        raise InvalidConfigError(_sentence(error)) from error
    except MillError as error:
        raise refused(_sentence(error)) from error


def _sentence(error: MillError) -> str:
    return f"{error} {error.hint}" if error.hint else str(error)
