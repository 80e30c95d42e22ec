"""Every error Millpond raises on purpose, in one tree.

    MillError                      code, HTTP status, hint
    ├── BadRequest                 400 bad_request
    │   ├── BadName                400 bad_name
    │   ├── BadPath                400 bad_path
    │   ├── BadFormat              400 bad_format       bytes that are not what the lake format says
    │   └── AddressRefused         400 address_refused  imports do not connect there
    ├── NotSignedIn                401 not_signed_in
    │   ├── TokenExpired           401 token_expired
    │   ├── CredentialRevoked      401 credential_revoked
    │   ├── BadLogin               401 bad_login
    │   └── BadSignature           401 bad_signature    a webhook that is not signed, or too old
    ├── Forbidden                  403 forbidden
    ├── NotFound                   404 not_found
    ├── Conflict                   409 conflict
    │   ├── NameTaken              409 name_taken
    │   ├── InUse                  409 in_use           something depends on it
    │   ├── RefMoved               409 ref_moved        somebody committed first
    │   ├── LakeTakenOver          409 lake_taken_over  another server owns the lake now
    │   ├── ReadOnly               409 read_only        a dataset that differs from the lake
    │   ├── MergeConflict          409 merge_conflict   both sides changed the same paths
    │   ├── ChangedOutside         409 changed_outside  an object outside the lake is no longer what was imported
    │   ├── StalePlacement         409 stale_placement
    │   ├── DoesNotFit             409 does_not_fit     a commit on a volume, a job on a compute
    │   │   └── OverBudget         409 over_budget      a fill over a link with a price
    │   ├── StartFailed            409 start_failed     a version or router of an endpoint, again and again
    │   └── NotReady               409 not_ready
    ├── TooLarge                   413 too_large
    ├── Incomplete                 422 incomplete       an upload that lacks packs or pages
    ├── Invalid                    422 invalid          a body that does not have the right shape
    ├── TooMany                    429 too_many
    ├── Unavailable                503 unavailable      transient: try again
    │   ├── ServerUnreachable      503 server_unreachable
    │   └── StoreUnavailable       503 store_unavailable
    ├── DiskFull                   507 disk_full
    ├── Corrupt                    500 corrupt          bytes that do not match their digest
    ├── VolumeProblem              409 volume_problem   directory vanished, is another volume, read-only …
    └── SetupError                 500 setup            this machine or data directory cannot be used as it is

A message says what happened and to what; the hint says what to do now. Both are shown to people; `code` is
for programs and never changes. `exit_code` is what the command line returns.
"""

from __future__ import annotations

from typing import Any, ClassVar


class MillError(Exception):
    """Something went wrong."""

    code: ClassVar[str] = "internal"
    status: ClassVar[int] = 500
    exit_code: ClassVar[int] = 1
    # Whether the same call may succeed later without anybody changing anything.
    transient: ClassVar[bool] = False

    def __init__(self, message: str | None = None, *, hint: str | None = None, **details: Any) -> None:
        self.message = message or (self.__doc__ or "").strip().splitlines()[0]
        self.hint = hint
        self.details = details
        super().__init__(self.message)


class BadRequest(MillError):
    """The request cannot be understood."""

    code, status, exit_code = "bad_request", 400, 2


class BadName(BadRequest):
    """That is not a usable name."""

    code = "bad_name"


class BadPath(BadRequest):
    """That is not a path inside a tree."""

    code = "bad_path"


class BadFormat(BadRequest):
    """These bytes are not in the lake's format."""

    code = "bad_format"


class AddressRefused(BadRequest):
    """Imports do not connect to this address."""

    code = "address_refused"


class NotSignedIn(MillError):
    """You are not signed in."""

    code, status, exit_code = "not_signed_in", 401, 4


class TokenExpired(NotSignedIn):
    """That token has expired."""

    code = "token_expired"


class CredentialRevoked(NotSignedIn):
    """That credential was taken back."""

    code = "credential_revoked"


class BadLogin(NotSignedIn):
    """The user name or the password is wrong."""

    code = "bad_login"


class BadSignature(NotSignedIn):
    """The signature is missing or wrong."""

    code = "bad_signature"


class Forbidden(MillError):
    """Your role does not allow this."""

    code, status, exit_code = "forbidden", 403, 4


class NotFound(MillError):
    """There is no such thing, or you may not see it."""

    code, status, exit_code = "not_found", 404, 3


class Conflict(MillError):
    """Something else stands in the way."""

    code, status, exit_code = "conflict", 409, 5


class NameTaken(Conflict):
    """That name is taken."""

    code = "name_taken"


class InUse(Conflict):
    """Something depends on it."""

    code = "in_use"


class RefMoved(Conflict):
    """Somebody committed to this branch first."""

    code = "ref_moved"


class LakeTakenOver(Conflict):
    """Another server owns the lake now, so this one no longer writes to it."""

    code = "lake_taken_over"


class ReadOnly(Conflict):
    """This dataset is read-only."""

    code = "read_only"


class MergeConflict(Conflict):
    """Both sides changed the same paths."""

    code = "merge_conflict"


class ChangedOutside(Conflict):
    """An object outside the lake is no longer what was imported."""

    code = "changed_outside"


class StalePlacement(Conflict):
    """This placement of the job is over."""

    code = "stale_placement"


class DoesNotFit(Conflict):
    """There is no room for it."""

    code = "does_not_fit"


class OverBudget(DoesNotFit):
    """The egress budget is used up."""

    code = "over_budget"


class StartFailed(Conflict):
    """It failed to start again and again."""

    # As a job that failed: 100.
    code, exit_code = "start_failed", 100


class NotReady(Conflict):
    """It is not ready yet."""

    code = "not_ready"


class VolumeProblem(Conflict):
    """The volume cannot be used."""

    code = "volume_problem"


class NotTrusted(VolumeProblem):
    """Nothing keeps projects apart there, and this one was not let in."""

    code, status, exit_code = "not_trusted", 403, 4


class TooLarge(MillError):
    """The request body is too large."""

    code, status, exit_code = "too_large", 413, 2


class Incomplete(MillError):
    """The upload is not complete."""

    code, status = "incomplete", 422


class Invalid(MillError):
    """The request does not have the right shape."""

    code, status, exit_code = "invalid", 422, 2


class TooMany(MillError):
    """Too many attempts. Wait a little and try again."""

    code, status, exit_code, transient = "too_many", 429, 5, True


class Unavailable(MillError):
    """That is not available at the moment."""

    code, status, exit_code, transient = "unavailable", 503, 6, True


class ServerUnreachable(Unavailable):
    """The server does not answer."""

    code = "server_unreachable"


class StoreUnavailable(Unavailable):
    """The object store does not answer as it should."""

    code = "store_unavailable"


class DiskFull(MillError):
    """The disk is full."""

    code, status = "disk_full", 507


class Corrupt(MillError):
    """Bytes do not match their digest."""

    code = "corrupt"


class SetupError(MillError):
    """This machine cannot be used as it is."""

    code = "setup"


def by_code(code: str) -> type[MillError]:
    """The class a stable code stands for; MillError for one this version does not know."""
    return _classes().get(code, MillError)


def _classes() -> dict[str, type[MillError]]:
    found: dict[str, type[MillError]] = {}
    waiting: list[type[MillError]] = [MillError]
    while waiting:
        cls = waiting.pop()
        found[cls.code] = cls
        waiting.extend(cls.__subclasses__())
    return found
