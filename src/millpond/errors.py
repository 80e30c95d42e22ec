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
    │   ├── BadSignature           401 bad_signature    a webhook that is not signed, or too old
    │   └── SignInFailed           401 sign_in_failed   what a provider of single sign-on answered cannot be trusted
    ├── Forbidden                  403 forbidden
    │   ├── ScopeMissing           403 scope_missing    a token that may do less than its owner
    │   └── SignInRefused          403 sign_in_refused  somebody who is known to their provider, but not let in
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
    │   │   ├── OverBudget         409 over_budget      a fill over a link with a price
    │   │   └── OverQuota          409 over_quota       a project has all that it may have
    │   ├── StartFailed            409 start_failed     a version or router of an endpoint, again and again
    │   └── NotReady               409 not_ready
    ├── TooLarge                   413 too_large
    ├── Incomplete                 422 incomplete       an upload that lacks packs or pages
    ├── Invalid                    422 invalid          a body that does not have the right shape
    ├── TooMany                    429 too_many
    ├── Unavailable                503 unavailable      transient: try again
    │   ├── ServerUnreachable      503 server_unreachable
    │   ├── StoreUnavailable       503 store_unavailable
    │   └── ProviderUnavailable    503 provider_unavailable  a provider of single sign-on
    ├── DiskFull                   507 disk_full
    ├── Corrupt                    500 corrupt          bytes that do not match their digest
    ├── VolumeProblem              409 volume_problem   directory vanished, is another volume, read-only …
    └── SetupError                 500 setup            this machine or data directory cannot be used as it is

A message says what happened and to what; the hint says what to do now. Both are shown to people; `code` is
for programs and never changes. `exit_code` is what the command line returns. The docstring of a class begins with the
message that it has by itself; the rest says what to do about it, for docs/reference/errors.md (`make docs`).
"""

from __future__ import annotations

from typing import Any, ClassVar


class MillError(Exception):
    """Something went wrong.

    Nothing that you did wrong, as far as the server knows. Try again; if it comes back, look for the request id
    in the log of the server and report both.
    """

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
    """The request cannot be understood.

    Compare the call with the reference of the command or the API. The hint names what is wrong.
    """

    code, status, exit_code = "bad_request", 400, 2


class BadName(BadRequest):
    """That is not a usable name.

    Most names are 1 to 63 lower-case letters, digits, `.`, `_` and `-`, beginning with a letter or digit; the hint
    says what holds for this one. Choose another.
    """

    code = "bad_name"


class BadPath(BadRequest):
    """That is not a path inside a tree.

    Write the path relative to the root of the dataset, with `/`, without `..` and without control characters.
    """

    code = "bad_path"


class BadFormat(BadRequest):
    """These bytes are not in the lake's format.

    A file was written by a newer version, or is not what it claims to be. Upgrade the client or the server, or
    check the commit: `mill data verify`.
    """

    code = "bad_format"


class AddressRefused(BadRequest):
    """Imports do not connect to this address.

    Imports and webhooks reach public addresses only. An administrator allows others with `mill up
    --import-hosts`.
    """

    code = "address_refused"


class NotSignedIn(MillError):
    """You are not signed in.

    Sign in: `mill login URL`. In a script or a job set `MILL_TOKEN`.
    """

    code, status, exit_code = "not_signed_in", 401, 4


class TokenExpired(NotSignedIn):
    """That token has expired.

    Make another token (`mill token create`), or sign in again with `mill login`.
    """

    code = "token_expired"


class CredentialRevoked(NotSignedIn):
    """That credential was taken back.

    Somebody revoked the token, or the agent's compute was detached. Sign in again; attach the compute again:
    `mill compute attach`.
    """

    code = "credential_revoked"


class BadLogin(NotSignedIn):
    """The user name or the password is wrong.

    Check the user name and the password. An administrator sets another one: `mill user reset-password NAME` on
    the server's machine.
    """

    code = "bad_login"


class BadSignature(NotSignedIn):
    """The signature is missing or wrong.

    Sign the webhook with the secret of its trigger, and with the present time: `mill flow trigger list` shows the
    triggers.
    """

    code = "bad_signature"


class SignInFailed(NotSignedIn):
    """Signing in failed.

    Begin again on the sign-in page. If it fails again, an administrator tests the provider: `mill auth provider
    test NAME`.
    """

    code = "sign_in_failed"


class Forbidden(MillError):
    """Your role does not allow this.

    Ask an administrator of the project for another role: `mill project members PROJECT` lists who has which.
    """

    code, status, exit_code = "forbidden", 403, 4


class ScopeMissing(Forbidden):
    """This token may not do that.

    Use a token with the scope that the message names, or make one: `mill token create NAME --scope …`.
    """

    code = "scope_missing"


class SignInRefused(Forbidden):
    """You may not sign in here.

    Your provider knows you, the server does not let you in. Ask an administrator for a rule or an account: `mill
    auth rule list`.
    """

    code = "sign_in_refused"


class NotFound(MillError):
    """There is no such thing, or you may not see it.

    Check the name and the project; the hint names what comes near. What you may not see is not told apart from
    what does not exist.
    """

    code, status, exit_code = "not_found", 404, 3


class Conflict(MillError):
    """Something else stands in the way.

    The message names what is in between. Change that, or do it later.
    """

    code, status, exit_code = "conflict", 409, 5


class NameTaken(Conflict):
    """That name is taken.

    Choose another name, or rename or delete what has it.
    """

    code = "name_taken"


class InUse(Conflict):
    """Something depends on it.

    Stop, delete or change what uses it; the message and `details` name it.
    """

    code = "in_use"


class RefMoved(Conflict):
    """Somebody committed to this branch first.

    Take over what they committed, then send yours again: `mill data sync --rebase`, or `mill data status` to look
    first.
    """

    code = "ref_moved"


class LakeTakenOver(Conflict):
    """Another server owns the lake now, so this one no longer writes to it.

    Stop this server: another one has the lake. If this is the right one: `mill lake take-over` on its machine.
    """

    code = "lake_taken_over"


class ReadOnly(Conflict):
    """This dataset is read-only.

    Its history in the database differs from that in the lake, for example after an older backup was restored. A
    site administrator brings it up to date: `mill lake reconcile PROJECT`.
    """

    code = "read_only"


class MergeConflict(Conflict):
    """Both sides changed the same paths.

    Nothing was changed. Resolve the paths that are listed on one side, commit, and merge again; or keep both
    states: `mill data sync --branch NAME`.
    """

    code = "merge_conflict"


class ChangedOutside(Conflict):
    """An object outside the lake is no longer what was imported.

    Import it again, so that a commit stands for what is there now. The old content exists there no longer.
    """

    code = "changed_outside"


class StalePlacement(Conflict):
    """This placement of the job is over.

    Nothing to do: another attempt of the job is the current one, and this one ends by itself.
    """

    code = "stale_placement"


class DoesNotFit(Conflict):
    """There is no room for it.

    The message names what takes the room. Clear or unpin something (`mill cache list`, `mill cache plan`), ask
    for less, or choose another place.
    """

    code = "does_not_fit"


class OverBudget(DoesNotFit):
    """The egress budget is used up.

    Wait for the next month, or have an administrator raise the budget: `mill egress budget set`.
    """

    code = "over_budget"


class OverQuota(DoesNotFit):
    """The project has all that its quota allows.

    Delete what the project does not need, or have an administrator raise its quota: `mill project quota PROJECT`.
    """

    code = "over_quota"


class StartFailed(Conflict):
    """It failed to start again and again.

    Read the log of the replica (`mill endpoint logs`), repair the version, then deploy it again.
    """

    # As a job that failed: 100.
    code, exit_code = "start_failed", 100


class NotReady(Conflict):
    """It is not ready yet.

    Wait until it is: `mill wait`, or look at its state again in a moment.
    """

    code = "not_ready"


class VolumeProblem(Conflict):
    """The volume cannot be used.

    Look at the directory on the machine of the agent: is it mounted, writable and the one that was registered?
    `mill volume list` tells what the agent sees.
    """

    code = "volume_problem"


class NotTrusted(VolumeProblem):
    """Nothing keeps projects apart there, and this one was not let in.

    An administrator lets the project in: `mill compute trust COMPUTE PROJECT`; or choose another compute.
    """

    code, status, exit_code = "not_trusted", 403, 4


class TooLarge(MillError):
    """The request body is too large.

    Send less at once. Files belong into datasets or artifacts, not into parameters and messages.
    """

    code, status, exit_code = "too_large", 413, 2


class Incomplete(MillError):
    """The upload is not complete.

    Run the same command again: it sends what is missing and finishes the upload.
    """

    code, status = "incomplete", 422


class Invalid(MillError):
    """The request does not have the right shape.

    The message names each field and what is wrong with it; the API's description has the shapes.
    """

    code, status, exit_code = "invalid", 422, 2


class TooMany(MillError):
    """Too many attempts. Wait a little and try again.

    Wait for as long as the message says. Programs honour `Retry-After`; limits are those of the project's quota.
    """

    code, status, exit_code, transient = "too_many", 429, 5, True


class Unavailable(MillError):
    """That is not available at the moment.

    Try again in a moment: commands of Millpond do so by themselves. `/readyz` and `mill doctor` tell what is
    away.
    """

    code, status, exit_code, transient = "unavailable", 503, 6, True


class ServerUnreachable(Unavailable):
    """The server does not answer.

    Is it running, and is the address right? `mill server list` shows where you are signed in, `mill doctor`
    checks the connection.
    """

    code = "server_unreachable"


class StoreUnavailable(Unavailable):
    """The object store does not answer as it should.

    The object store is away, slow, or refuses the credentials. Administrators see the reason with `mill doctor`
    and in the server's log.
    """

    code = "store_unavailable"


class ProviderUnavailable(Unavailable):
    """The provider of single sign-on does not answer as it should.

    Try again in a moment. Administrators: `mill auth provider test NAME`; local passwords go on working where
    they are allowed.
    """

    code = "provider_unavailable"


class DiskFull(MillError):
    """The disk is full.

    Free space on the disk that the message names, or point the data directory to a larger one. Nothing half
    written stays.
    """

    code, status = "disk_full", 507


class Corrupt(MillError):
    """Bytes do not match their digest.

    Read it again; if it stays, the bytes at rest are damaged: `mill data verify` says which; a cached commit is
    cleared and cached again (`mill cache clear`).
    """

    code = "corrupt"


class SetupError(MillError):
    """This machine cannot be used as it is.

    The message says what is wrong with the machine or the data directory; `mill doctor` checks both.
    """

    code = "setup"


def by_code(code: str) -> type[MillError]:
    """The class a stable code stands for; MillError for one this version does not know."""
    return _classes().get(code, MillError)


def codes() -> frozenset[str]:
    return frozenset(_classes())


def _classes() -> dict[str, type[MillError]]:
    found: dict[str, type[MillError]] = {}
    waiting: list[type[MillError]] = [MillError]
    while waiting:
        cls = waiting.pop()
        found[cls.code] = cls
        waiting.extend(cls.__subclasses__())
    return found
