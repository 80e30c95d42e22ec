"""Jobs under load: from submit to running, a queue that drains, many at once, logs that pour and are searched.

Beside each the floor: what this machine does without Millpond (starting processes, copying bytes to a file).
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

from benchmarks import job_list
from benchmarks.millpond_server import Mill, running_mill
from millpond.client.http import Api
from millpond.client.jobs import get_job, list_jobs, stop_job, submit_job
from millpond.client.logs import LogQuery, list_logs, search_log
from millpond.wire.jobs import Job, JobCreate

PROJECT = "default"
DEADLINE_SECONDS = 600.0
LOG_LINE = "epoch %08d step 000123 loss 0.693147 accuracy 0.512 learning rate 0.0003 images per second 1812"


def main() -> None:
    options = _options()
    with tempfile.TemporaryDirectory(prefix="millpond-bench-jobs-") as work:
        results = measure(Path(work), options)
    print(json.dumps(results))


def measure(work: Path, options: argparse.Namespace) -> dict[str, float | int]:
    results: dict[str, float | int] = {}
    with running_mill(work, None) as mill, mill.api() as api:
        started = [submit_to_running(api) for _ in range(options.starts)]
        results["submit_to_running_p50_s"] = _say("submit to running, median", median(started), "s")
        results["spawn_floor_s"] = _say("  floor: a process", _spawn_floor(options.starts), "s")
        rate = drain(api, options.drain)
        results["drain_jobs_per_s"] = _say(f"{options.drain} queued `true` drain", rate, "jobs/s")
        results["drain_floor_jobs_per_s"] = _say("  floor: processes", 1 / _spawn_floor(100), "/s")
        running = crowd(mill, api, options.running)
        results["server_rss_mb"] = _say(f"server with {options.running} running jobs", running, "MB")
        results |= pouring(mill, api, work, options)
    for name, seconds in job_list.measure(work, options.listed).items():
        results[name] = _say(f"{name.removesuffix('_s')}, first page", seconds, "s")
    return results


def submit_to_running(api: Api) -> float:
    """Seconds from the request to the moment the command ran, by the job's own record."""
    job = submit_job(api, PROJECT, JobCreate(command=["sleep", "60"]))
    running = _until(lambda: _if(get_job(api, PROJECT, job.id), lambda found: found.started_at is not None))
    stop_job(api, PROJECT, job.id)
    _until(lambda: get_job(api, PROJECT, job.id).state.is_finished)
    assert running.started_at is not None
    return (running.started_at - running.queued_at).total_seconds()


def drain(api: Api, count: int) -> float:
    """Jobs a second, from the first submission to the last end."""
    jobs = [submit_job(api, PROJECT, JobCreate(command=["true"])) for _ in range(count)]
    _until(lambda: not any(_are(api, state) for state in ("queued", "placed", "preparing", "running")))
    ended = [get_job(api, PROJECT, job.id) for job in jobs]
    failed = [job.id for job in ended if job.state.value != "succeeded"]
    assert not failed, f"{len(failed)} of {count} jobs did not succeed: {failed[:3]}"
    last = max(job.ended_at for job in ended if job.ended_at)
    return count / (last - min(job.queued_at for job in ended)).total_seconds()


def crowd(mill: Mill, api: Api, count: int) -> float:
    """Megabytes of the server while so many jobs run, each writing a line a second."""
    command = ["sh", "-c", "while :; do date; sleep 1; done"]
    jobs = [submit_job(api, PROJECT, JobCreate(command=command)) for _ in range(count)]
    _until(lambda: sum(1 for _ in list_jobs(api, state="running")) == count)
    seen = []
    for _ in range(10):
        seen.append(mill.server.memory_info().rss)
        time.sleep(1)
    for job in jobs:
        stop_job(api, PROJECT, job.id)
    _until(lambda: not _are(api, "running"))
    return max(seen) / 1e6


def pouring(mill: Mill, api: Api, work: Path, options: argparse.Namespace) -> dict[str, float | int]:
    """One job writes as fast as was asked for; then its log is whole, and is searched."""
    total = int(options.log_rate * options.log_seconds * 1e6)
    lines = total // (len(LOG_LINE % 0) + 1)
    script = [sys.executable, "-c", _POUR, LOG_LINE, str(lines), str(options.log_rate * 1e6)]
    job = submit_job(api, PROJECT, JobCreate(command=script))
    ended = _until(lambda: _if(get_job(api, PROJECT, job.id), lambda found: found.state.is_finished))
    (log,) = list_logs(api, PROJECT, job.id).items
    expected = lines * (len(LOG_LINE % 0) + 1)
    assert (log.size, log.lines, log.left_out) == (expected, lines, []), f"the log is not whole: {log}"
    assert ended.started_at and ended.ended_at
    results: dict[str, float | int] = {"log_lost_bytes": expected - log.size}
    seconds = (ended.ended_at - ended.started_at).total_seconds()
    results["log_mb_per_s"] = _say("log of one job, with its end at the server", log.size / 1e6 / seconds, "MB/s")
    results["log_floor_mb_per_s"] = _say("  floor: cat into a file", _cat_floor(work, log.size), "MB/s")
    results["log_stored_ratio"] = _say("  stored as", log.stored_bytes / log.size, "of it")
    results["server_peak_rss_mb"] = _say("  server", mill.server.memory_info().rss / 1e6, "MB")
    results |= _searching(api, job, lines, log.size)
    return results


def _searching(api: Api, job: Job, lines: int, size: int) -> dict[str, float | int]:
    results: dict[str, float | int] = {}
    wanted = LOG_LINE[:14] % (lines - 1)
    for name, query in {
        "text": LogQuery(wanted),
        "ignore_case": LogQuery(wanted.upper(), ignore_case=True),
        "regex": LogQuery(f"epoch 0*{lines - 1} step", regex=True),
    }.items():
        began = time.perf_counter()
        (hit,) = search_log(api, PROJECT, job.id, query)
        assert hit.line == lines
        seconds = time.perf_counter() - began
        results[f"search_{name}_s_per_gb"] = _say(f"search ({name}), for 1 GB", seconds / size * 1e9, "s")
    return results


_POUR = """
import sys, time
line, count, rate = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
out, began, written = sys.stdout.buffer, time.monotonic(), 0
for first in range(0, count, 1000):
    block = "".join(line % n + "\\n" for n in range(first, min(first + 1000, count))).encode()
    out.write(block)
    written += len(block)
    time.sleep(max(0.0, began + written / rate - time.monotonic()))
"""


def _spawn_floor(count: int) -> float:
    """Seconds for a process that does nothing, one after the other."""
    began = time.perf_counter()
    for _ in range(count):
        subprocess.run(["true"], check=True)
    return (time.perf_counter() - began) / count


def _cat_floor(work: Path, size: int) -> float:
    source, target = work / "pour", work / "cat"
    block = (LOG_LINE % 0 + "\n").encode() * 10_000
    with open(source, "wb") as file:
        for _ in range(size // len(block)):
            file.write(block)
    began = time.perf_counter()
    with open(target, "wb") as file:
        subprocess.run(["cat", str(source)], stdout=file, check=True)
    return source.stat().st_size / 1e6 / (time.perf_counter() - began)


def _until(look: Callable[[], object]) -> Job:
    """What `look` gives as soon as it gives something."""
    deadline = time.monotonic() + DEADLINE_SECONDS
    while not (found := look()):
        if time.monotonic() > deadline:
            raise TimeoutError("nothing happens any more")
        time.sleep(0.05)
    return found  # type: ignore[return-value]


def _are(api: Api, state: str) -> bool:
    """Whether there is a job in this state."""
    return next(list_jobs(api, state=state, at_most=1), None) is not None


def _if(job: Job, holds: Callable[[Job], bool]) -> Job | None:
    return job if holds(job) else None


def _say(what: str, value: float, unit: str) -> float:
    print(f"{what:<45} {value:>10.3f} {unit}", flush=True)
    return round(value, 4)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--starts", type=int, default=15, help="jobs whose start is timed, one after the other")
    parser.add_argument("--drain", type=int, default=500)
    parser.add_argument("--running", type=int, default=200)
    parser.add_argument("--listed", type=int, default=10_000, help="finished jobs in the list")
    parser.add_argument("--log-rate", type=float, default=25.0, help="megabytes a second one job writes")
    parser.add_argument("--log-seconds", type=float, default=20.0)
    return parser.parse_args()


if __name__ == "__main__":
    main()
