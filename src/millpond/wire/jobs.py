"""Jobs, their attempts, why they wait and what they use."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import (
    ConfigDict,
    Field,
    GetJsonSchemaHandler,
    SerializerFunctionWrapHandler,
    model_serializer,
    model_validator,
)
from pydantic.json_schema import JsonSchemaValue

from millpond.model.job import Ending, JobState
from millpond.model.job_spec import JobSpec, checked_document
from millpond.wire.base import Gpus, Request, Response, Time
from millpond.wire.with_spec import WithSpec, spread_schema, without_serializer


class Ledger(Response):
    """Where the time went, in seconds; None for what has not begun. `total` is queue to end, `run` the user's code.

    The parts are those of the newest attempt; `earlier` is what those before it took.
    """

    earlier: float | None = None
    queue: float | None
    fill: float | None
    environment: float | None
    run: float | None
    save: float | None
    total: float


class After(Response):
    """A job that this one begins after; `when`: any end of it will do, or only success."""

    job: str  # id
    name: str
    when: Literal["success", "any"]
    # None once it is deleted for good.
    state: JobState | None


class Job(WithSpec):
    """A job: what was asked is in `spec`, and beside it as well.

    `compute` is where it was placed and `wanted_compute` the one that was asked for; `environment_source` is the
    `environment` of the spec.
    """

    id: str
    project: str
    name: str
    number: int
    written: str  # NAME, or NAME#2 when a newer job has the name
    state: JobState
    reasons: list[str]
    # How a part of a GPU is kept to where it was placed: counted, or enforced.
    gpu_share: Literal["none", "accounted", "enforced"] | None = None
    output_commit: str | None
    # Since when somebody wants it suspended.
    suspended_at: Time | None = None
    # Its newest checkpoint (a commit of `.checkpoints`), and when that was saved.
    checkpoint_commit: str | None = None
    saved_at: Time | None = None
    run_id: str
    created_by: str
    compute: str | None
    node: str | None
    queued_at: Time
    # The first submission, as `queued_at`: an attempt after the first does not change it.
    submitted_at: Time | None = None
    # Of all its processes together, and their numbers on its nodes, process after process.
    gpus: Gpus = 0
    gpu_ids: list[int] = []
    # The newest of `reasons`, and the rule under which it waits or was placed.
    reason: str | None = None
    rule: str | None = None
    preemptions: int = 0
    placed_at: Time | None
    started_at: Time | None
    ended_at: Time | None
    deleted_at: Time | None
    exit_code: int | None
    signal: int | None
    # How the newest attempt ended, when it did not succeed.
    ending: Ending | None
    # Of a distributed job: the process whose failure ended all others. Its log is the one shown first.
    failed_rank: int | None = None
    problem: str | None
    ledger: Ledger
    wanted_compute: str | None
    # The number of the newest attempt; how many of them counted as retries, and how many were lost without its doing.
    attempt: int
    retried: int
    losses: int
    # When it is tried again.
    not_before: Time | None
    after: list[After]
    # From 0 to 1, as the job itself says.
    progress: float | None
    # What its environment holds, the job that builds it, and what that became.
    environment_source: str | None
    environment_job: str | None
    environment_commit: str | None
    # The template it is planned with, or runs on, and the fields of the spec that came from there.
    template: str | None = None
    filled: dict[str, Any] = {}


class Rank(Response):
    """One process of a distributed job; `waiting` for the others before all start."""

    rank: int
    state: Literal["waiting", "running", "ended"]
    node: str
    exit_code: int | None
    signal: int | None


class Attempt(Response):
    """One placement of a job: where it ran, when, and how it ended. `id` chooses its log.

    `ranks` are the processes of a distributed job.
    """

    id: str
    number: int
    compute: str
    node: str
    state: Literal["placed", "preparing", "running", "saving", "finished"]
    created_at: Time
    started_at: Time | None
    exited_at: Time | None
    # Over: nothing of it is left, or it has certainly run out.
    ended_at: Time | None
    exit_code: int | None
    signal: int | None
    ending: Ending | None
    problem: str | None
    ranks: list[Rank] = []


class AttemptList(Response):
    items: list[Attempt]


class JobCreate(Request):
    """A specification to run, under a name; without one, a name is made. Its fields stand in the body as they are.

    `inputs` may be written dataset[@ref], `after` JOB, JOB:success or JOB:any; `interactive` is short for the kind.
    `retry_on`: exit, signal, oom, timeout, any, or exit statuses; exit and signal when it is empty.
    """

    # A spec that a program has put together is checked like one that was sent.
    model_config = ConfigDict(revalidate_instances="always")

    name: str | None = None
    spec: JobSpec

    @model_validator(mode="before")
    @classmethod
    def _gather(cls, body: Any) -> Any:
        if not isinstance(body, dict) or isinstance(body.get("spec"), JobSpec):
            return body
        return {"name": body.get("name"), "spec": checked_document({k: v for k, v in body.items() if k != "name"})}

    @model_serializer(mode="wrap")
    def _spread(self, write: SerializerFunctionWrapHandler) -> dict[str, Any]:
        written = write(self)
        return {**written.pop("spec"), **written}

    @classmethod
    def __get_pydantic_json_schema__(cls, core: Any, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        schema = spread_schema(without_serializer(core), handler)
        del schema["properties"]["spec"]
        for name in ("inputs", "after"):
            items = schema["properties"][name]["items"]
            schema["properties"][name]["items"] = {"anyOf": [{"type": "string"}, items]}
        schema["required"] = [name for name in schema["required"] if name != "spec"]
        return schema


class JobEvent(Response):
    """A change of a job's state, `from` and `to`, under which rule and by whom.

    `by` is a user, or the job it was preempted for: `another project` where the reader has no role there. `attempt` is
    the number of the attempt it happened to, if it did to one.
    """

    # `from` is a word of Python.
    model_config = ConfigDict(validate_by_alias=True, validate_by_name=True, serialize_by_alias=True)

    at: Time
    before: Annotated[JobState | None, Field(alias="from")] = None
    after: Annotated[JobState | None, Field(alias="to")] = None
    rule: str | None = None
    by: str | None = None
    node: str | None = None
    attempt: int | None
    what: str
    why: str | None


class JobEventList(Response):
    items: list[JobEvent]


class JobsChange(Request):
    """Which jobs to stop, delete or bring back: ids, NAME or NAME#N."""

    jobs: Annotated[list[Annotated[str, Field(max_length=200)]], Field(min_length=1, max_length=1_000)]


class JobChanged(Response):
    """What became of one of many: the job as it is now, or why nothing was done to it."""

    asked: str
    job: Job | None = None
    code: str | None = None
    problem: str | None = None
    hint: str | None = None


class JobsChanged(Response):
    items: list[JobChanged]


class Blocker(Response):
    """A running job that holds what a pending one needs; without its name if the reader has no role in its project."""

    id: str | None
    job: str | None  # PROJECT/NAME
    project: str | None
    gpus: Gpus
    over_quota: bool
    # By its time limit.
    ends_at: Time | None


class PlaceScore(Response):
    """A place a job may run at, and what that costs in the currency of prices: the place with the least score is taken.

    `place` is a compute; computes at one site that are alike count as one. Null: nobody can tell.
    """

    place: str
    site: str
    template: str | None
    wait_seconds: float | None
    fill_seconds: float
    missing_bytes: int
    wait_cost: float | None
    fill_cost: float
    compute_cost: float
    egress_cost: float
    score: float | None
    chosen: bool
    # Why it is not used now.
    note: str | None


class DryRun(Response):
    """What would become of a job: its specification with what its template adds, and what each place would cost."""

    spec: JobSpec
    template: str | None
    # What would keep it from a place with room, and in words; null if nothing would.
    rule: str | None
    reason: str | None
    places: list[PlaceScore]


class Why(Response):
    """`rule` is the one that it waits or was placed under (docs/scheduling.md); `reasons` are its words."""

    state: JobState
    rule: str | None = None
    reasons: list[str]
    blockers: list[Blocker] = []
    # When it starts at the latest, as far as time limits tell.
    earliest_start: Time | None = None
    # The node that it starts on when the jobs preempted for it have ended.
    nominated_on: str | None = None
    # What each place costs it, the best first; of a placed job as it was then.
    places: list[PlaceScore] = []


class Usage(Response):
    at: Time
    cpu_percent: float
    memory_bytes: int
    read_bytes: int
    write_bytes: int
    gpu_percent: float | None = None
    gpu_memory_bytes: int | None = None
    received_bytes: int | None = None
    sent_bytes: int | None = None
    # The network was the machine's own: the counts are of everything that ran there.
    network_shared: bool | None = None


class UsageSeries(Response):
    items: list[Usage]


class PortAddress(Response):
    """Where a browser opens a port of a job: `url` works once, for a minute. `origin` is this port's own."""

    origin: str
    url: str
