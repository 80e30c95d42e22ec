"""The main story of Millpond, told by its own command line: dataset → lake → cache → job → run.

`make demo` stays up until Ctrl-C; `--once` ends by itself, with status 0 only when every step worked.
Everything it makes lies in one folder (`.demo`), so a second run starts in seconds and uploads nothing again.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import json
import os
import re
import secrets
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
EXAMPLE = ROOT / "examples" / "digits"
XRAY = ROOT / "examples" / "chest-xray"
MILL = Path(sys.executable).with_name("mill")
READY_SECONDS = 60
MB = 1_000_000
_OF_ANOTHER_SERVER = ("MILL_SERVER", "MILL_TOKEN", "MILL_PROJECT")


class StepFailed(Exception):
    """A step of the story did not work; the message says which and what to look at."""


@dataclass
class Demo:
    folder: Path
    server: subprocess.Popen[bytes] | None = None
    url: str = ""

    @property
    def log(self) -> Path:
        return self.folder / "server.log"

    @property
    def home(self) -> Path:
        return self.folder / "home"

    @property
    def images(self) -> Path:
        return self.folder / "digits"

    @property
    def password_file(self) -> Path:
        return self.folder / "admin-password"

    def environment(self) -> dict[str, str]:
        """A home of its own: the user's servers, tokens and default project stay as they are."""
        kept = {name: value for name, value in os.environ.items() if name not in _OF_ANOTHER_SERVER}
        own = {"MILL_HOME": str(self.home), "MILL_ADMIN_PASSWORD_FILE": str(self.password_file)}
        # The folder of images remembers the port of the last time.
        return {**kept, **own, **({"MILL_SERVER": self.url} if self.url else {})}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--once", action="store_true", help="end when the story is told")
    parser.add_argument("--dir", type=Path, default=ROOT / ".demo", help="where everything is kept")
    parser.add_argument("--port", type=int, help="the server's port (default: 8420, or the next free one)")
    parser.add_argument("--quick", action="store_true", help="leave out the chest X-ray flow")
    options = parser.parse_args()
    demo = Demo(options.dir.resolve())
    # A terminal's Ctrl-C and a polite kill both end the story the same way: the server is always stopped.
    signal.signal(signal.SIGTERM, lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
    try:
        tell(demo, options.port)
        if not options.quick:
            run_xray_flow(demo)
        if not options.once:
            print("\nThe server stays up; Ctrl-C ends it.", flush=True)
            wait_for_end(demo)
    except StepFailed as problem:
        print(f"\nerror: {problem}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\nstopping", flush=True)
        return 0 if not options.once else 130
    finally:
        stop_server(demo)
    return 0


def tell(demo: Demo, port: int | None) -> None:
    began = time.monotonic()
    demo.folder.mkdir(parents=True, exist_ok=True)
    step("Starting the server: SQLite, a lake in a directory, one agent, one volume")
    start_server(demo, port)
    step("Making a dataset of small images")
    make_images(demo)
    step("Putting it into the lake as a commit")
    if not (demo.images / ".mill").exists():
        mill(demo, "data", "init", "digits", cwd=demo.images)
    before = head(demo)
    mill(demo, "data", "sync", "-m", "handwritten digits, upright and turned", cwd=demo.images)
    step("Caching the commit on the volume beside the compute")
    mill(demo, "cache", "add", "digits", cwd=demo.images)
    step("Training where the data is")
    train(demo)
    summary(demo, uploaded=head(demo) != before, seconds=time.monotonic() - began)


def start_server(demo: Demo, port: int | None) -> None:
    if not demo.password_file.exists():
        demo.password_file.touch(mode=0o600)
        demo.password_file.write_text(secrets.token_urlsafe(12) + "\n")
    command = [str(MILL), "up", "--data-dir", str(demo.folder / "server")]
    if port is not None:
        command += ["--port", str(port)]
    with demo.log.open("wb") as log:
        # In a session of its own: Ctrl-C reaches us first, and we stop it in order.
        demo.server = subprocess.Popen(
            command, stdout=log, stderr=subprocess.STDOUT, env=demo.environment(), start_new_session=True
        )
    began = time.monotonic()
    while not demo.url:
        if demo.server.poll() is not None:
            raise StepFailed(f"the server did not start:\n{demo.log.read_text()}")
        if time.monotonic() - began > READY_SECONDS:
            raise StepFailed(f"the server was not ready after {READY_SECONDS} s; see {demo.log}")
        time.sleep(0.05)
        found = re.search(r"ready at (http://\S+)", demo.log.read_text())
        demo.url = found[1].rstrip("/") if found else ""
    print(f"  ready at {demo.url} after {time.monotonic() - began:.1f} s", flush=True)


def make_images(demo: Demo) -> None:
    done = demo.folder / "digits.made"
    if not done.exists():
        subprocess.run([sys.executable, str(EXAMPLE / "make_images.py"), str(demo.images)], check=True)
        done.touch()
    else:
        print("  they are there from the last time", flush=True)


def train(demo: Demo) -> None:
    """Submit the job; one that outlived a server that was killed is followed to its end instead."""
    running = [job for job in ask(demo, "list")["items"] if job["name"] == "train-digits" and not job["ended_at"]]
    if running:
        print("  the job of the last time is still there: jobs outlive the server", flush=True)
        mill(demo, "logs", "-f", "train-digits", cwd=EXAMPLE)
    else:
        mill(demo, "submit", "train-digits", "--data", "digits", "--follow", "--", "python", "train.py", cwd=EXAMPLE)


def head(demo: Demo) -> str | None:
    head: str | None = ask(demo, "data", "show", "digits")["head"]
    return head


def summary(demo: Demo, *, uploaded: bool, seconds: float) -> None:
    dataset = ask(demo, "data", "show", "digits")
    cached = [c for c in ask(demo, "cache", "list")["items"] if c["commit_id"] == dataset["head"]]
    job = ask(demo, "get", "train-digits")
    run = ask(demo, "run", "show", job["run_id"])
    if not cached or job["state"] != "succeeded" or "val_accuracy" not in run["metrics"]:
        raise StepFailed("the story ended, but not as it should; see the output above")
    ledger = job["ledger"]
    step("What happened")
    size = f"{dataset['files']:,} files, {dataset['bytes'] / MB:.1f} MB"
    print(f"  dataset    digits@{dataset['head'][:8]}: {size} {'uploaded' if uploaded else 'in the lake already'}")
    print(f"  cached     on volume {cached[0]['volume']}: {cached[0]['path']}")
    print(f"  accuracy   {run['metrics']['val_accuracy']:.4f} on images the network had not seen")
    print(
        f"  job        {job['name']} ({job['id']}): queue {ledger['queue']:.1f} s, fill {ledger['fill']:.1f} s, "
        f"run {ledger['run']:.1f} s"
    )
    print(f"  all of it  {seconds:.1f} s")
    print(f"\n  Web page   {demo.url}")
    print(f"  Login      admin / {demo.password_file.read_text().strip()}")
    print(f"  Terminal   MILL_HOME={demo.home} {MILL} list", flush=True)


def run_xray_flow(demo: Demo) -> None:
    """The chest X-ray flow with ResNet50 on the server, small: real labels, drawn images (64 px), one epoch."""
    if importlib.util.find_spec("torchxrayvision") is None:
        print("\n  The chest X-ray flow is left out: its label table is not installed.")
        print("  Install it: .venv/bin/pip install --no-deps torchxrayvision", flush=True)
        return
    step("Running the chest X-ray flow on the server: check, split, ResNet50, ONNX, evaluation, registry")
    images = demo.folder / "xray"
    if not images.exists():
        subprocess.run([sys.executable, str(XRAY / "make_images.py"), str(images)], check=True)
        mill(demo, "data", "init", "xray", cwd=images)
    mill(demo, "data", "sync", "-m", "real labels, drawn images", cwd=images)
    if not ask(demo, "queue", "list")["items"]:
        # The second stands for a cloud: without a GPU here, the training goes there at once.
        make(demo, "template", "create", "gpu-real", "--compute", "local", "--gpu", "1")
        make(demo, "template", "create", "cloud", "--compute", "local", "--cpu", "2")
        make(demo, "queue", "create", "gpu-then-cloud", "gpu-real", "cloud")
    print("  The packages of its steps are installed once, which takes minutes; later runs find them.", flush=True)
    mill(demo, "flow", "run", "flow.yaml", "--wait", cwd=XRAY)
    xray_summary(demo)


def xray_summary(demo: Demo) -> None:
    run = ask(demo, "flow", "show", "chest-xray")["newest_run"]
    steps = ask(demo, "flow", "show", run["written"])["steps"]
    step("What the flow did")
    for one in steps:
        ledger = one["ledger"] or {}
        work = f"{(ledger.get('total') or 0) - (ledger.get('environment') or 0):6.1f} s" if ledger else ""
        where = one["remembered_from"] or "/".join(part for part in (one["site"], one["template"]) if part)
        print(f"  {one['name']:10} {one['state']:11} {work:>9}  {where}")
    values = {name: value for one in steps for name, value in one["outputs"].items() if one["name"] == "evaluate"}
    packages = sum((one["ledger"] or {}).get("environment") or 0 for one in steps)
    took = seconds_between(run["started_at"], run["ended_at"])
    print(f"  accuracy   {values['score']:.4f} on images that were kept apart; they are drawn and mean nothing")
    print(f"  all of it  {took - packages:.1f} s, and {packages:.1f} s for installing packages")
    print(f"\n  Graph      {demo.url}/projects/default/flow-runs/{run['id']}", flush=True)


def seconds_between(start: str, end: str) -> float:
    return (datetime.fromisoformat(end) - datetime.fromisoformat(start)).total_seconds()


def step(title: str) -> None:
    print(f"\n▸ {title}", flush=True)


def mill(demo: Demo, *arguments: str, cwd: Path) -> None:
    print(f"  $ mill {' '.join(arguments)}", flush=True)
    if subprocess.run([MILL, *arguments], cwd=cwd, env=demo.environment(), check=False).returncode:
        raise StepFailed(f"`mill {' '.join(arguments)}` failed; the server's log is {demo.log}")


def make(demo: Demo, *arguments: str) -> None:
    print(f"  $ mill {' '.join(arguments)}", flush=True)
    ask(demo, *arguments)


def ask(demo: Demo, *arguments: str) -> dict[str, Any]:
    command = [str(MILL), *arguments, "--json"]
    done = subprocess.run(command, capture_output=True, text=True, env=demo.environment(), check=False)
    if done.returncode:
        raise StepFailed(f"`mill {' '.join(arguments)}` failed:\n{done.stderr}")
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def wait_for_end(demo: Demo) -> None:
    assert demo.server is not None
    code = demo.server.wait()
    raise StepFailed(f"the server ended by itself with status {code}; see {demo.log}")


def stop_server(demo: Demo) -> None:
    if demo.server is None or demo.server.poll() is not None:
        return
    with contextlib.suppress(ProcessLookupError):
        demo.server.terminate()
    try:
        demo.server.wait(timeout=15)
    except subprocess.TimeoutExpired:
        demo.server.kill()


if __name__ == "__main__":
    sys.exit(main())
