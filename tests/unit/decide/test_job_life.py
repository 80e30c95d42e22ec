from __future__ import annotations

from datetime import timedelta

import pytest

from millpond.decide import job_life
from millpond.decide.job_life import MAX_REASONS, TRANSITIONS, Report
from millpond.errors import Conflict
from millpond.model.job import Ending, JobState, PlacementState
from millpond.testing.builders_work import GB, a_job, a_placed_job
from millpond.testing.clock import NOON

LATER = NOON + timedelta(seconds=10)
FINISHED = PlacementState.FINISHED


def ended(**report: object) -> Report:
    return Report(FINISHED, started_at=NOON, exited_at=LATER, **report)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("report", "state", "reason"),
    [
        (ended(exit_code=0), JobState.SUCCEEDED, "Succeeded."),
        (ended(exit_code=3), JobState.FAILED, "exit code 3"),
        (ended(signal=9), JobState.FAILED, "killed by signal 9 (SIGKILL)"),
        (ended(signal=99), JobState.FAILED, "killed by signal 99"),
        (ended(), JobState.FAILED, "The exit status of the command is unknown."),
        # A command that succeeded and whose outputs could not be saved has not succeeded.
        (
            ended(exit_code=0, problem="The outputs could not be saved."),
            JobState.FAILED,
            "The outputs could not be saved.",
        ),
        (Report(FINISHED, problem="no-such-command: not found"), JobState.FAILED, "no-such-command: not found"),
    ],
)
def test_how_a_job_ends(report: Report, state: JobState, reason: str) -> None:
    after = job_life.observe(a_placed_job(), report, LATER)
    assert (after.status.state, after.status.reasons[-1], after.status.ended_at) == (state, reason, LATER)
    assert after.status.problem == (reason if state is JobState.FAILED else None)


@pytest.mark.parametrize(
    ("report", "ending", "reason"),
    [
        (ended(exit_code=3), Ending.EXIT, "exit code 3"),
        (ended(signal=9), Ending.SIGNAL, "killed by signal 9 (SIGKILL)"),
        (ended(signal=9, reason="out_of_memory"), Ending.OOM, "killed for exceeding its memory limit of 2.0 GB"),
        (ended(signal=15, reason="timeout"), Ending.TIMEOUT, "exceeded its time limit of 1 m"),
        (ended(exit_code=0, problem="no room"), Ending.PROBLEM, "no room"),
    ],
)
def test_ways_to_end_are_told_apart(report: Report, ending: Ending, reason: str) -> None:
    job = a_placed_job(timeout_seconds=60, memory_bytes=2 * GB)
    after = job_life.observe(job, report, LATER)
    assert (after.status.state, after.status.ending, after.status.problem) == (JobState.FAILED, ending, reason)


@pytest.mark.parametrize("reason", ["lost", "expired", "terminated"])
def test_an_attempt_lost_through_no_fault_of_the_job_is_made_again(reason: str) -> None:
    after = job_life.observe(a_placed_job(), ended(problem="The machine restarted.", reason=reason), LATER)
    assert (after.status.state, after.status.ending, after.status.losses) == (JobState.QUEUED, Ending(reason), 1)
    stopped = job_life.request_stop(a_placed_job(), "maria asked for it to be stopped.", NOON)
    assert job_life.observe(stopped, ended(reason=reason), LATER).status.state is JobState.CANCELLED


def test_a_job_that_somebody_cancelled_in_the_engine_is_cancelled() -> None:
    said = "The job was cancelled in Slurm by alice."
    after = job_life.observe(a_placed_job(retries=3), ended(signal=15, reason="cancelled", problem=said), LATER)
    assert (after.status.state, after.status.ending, after.status.reasons[-1]) == (
        JobState.CANCELLED,
        Ending.STOPPED,
        said,
    )


def test_a_stop_that_nobody_asked_for_is_a_loss() -> None:
    """A driver gives up what it takes for lost, and asks what may be left of it to stop."""
    after = job_life.observe(a_placed_job(), ended(signal=15, reason="stopped"), LATER)
    assert (after.status.state, after.status.ending) == (JobState.QUEUED, Ending.TERMINATED)


def test_a_job_the_server_ended_for_its_time_limit_has_failed_by_it() -> None:
    job = job_life.request_stop(a_placed_job(timeout_seconds=60), "It runs too long.", NOON, Ending.TIMEOUT)
    after = job_life.observe(job, ended(signal=15, reason="stopped"), LATER)
    assert (after.status.state, after.status.ending) == (JobState.FAILED, Ending.TIMEOUT)


@pytest.mark.parametrize("report", [ended(exit_code=0), ended(signal=15), ended(exit_code=1), Report(FINISHED)])
def test_a_job_that_was_asked_to_stop_is_cancelled_however_it_ended(report: Report) -> None:
    job = job_life.request_stop(a_placed_job(), "maria asked for it to be stopped.", NOON)
    after = job_life.observe(job, report, LATER)
    assert (after.status.state, after.status.problem) == (JobState.CANCELLED, None)


def test_a_whole_life() -> None:
    job = job_life.wait(a_job(), ["all GPUs are taken."])
    job = job_life.place(job, "p1", compute="local", node="n1", reasons=["Placed on n1."], now=NOON)
    assert job.status.reasons == ("Submitted by maria.", "Placed on n1.")
    job = job_life.observe(job, Report(PlacementState.PREPARING), NOON)
    assert job.status.state is JobState.PREPARING
    job = job_life.fill(job, NOON)
    job = job_life.observe(job, Report(PlacementState.RUNNING, started_at=NOON), NOON)
    assert job.status.state is JobState.RUNNING
    saving = Report(PlacementState.SAVING, started_at=NOON, exited_at=NOON, exit_code=0)
    job = job_life.observe(job, saving, LATER)
    assert (job.status.state, job.status.exited_at, job.status.ended_at) == (JobState.RUNNING, NOON, None)
    job = job_life.observe(job, ended(exit_code=0, output_commit="c1"), LATER)
    assert (job.status.state, job.status.output_commit, job.status.exited_at) == (JobState.SUCCEEDED, "c1", NOON)


@pytest.mark.parametrize(
    "report",
    [
        Report(PlacementState.PREPARING),
        Report(PlacementState.RUNNING, started_at=NOON),
        Report(PlacementState.SAVING, started_at=NOON, exited_at=NOON, exit_code=0),
    ],
)
def test_the_same_report_twice_changes_nothing_more(report: Report) -> None:
    once = job_life.observe(a_placed_job(), report, NOON)
    assert job_life.observe(once, report, LATER) == once


def test_an_older_report_does_not_turn_time_back() -> None:
    running = job_life.observe(a_placed_job(), Report(PlacementState.RUNNING, started_at=NOON), NOON)
    assert job_life.observe(running, Report(PlacementState.PREPARING), LATER) == running


@pytest.mark.parametrize("skew", [timedelta(hours=1), timedelta(hours=-1)])
def test_an_agents_clock_is_not_believed_beyond_what_the_server_saw(skew: timedelta) -> None:
    job = a_placed_job(placed_at=NOON)
    report = Report(FINISHED, started_at=NOON + skew, exited_at=LATER + skew, exit_code=0)
    after = job_life.observe(job, report, LATER)
    assert (
        after.status.started_at is not None
        and after.status.exited_at is not None
        and after.status.filled_at is not None
    )
    assert NOON <= after.status.filled_at <= after.status.started_at <= after.status.exited_at <= LATER


def test_a_job_that_never_began_has_no_running_time() -> None:
    after = job_life.observe(a_placed_job(), Report(FINISHED, problem="could not prepare"), LATER)
    assert (after.status.started_at, after.status.exited_at) == (None, None)


def test_requeued_is_as_if_never_placed() -> None:
    job = job_life.observe(a_placed_job(), Report(PlacementState.RUNNING, started_at=NOON), NOON)
    after = job_life.run_out(job, "Compute local has been silent", LATER)
    assert after.status.state is JobState.QUEUED
    assert (after.status.placement_id, after.status.placed_at, after.status.started_at, after.status.node) == (
        None,
        None,
        None,
        None,
    )
    assert after.queued_at == job.queued_at
    assert after.status.reasons[-1] == "Compute local has been silent; retrying"
    assert (after.status.losses, after.status.retried, after.status.requeued_at, after.status.not_before) == (
        1,
        0,
        LATER,
        None,
    )


def test_new_reasons_to_wait_replace_the_old_ones() -> None:
    job = job_life.wait(a_job(), ["one.", "two."])
    assert job_life.wait(job, ["three."]).status.reasons == ("Submitted by maria.", "Waiting: three.")
    assert job_life.wait(job, ["one.", "two."]) == job


def test_reasons_are_bounded_and_the_first_is_kept() -> None:
    job = a_job(reasons=("Submitted by maria.", *(f"reason {n}" for n in range(50))))
    after = job_life.request_stop(job, "enough.", NOON)
    assert len(after.status.reasons) == MAX_REASONS
    assert (after.status.reasons[0], after.status.reasons[-1]) == ("Submitted by maria.", "enough.")


def test_what_is_not_in_the_table_is_refused_with_the_story() -> None:
    with pytest.raises(Conflict, match="is succeeded and cannot become queued") as caught:
        job_life.run_out(a_job(state=JobState.SUCCEEDED), "why not", NOON)
    assert caught.value.details["story"] == ["Submitted by maria."]


def test_nothing_leaves_a_finished_state() -> None:
    assert not [move for move in TRANSITIONS if move[0].is_finished]


def test_what_an_engine_waits_for_is_the_newest_reason_until_it_runs() -> None:
    def waiting(words: str | None) -> Report:
        return Report(PlacementState.PREPARING, waiting=words)

    job = job_life.observe(a_placed_job(), waiting("0/3 nodes: insufficient cpu"), NOON)
    assert job.status.state is JobState.PREPARING
    assert job.status.reasons[-1] == "Waiting: 0/3 nodes: insufficient cpu"
    assert job_life.observe(job, waiting("0/3 nodes: insufficient cpu"), NOON) == job
    job = job_life.observe(job, waiting("Its image cannot be pulled"), NOON)
    assert [reason for reason in job.status.reasons if reason.startswith("Waiting")] == [
        "Waiting: Its image cannot be pulled"
    ]
    job = job_life.observe(job, Report(PlacementState.RUNNING, started_at=NOON), NOON)
    assert not [reason for reason in job.status.reasons if reason.startswith("Waiting")]


def test_how_a_part_of_a_gpu_is_kept_to_is_known_once_it_is_placed() -> None:
    placed = job_life.place(a_job(), "p1", compute="c", node="n", reasons=(), now=NOON, gpu_share="accounted")
    assert placed.status.gpu_share == "accounted"
