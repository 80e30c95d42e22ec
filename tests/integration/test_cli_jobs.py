"""`mill submit` and the verbs of jobs, people and health, against a real server."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from millpond.testing.up import MillUp
from millpond.testing.waiting import wait_until
from tests.integration.cli import Mill

TRAIN = """
import os, pathlib
import millpond
data = pathlib.Path(os.environ["MILL_DATA_NUMBERS"])
print("read", (data / "a.txt").read_text(), sorted(p.name for p in pathlib.Path().iterdir()), flush=True)
millpond.log_params(lr=0.1)
for step in range(3):
    millpond.log_metric("loss", 1 / (step + 1), step)
pathlib.Path(os.environ["MILL_OUTPUT"], "model.txt").write_text("weights")
"""


@pytest.fixture(scope="module")
def server(shared_up: MillUp) -> MillUp:
    return shared_up


@pytest.fixture
def mill(server: MillUp, capfd: pytest.CaptureFixture[str], tmp_path: Path) -> Mill:
    return Mill(server, capfd, tmp_path)


def test_the_whole_story(mill: Mill, tmp_path: Path) -> None:
    data, code = tmp_path / "numbers", tmp_path / "code"
    for folder in (data, code / ".git", code / "ignored"):
        folder.mkdir(parents=True)
    (data / "a.txt").write_text("one")
    (code / "train.py").write_text(TRAIN)
    (code / ".git/HEAD").write_text("ref")
    (code / "ignored/x").write_text("x")
    (code / ".gitignore").write_text("ignored/\n")
    mill.ok("data", "init", cwd=data)
    mill.ok("data", "sync", cwd=data)
    done = mill.ok("submit", "train", "--data", "numbers", "--follow", "--", "python", "train.py", cwd=code)
    assert done.out.strip() == "read one ['.gitignore', 'train.py']"
    assert "succeeded after" in done.err
    job = mill.ok("get", "train", "--json").json
    assert (job["state"], job["exit_code"]) == ("succeeded", 0)
    assert job["ledger"]["run"] > 0
    run = mill.ok("run", "show", job["run_id"], "--json").json
    assert run["params"] == {"lr": 0.1}
    assert run["metrics"]["loss"] == pytest.approx(1 / 3)
    points = mill.ok("run", "metrics", job["run_id"], "loss", "--json").json["items"][0]
    assert points["steps"] == [0, 1, 2]
    assert mill.ok("data", "cat", f".outputs@{job['output_commit'][:12]}:model.txt").out == "weights"
    missed = mill("cache", "add", ".outputs@nobody")
    assert missed.code == 3 and "Name a job: .outputs@JOB." in missed.err
    listed = mill.ok("data", "commits", ".outputs", "--json").json
    assert job["output_commit"] in [commit["id"] for commit in listed["items"]]
    again = mill.ok("submit", "train", "--data", "numbers", "--wait", "--json", "--", "python", "train.py", cwd=code)
    assert again.json["code_commit"] == job["code_commit"], "unchanged code is not committed again"
    assert mill.ok("get", "train#1", "--json").json["id"] == job["id"]


def test_code_that_a_commit_cannot_hold_is_named(mill: Mill, tmp_path: Path) -> None:
    code = tmp_path / "code"
    (code / "vendored/.mill").mkdir(parents=True)
    (code / "train.py").write_text("")
    os.mkfifo(code / "pipe")
    done = mill.ok("submit", "--json", "--", "true", cwd=code)
    said = "Skipped 2 paths that a commit cannot hold: pipe (socket, device or FIFO), vendored/.mill (reserved"
    assert said in done.err
    assert done.json["state"] == "queued"


def test_a_home_directory_is_not_sent_as_code(mill: Mill, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = tmp_path / "ada"
    home.mkdir()
    (home / "id_ed25519").write_text("a key")
    monkeypatch.setenv("HOME", str(home))
    refused = mill("submit", "--", "true", cwd=home)
    assert refused.code == 2 and f"{home} is not uploaded" in refused.err and "--no-code" in refused.err
    mill.ok("submit", "--no-code", "--", "true", cwd=home)
    assert "1 file" in mill.ok("submit", "--yes", "--", "true", cwd=home).err


@pytest.mark.parametrize(
    ("command", "code"), [("exit 3", 100), ("kill -9 $$", 100), ("exec no-such-command-here", 100)]
)
def test_a_job_that_fails_is_100(mill: Mill, command: str, code: int) -> None:
    done = mill("submit", "--no-code", "--wait", "--", "sh", "-c", command)
    assert done.code == code
    assert "failed after" in done.err


def test_a_command_that_does_not_exist_says_so(mill: Mill) -> None:
    done = mill("submit", "--no-code", "--wait", "--", "no-such-command-here")
    assert done.code == 100
    assert "no-such-command-here" in done.err


def test_a_name_is_held_until_the_job_has_ended(mill: Mill) -> None:
    first = mill.ok("submit", "holder", "--no-code", "--", "sleep", "60").out.strip()
    taken = mill("submit", "holder", "--no-code", "--", "true")
    assert taken.code == 5
    assert first in taken.err
    assert mill("wait", "holder", "--timeout", "0").code == 101
    mill.ok("stop", "holder")
    assert mill("wait", "holder").code == 103
    mill.ok("submit", "holder", "--no-code", "--wait", "--", "true")
    assert mill.ok("get", "holder#1", "--json").json["id"] == first
    assert "Stop requested" in mill.ok("why", first).out


def test_deleted_jobs_come_back(mill: Mill) -> None:
    job = mill.ok("submit", "binned", "--no-code", "--wait", "--json", "--", "true").json["id"]
    assert mill("delete", "binned").code == 2
    partly = mill("delete", "binned", "no-such", "--yes")
    assert (partly.code, "1 of 2 jobs were not deleted" in partly.err) == (3, True)
    assert job not in mill.ok("list").out
    assert job in mill.ok("list", "--deleted").out
    mill.ok("undelete", "binned")
    assert job in mill.ok("list").out
    assert mill.ok("get", "binned", "--json").json["deleted_at"] is None


def test_logs_are_bytes_and_can_be_cut(mill: Mill) -> None:
    mill.ok("submit", "talker", "--no-code", "--wait", "--", "sh", "-c", "seq 1 5000; printf 'no newline'")
    wait_until(lambda: mill("logs", "talker").out.endswith("no newline"), what="the whole log")
    lines = mill.ok("logs", "talker").out.splitlines()
    assert len(lines) == 5001
    assert mill.ok("logs", "talker", "--tail", "2").out == "5000\nno newline"
    assert mill.ok("logs", "talker", "-f").out.splitlines() == lines
    assert mill("logs", "nobody").code == 3


def test_logs_can_be_searched_and_kept(mill: Mill, tmp_path: Path) -> None:
    mill.ok("submit", "searched", "--no-code", "--wait", "--", "sh", "-c", "seq 1 5000; echo Token $MILL_TOKEN")
    assert mill.ok("logs", "searched", "--grep", "4999", "-C", "1").out == "4998-4998\n4999:4999\n5000-5000\n"
    found = mill.ok("logs", "searched", "--grep", "^9.9$", "--regex", "--json").json["items"]
    assert [hit["line"] for hit in found] == list(range(909, 1000, 10))
    (hit,) = mill.ok("logs", "searched", "--grep", "TOKEN", "-i", "--json").json["items"]
    assert hit["text"].startswith("Token ***") and "mill_" not in hit["text"]
    assert mill("logs", "searched", "--grep", "nowhere").code == 1
    assert mill("logs", "searched", "--grep", "(", "--regex").code == 2
    piece = mill.ok("logs", "searched", "--since-offset", "2", "--json").json
    assert (piece["begin"], piece["complete"], piece["text"][:4]) == (2, True, "2\n3\n")
    file = tmp_path / "log"
    mill.ok("logs", "searched", "--output", str(file))
    assert file.read_text() == mill.ok("logs", "searched").out


def test_bad_submissions_are_refused_before_anything_is_sent(mill: Mill, tmp_path: Path) -> None:
    assert mill("submit", "x").code == 2
    assert mill("submit", "Bad Name", "--", "true").code == 2
    assert mill("submit", "-e", "=x", "--", "true").code == 2
    assert mill("submit", "--memory", "lots", "--", "true").code == 2
    assert mill("submit", "--no-code", "--data", "nothing-here", "--", "true").code == 3
    gpu = mill("submit", "--no-code", "-g", "1", "--", "true")
    assert gpu.code == 5
    assert "hint" in gpu.err


def test_much_code_needs_a_yes(mill: Mill, tmp_path: Path) -> None:
    folder = tmp_path / "much"
    folder.mkdir()
    with (folder / "weights.bin").open("wb") as file:
        file.truncate(600_000_000)
    done = mill("submit", "--", "true", cwd=folder)
    assert done.code == 2
    assert "weights.bin (600.0 MB)" in done.err
    assert ".millignore" in done.err


def test_people_projects_and_tokens(mill: Mill, tmp_path: Path) -> None:
    secret = tmp_path / "password"
    secret.write_text("correct horse battery\n")
    mill.ok("user", "create", "maria", "--password-file", str(secret))
    assert mill("user", "create", "maria", "--password-file", str(secret)).code == 5
    mill.ok("project", "create", "vision")
    home = str(tmp_path / "home-of-maria")
    server = mill.server.url
    mill.ok("login", server, "--user", "maria", "--password-file", str(secret), MILL_HOME=home)
    assert mill.ok("whoami", "--json", MILL_HOME=home).json["user"]["name"] == "maria"
    hidden = mill("project", "show", "vision", "--json", MILL_HOME=home)
    absent = mill("project", "show", "absent", "--json", MILL_HOME=home)
    assert (hidden.code, absent.code) == (3, 3)
    mill.ok("project", "add-member", "vision", "maria", "--role", "viewer")
    mill.ok("project", "use", "vision", MILL_HOME=home)
    assert mill("data", "create", "x", MILL_HOME=home).code == 4
    token = mill.ok("token", "create", "ci", "--expires", "1h", "--json", MILL_HOME=home).json
    assert mill.ok("whoami", MILL_SERVER=server, MILL_TOKEN=token["secret"]).out.startswith("user\tmaria")
    mill.ok("token", "revoke", token["id"], MILL_HOME=home)
    assert mill("whoami", MILL_SERVER=server, MILL_TOKEN=token["secret"]).code == 4
    assert "user.create" in mill.ok("audit").out
    assert mill.ok("audit", "retention").out.strip() == "kept\tfor ever"
    mill.ok("logout", MILL_HOME=home)
    assert mill("whoami", MILL_HOME=home, MILL_SERVER=server).code == 4
    wrong = tmp_path / "wrong"
    wrong.write_text("nope")
    assert mill("login", server, "-u", "maria", "--password-file", str(wrong), MILL_HOME=home).code == 4
    new = mill.ok("user", "reset-password", "maria", "--data-dir", str(mill.server.data_dir)).out.strip()
    secret.write_text(new)
    mill.ok("login", server, "-u", "maria", "--password-file", str(secret), MILL_HOME=home)


def test_doctor_is_content_and_says_what_is_not(mill: Mill) -> None:
    wait_until(lambda: mill("doctor", "-q").code == 0, what="the agent's first word")
    report = mill.ok("doctor", "--json").json
    assert report["ok"] is True
    names = {check["name"] for check in report["checks"]}
    assert {"disk", "clock", "credentials", "proxies", "versions", "lake", "agent", "volume"} <= names
    credentials = mill.server.home / "credentials.json"
    credentials.chmod(0o644)
    try:
        done = mill("doctor", "--json")
    finally:
        credentials.chmod(0o600)
    assert done.code == 1
    assert [c["name"] for c in json.loads(done.out)["checks"] if not c["ok"]] == ["credentials"]
    of_server = mill.ok("doctor", "--server", "--json").json
    assert of_server["errors"] == 0 and "migrations" in {check["name"] for check in of_server["checks"]}
    down = mill("doctor", "--server", "http://127.0.0.1:9")
    assert down.code == 1
    assert "wrong\tport" in down.out


def test_a_proxy_in_the_environment_is_no_obstacle(mill: Mill) -> None:
    assert "no_proxy" not in os.environ
    mill.ok("whoami", http_proxy="http://127.0.0.1:9", https_proxy="http://127.0.0.1:9")
    mill.ok("submit", "--no-code", "--wait", "--", "true", http_proxy="http://127.0.0.1:9")


def test_a_secret_reaches_the_job_and_no_log(mill: Mill, tmp_path: Path) -> None:
    value = "s3cr3t-of-the-hub"
    (tmp_path / "hub").write_text(f"{value}\n")
    assert mill.ok("secret", "list").out == ""
    done = mill.ok("secret", "set", "HUB_KEY", "--file", "hub")
    listed = mill.ok("secret", "list", "--json")
    assert [item["name"] for item in listed.json["items"]] == ["HUB_KEY"]
    assert value not in done.out + done.err + listed.out
    script = 'echo "$HUB_KEY|$SAME" | tee "$MILL_OUTPUT/got"; echo ${#HUB_KEY}'
    done = mill.ok(
        "submit", "with-secret", "--no-code", "--secret", "HUB_KEY", "--secret", "SAME=HUB_KEY", "--follow", "--",
        "sh", "-c", script,
    )  # fmt: skip
    assert value not in done.out and done.out.endswith(f"{len(value)}\n")
    assert mill.ok("get", "with-secret", "--json").json["secrets"] == {"HUB_KEY": "HUB_KEY", "SAME": "HUB_KEY"}
    assert "HUB_KEY" in mill.ok("get", "with-secret").out
    mill.ok("secret", "rm", "HUB_KEY", "--yes")
    assert "No secret" in mill("submit", "--no-code", "--secret", "HUB_KEY", "--", "true").err


def test_followed_as_json_the_job_is_all_there_is_on_stdout(mill: Mill) -> None:
    done = mill("submit", "--no-code", "--follow", "--json", "--", "sh", "-c", "echo said; exit 3")
    assert (done.code, json.loads(done.out)["exit_code"]) == (100, 3)
    assert "said" in done.err


def test_jobs_share_a_directory_that_an_administrator_allows(mill: Mill, tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o777)
    for folder in (shared, *shared.parents):  # jobs run under an account of their own, where the agent is root
        if folder.stat().st_uid == os.getuid() and folder != Path("/"):
            folder.chmod(folder.stat().st_mode | 0o755)
    ask = ("submit", "--no-code", "--wait", "--pvc", "scratch-it:/workspace", "--", "sh", "-c")
    refused = mill(*ask, "true")
    assert refused.code == 3 and "mill mount allow scratch-it default" in refused.err
    mill.ok("mount", "add", "scratch-it", str(shared), "--allow", "default")
    mill.ok(*ask, 'echo hello > "$MILL_MOUNT_SCRATCH_IT/first"')
    by_path = ("submit", "--no-code", "--follow", "-v", f"{shared}:/workspace:ro", "--command", "--", "sh", "-c")
    assert mill.ok(*by_path, 'cat "$MILL_MOUNT_SCRATCH_IT/first"').out == "hello\n"
    assert mill.ok("mount", "list", "--json").json["items"][0]["projects"] == ["default"]
    assert "mount.create" in mill.ok("audit").out
    mill.ok("mount", "deny", "scratch-it", "default")
    assert mill(*by_path, "true").code == 4
    mill.ok("mount", "rm", "scratch-it", "--yes")


def test_outputs_are_cached_from_the_disk_of_the_agent(mill: Mill, server: MillUp) -> None:
    make = 'head -c 3000000 /dev/urandom > "$MILL_OUTPUT/model"; cp "$MILL_OUTPUT/model" "$MILL_OUTPUT/copy"'
    made = mill.ok("submit", "makes-much", "--no-code", "--wait", "--json", "--", "sh", "-c", make).json
    written = f".outputs@{made['output_commit']}"

    def cached() -> dict[str, object]:
        listed = mill.ok("cache", "list", ".outputs", "--json").json["items"]
        return next((one for one in listed if one["commit_id"] == made["output_commit"]), {})

    wait_until(lambda: cached().get("state") == "ready", what="the outputs on the volume")
    filled = (server.data_dir / "agent/agent.log").read_text()
    (line,) = [line for line in filled.splitlines() if f"commit={made['output_commit']} disk=" in line]
    assert "lake=" not in line, "nothing was fetched"
    read = 'cmp "$MILL_DATA_OUTPUTS/model" "$MILL_DATA_OUTPUTS/copy"'
    mill.ok("submit", "reads-much", "--no-code", "--data", written, "--wait", "--", "sh", "-c", read)


def test_small_outputs_stay_in_the_lake(mill: Mill) -> None:
    make = 'echo little > "$MILL_OUTPUT/text"'
    made = mill.ok("submit", "makes-little", "--no-code", "--wait", "--json", "--", "sh", "-c", make).json
    listed = mill.ok("cache", "list", ".outputs", "--json").json["items"]
    assert made["output_commit"] not in [one["commit_id"] for one in listed]
