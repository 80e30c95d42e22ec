"""Jobs as YAML files, and the verbs about jobs that need no agent."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import millpond
from tests.integration.cli import Mill, ServerHere, server_here

TASK = """\
name: train
command: [python, train.py]
env:
  EPOCHS: 3
  FLAG: no          # text, not a boolean
  VERSION: 1.10
cpu: 2
memory: 8GB
timeout: 2h
retries: 2
retry_on: [oom]
tags: {team: vision}
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerHere]:
    with server_here(tmp_path_factory.mktemp("tasks")) as running:
        yield running


@pytest.fixture
def mill(server: ServerHere, capfd: pytest.CaptureFixture[str], tmp_path: Path) -> Mill:
    return Mill(server, capfd, tmp_path)


def task(tmp_path: Path, text: str = TASK) -> str:
    file = tmp_path / "job.yaml"
    file.write_text(text)
    return str(file)


def test_a_task_file_is_submitted_and_overridden(mill: Mill, tmp_path: Path) -> None:
    job = mill.ok("submit", "-f", task(tmp_path), "--no-code", "--json").json
    spec = job["spec"]
    assert (job["name"], spec["command"]) == ("train", ["python", "train.py"])
    assert spec["env"] == {"EPOCHS": "3", "FLAG": "no", "VERSION": "1.10"}
    assert (spec["cpu"], spec["memory_bytes"], spec["timeout_seconds"]) == (2, 8 * 10**9, 7200)
    assert job["cpu"] == 2, "what was asked stands beside the spec, too"
    changed = mill.ok(
        "submit", "other", "-f", task(tmp_path), "--no-code", "--cpu", "1", "-e", "EPOCHS=9", "--json", "--", "true"
    ).json  # fmt: skip
    assert (changed["name"], changed["spec"]["command"], changed["spec"]["cpu"]) == ("other", ["true"], 1)
    assert changed["spec"]["env"] == {"EPOCHS": "9", "FLAG": "no", "VERSION": "1.10"}
    assert changed["spec"]["memory_bytes"] == 8 * 10**9
    for name in ("train", "other"):
        mill.ok("stop", name)


def test_a_job_is_printed_as_a_task_file_that_submits_the_same(mill: Mill, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("print(1)")
    first = mill.ok("submit", "again", "-f", task(tmp_path), "--priority", "5", "--json", cwd=tmp_path).json
    mill.ok("stop", "again")
    printed = mill.ok("spec", "again").out
    assert "memory: 8GB\n" in printed and "timeout: 2h\n" in printed
    second = mill.ok("submit", "-f", task(tmp_path, printed), "--json", cwd=tmp_path).json
    assert second["name"] == "again" and second["spec"] == first["spec"], "the same code, too"
    assert mill.ok("spec", "again", "--json").json["code_commit"] == first["code_commit"]
    mill.ok("stop", "again")


@pytest.mark.parametrize(
    ("text", "place", "words"),
    [
        ("command: [a]\ngpuss: 1\n", "2:1", "Unknown key 'gpuss'.\n  hint: Did you mean 'gpu'?"),
        ("command: [a]\ninputs: [{dataset: x, reff: y}]\n", "2:23", "Unknown key 'inputs.0.reff'"),
        ("command: [a]\ncpu: 1\ncpu: 2\n", "3:1", "The key 'cpu' is there twice, first in line 2."),
        ("command: [a]\ncpu: many\n", "2:1", "cpu: Input should be a valid integer"),
        ("command: [a]\nmemory: much\n", "2:1", "memory: 'much' is not a size."),
        ("command: [a]\ntimeout: 10\n", "2:1", "timeout: '10' has no unit.\n  hint: Write 10s, 10m or 10h."),
        ("command: [a]\ninteractive: yes\n", "2:1", "interactive must be true or false."),
        ("command: [a]\nports: [80, x]\n", "2:13", "ports.1: Input should be a valid integer"),
        ("command: [a\n", "2:1", "expected"),
        ("command: &a [*a]\n", "1:10", "An alias cannot contain itself."),
        ("- a\n", "1:1", "A task file is a mapping"),
        ("", "1:1", "A task file is a mapping"),
        ("version: 7\ncommand: [a]\n", "1:1", "version 7 cannot be read"),
    ],
)
def test_mistakes_are_told_with_their_place(mill: Mill, tmp_path: Path, text: str, place: str, words: str) -> None:
    done = mill("submit", "-f", task(tmp_path, text), "--no-code")
    assert done.code == 2 and f"job.yaml:{place}: " in done.err and words in done.err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["submit", "x", "python", "t.py"], "Put -- before the command: mill submit x -- python t.py"),
        (["submit", "sh", "t.sh", "--lr", "3"], "Put -- before the command: mill submit -- sh t.sh --lr 3"),
        (["submit", "x", "--timout", "3"], "No such option: --timout"),
        (["submit", "x", "-f"], "-f needs a task file.\n  hint: To print the log while the job runs: --follow."),
        (["submit", "x"], "No command given."),
        (["submit", "--timeout", "10", "--", "true"], "'10' has no unit.\n  hint: Write 10s, 10m or 10h."),
        (["submit", "--timeout", "0", "--", "true"], "--timeout must be at least 1s."),
        (["submit", "-e", "MILL_TOKEN=x", "--no-code", "--", "true"], "'MILL_TOKEN' is reserved"),
        (["cancel", "x"], "There is no command 'cancel'.\n  hint: Stop a job and keep what it made: mill stop JOB"),
    ],
)
def test_mistakes_on_the_command_line_get_a_hint(mill: Mill, arguments: list[str], words: str) -> None:
    done = mill(*arguments)
    assert done.code == 2 and words in done.err


def test_a_list_says_that_it_is_not_all(mill: Mill) -> None:
    for number in range(3):
        mill.ok("submit", f"many-{number}", "--no-code", "--", "true")
    done = mill.ok("list", "many", "--limit", "2")
    assert done.out.count("many-") == 2 and "Showing the newest 2." in done.err
    assert "more" not in mill.ok("list", "many", "--limit", "3").err
    assert len(mill.ok("list", "many", "--json").json["items"]) == 3
    mill.ok("stop", "many-0", "many-1", "many-2")


def test_several_jobs_are_waited_for(mill: Mill) -> None:
    for name in ("one", "two"):
        mill.ok("submit", name, "--no-code", "--", "true")
    assert mill("wait", "one", "two", "--timeout", "0").code == 101
    mill.ok("stop", "one", "two")
    done = mill("wait", "one", "two", "--json")
    assert done.code == 103 and [job["name"] for job in done.json] == ["one", "two"]


def test_what_happened_to_a_job_is_listed(mill: Mill) -> None:
    mill.ok("submit", "told", "--no-code", "--", "true")
    mill.ok("stop", "told")
    events = mill.ok("events", "told", "--json").json["items"]
    assert [event["what"] for event in events] == ["Submitted by admin", "Cancelled"]
    assert "Submitted by admin" in mill.ok("events", "told").out


def test_scripts_submit_task_files(server: ServerHere, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MILL_HOME", str(server.home))
    monkeypatch.setenv("MILL_SERVER", server.url)
    job = millpond.submit(file=task(tmp_path), name="script", code=None, priority=7)
    assert (job.job.spec.cpu, job.job.spec.priority) == (2, 7)
    assert job.events()[0].what.startswith("Submitted by") and "name: script\n" in job.to_yaml()
    job.stop()
    with pytest.raises(Exception, match="Unknown key 'prioritty'") as raised:
        millpond.submit(["true"], code=None, prioritty=7)
    assert "priority" in str(raised.value.hint)  # type: ignore[attr-defined]
