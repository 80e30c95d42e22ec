"""Flows: what a step costs beyond its job, three steps against Metaflow, a wide fan-out, validation, memory.

Everything runs through a real server, like any user's flow. The last line is one JSON object.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import TypeVar

from benchmarks.flow_peers import FlowPeer
from benchmarks.millpond_server import Mill, running_mill
from millpond.client.flows.flow_file import FlowFile
from millpond.client.flows.flow_steps import seconds
from millpond.client.flows.flows import save_flow
from millpond.client.flows.runs import get_run, has_ended, start_run
from millpond.client.http import Api
from millpond.client.jobs import get_job, list_jobs, submit_job
from millpond.decide.flows.check import check_flow
from millpond.library.catalog import Catalog
from millpond.wire.flows import FlowRun, FlowRunCreate, FlowRunSummary
from millpond.wire.jobs import Job, JobCreate

Found = TypeVar("Found")

PROJECT = "default"
ENVIRONMENTS = Path(".bench")
DEADLINE_SECONDS = 900.0
HEAD = "schema: millpond.flow/1\n"
# What every step of the chain writes: the bare jobs write the same.
WRITE = 'mkdir -p "$MILL_OUTPUT/out" && echo pond > "$MILL_OUTPUT/out/x"'
STEPS = """\
import json, os, sys
params, values = json.load(open(os.environ["MILL_PARAMS"])), {}
if sys.argv[1] == "start":
    values["numbers"] = list(range(1000))
elif sys.argv[1] == "square":
    values["squares"] = [n * n for n in params["numbers"]]
else:
    values["total"] = sum(params["squares"])
    assert values["total"] == 332833500
json.dump(values, open(os.environ["MILL_VALUES"], "w"))
"""
THREE = (
    HEAD
    + """\
name: three
defaults: {remember: false}
steps:
  start: {command: [python3, steps.py, start], code: ., outputs: {numbers: {type: list}}}
  square:
    command: [python3, steps.py, square]
    code: .
    params: {numbers: "${steps.start.outputs.numbers}"}
    outputs: {squares: {type: list}}
  end:
    command: [python3, steps.py, end]
    code: .
    params: {squares: "${steps.square.outputs.squares}"}
    outputs: {total: {type: int}}
"""
)


def main() -> None:
    options = _options()
    with tempfile.TemporaryDirectory(prefix="millpond-bench-flows-") as work:
        results = measure(Path(work), options)
    print(json.dumps(results))


def measure(work: Path, options: argparse.Namespace) -> dict[str, float | int]:
    results: dict[str, float | int] = {}
    milliseconds = validate(500, rounds=5)
    results["validate_500_ms"] = _say("validate 500 steps, parse included", milliseconds, "ms")
    environments = ENVIRONMENTS.resolve()
    metaflow = FlowPeer("metaflow", environments, _folder(work, "metaflow"))
    prefect = FlowPeer("prefect", environments, _folder(work, "prefect")) if options.prefect else None
    with running_mill(work, None) as mill, mill.api() as api:
        warm_up(api)
        results |= overhead(api, options.rounds)
        results |= three_steps(mill, work, metaflow, prefect, options.rounds)
        results |= fan_out(mill, api, options.wide)
    results["cores"], results["load"] = os.cpu_count() or 0, round(os.getloadavg()[0], 2)
    return results


def validate(steps: int, *, rounds: int) -> float:
    """Milliseconds to read and check a flow whose steps each read the outputs of others."""
    text = _large(steps)
    catalog = Catalog()
    took = []
    for _ in range(rounds):
        began = time.perf_counter()
        checked = check_flow(text, catalog.component)
        took.append(time.perf_counter() - began)
        assert not checked.problems, checked.problems[:3]
    return median(took) * 1000


def _large(steps: int) -> str:
    lines = [HEAD, "name: large\nparams: {seed: {type: int, default: 1}}\nsteps:\n  data: {dataset: images@main}\n"]
    for number in range(steps - 1):
        source = "${steps.data}" if number == 0 else f"${{steps.s{number - 1}.outputs.train}}"
        lines.append(
            f"  s{number}:\n    component: split@1\n    inputs: {{data: '{source}'}}\n"
            "    params: {val_size: 0.2, seed: '${params.seed}'}\n    when: ${params.seed > 0}\n"
        )
    return "".join(lines)


def overhead(api: Api, rounds: int) -> dict[str, float | int]:
    """(a chain of ten steps − ten bare jobs with the same output) ÷ 10, by the server's own times, interleaved."""
    chain = _save(api, _chain(10))
    jobs, chains = [], []
    for _ in range(rounds):
        jobs.append(sum(_bare_job(api) for _ in range(10)))
        chains.append(_took(_run_flow(api, chain)))
    return {
        "chain_s": _say("chain of ten steps", median(chains), "s"),
        "jobs_s": _say("ten bare jobs, one after the other", median(jobs), "s"),
        "overhead_s": _say("  overhead of a step", (median(chains) - median(jobs)) / 10, "s"),
    }


def _chain(length: int) -> str:
    lines = [HEAD, "name: chain\ndefaults: {remember: false}\nsteps:\n"]
    for number in range(length):
        given = f"    inputs: {{before: '${{steps.s{number - 1}.outputs.out}}'}}\n" if number else ""
        command = json.dumps(["sh", "-c", WRITE])
        lines.append(f"  s{number}:\n    command: {command}\n{given}    outputs: {{out: {{type: directory}}}}\n")
    return "".join(lines)


def _bare_job(api: Api) -> float:
    job = submit_job(api, PROJECT, JobCreate(command=["sh", "-c", WRITE]))
    ended = _until(lambda: _ended_job(api, job.id))
    assert ended.state.value == "succeeded" and ended.ended_at, ended.problem
    return (ended.ended_at - ended.queued_at).total_seconds()


def three_steps(
    mill: Mill, work: Path, metaflow: FlowPeer, prefect: FlowPeer | None, rounds: int
) -> dict[str, float | int]:
    """Wall time of the whole command, until the last step has ended; interleaved."""
    folder = _folder(work, "three")
    (folder / "flow.yaml").write_text(THREE)
    (folder / "steps.py").write_text(STEPS)
    ways: dict[str, Callable[[], float]] = {
        "mill": lambda: mill.run("flow", "run", "flow.yaml", "--wait", "-q", cwd=folder).seconds,
        "local": lambda: mill.run("flow", "run", "flow.yaml", "--local", "-q", cwd=folder).seconds,
        "metaflow": lambda: metaflow.run().seconds,
    }
    if prefect is not None:
        ways["prefect"] = lambda: prefect.run().seconds
    took: dict[str, list[float]] = {name: [] for name in ways}
    for number in range(rounds + 1):
        for name, way in ways.items():
            seen = way()
            if number:  # the first one is not counted: caches of bytecode, of the page, of names
                took[name].append(seen)
    results: dict[str, float | int] = {}
    for name, seen_of in took.items():
        results[f"three_{name}_s"] = _say(f"three steps, {name}", median(seen_of), "s")
    ratio = median(took["mill"]) / median(took["metaflow"])
    results["vs_metaflow"] = _say("  over Metaflow's", ratio, "")
    return results


def fan_out(mill: Mill, api: Api, count: int) -> dict[str, float | int]:
    """A step that runs over a list of `count`, and as many plain jobs with the same command."""
    items = json.dumps(list(range(count)))
    wide = HEAD + (
        "name: wide\ndefaults: {remember: false}\nsteps:\n  each:\n    command: ['true']\n"
        f"    each: {{n: {items}}}\n    params: {{n: '${{each.n}}'}}\n"
    )
    flow = _save(api, wide)
    with _most_memory(mill) as memory:
        jobs = _say(f"{count} plain jobs", _plain_jobs(api, count), "s")
        took = _say(f"fan-out of {count}", _took(_run_flow(api, flow)), "s")
    return {
        "jobs_1000_s": jobs,
        "fanout_1000_s": took,
        "fanout_over_jobs": _say("  over the jobs", took / jobs, ""),
        "server_rss_mb": _say("  server, at most", max(memory) / 1e6, "MB"),
    }


def _plain_jobs(api: Api, count: int) -> float:
    """Seconds from the first submission to the last end."""
    jobs = [submit_job(api, PROJECT, JobCreate(command=["true"])) for _ in range(count)]
    _until(lambda: None if any(_are(api, state) for state in ("queued", "placed", "preparing", "running")) else True)
    ended = [get_job(api, PROJECT, job.id) for job in jobs]
    failed = [job.id for job in ended if job.state.value != "succeeded"]
    assert not failed, f"{len(failed)} of {count} jobs did not succeed: {failed[:3]}"
    last = max(job.ended_at for job in ended if job.ended_at)
    return (last - min(job.queued_at for job in ended)).total_seconds()


@contextmanager
def _most_memory(mill: Mill) -> Iterator[list[int]]:
    """Resident memory of the server, looked at four times a second."""
    seen, done = [mill.server.memory_info().rss], threading.Event()

    def look() -> None:
        while not done.wait(0.25):
            seen.append(mill.server.memory_info().rss)

    thread = threading.Thread(target=look)
    thread.start()
    try:
        yield seen
    finally:
        done.set()
        thread.join()


def warm_up(api: Api) -> None:
    """The first job of a server makes its agent start what it keeps for later ones."""
    _bare_job(api)
    _run_flow(api, _save(api, _chain(2)))


def _save(api: Api, text: str) -> str:
    return save_flow(api, PROJECT, FlowFile(Path("flow.yaml"), text)).name


def _run_flow(api: Api, flow: str) -> FlowRun:
    run = start_run(api, PROJECT, flow, FlowRunCreate())
    ended = _until(lambda: _ended_run(api, run.id))
    assert ended.state == "succeeded", ended.reason
    return ended


def _took(run: FlowRun) -> float:
    took = seconds(run.created_at, run.ended_at)
    assert took is not None
    return took


def _ended_run(api: Api, run: str) -> FlowRun | None:
    # Not read whole at every look: a run of a thousand steps is large.
    summary = next(api.items(f"/projects/{PROJECT}/flow-runs", FlowRunSummary, at_most=1), None)
    return get_run(api, PROJECT, run) if summary is not None and has_ended(summary) else None


def _ended_job(api: Api, job: str) -> Job | None:
    found = get_job(api, PROJECT, job)
    return found if found.state.is_finished else None


def _are(api: Api, state: str) -> bool:
    return next(list_jobs(api, state=state, at_most=1), None) is not None


def _until(look: Callable[[], Found | None]) -> Found:
    deadline = time.monotonic() + DEADLINE_SECONDS
    while not (found := look()):
        if time.monotonic() > deadline:
            raise TimeoutError("nothing happens any more")
        time.sleep(0.05)
    return found


def _folder(work: Path, name: str) -> Path:
    (work / name).mkdir()
    return work / name


def _say(what: str, value: float, unit: str) -> float:
    print(f"{what:<45} {value:>10.3f} {unit}", flush=True)
    return round(value, 4)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--wide", type=int, default=1000, help="executions of the fan-out, and plain jobs")
    parser.add_argument("--prefect", action="store_true", help="measure Prefect, too")
    return parser.parse_args()


if __name__ == "__main__":
    main()
