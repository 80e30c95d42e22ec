"""What runs on the machine that is attached, sent there as text: standard library only, one verb per call.

python -c TEXT look                    what this machine is, as JSON
python -c TEXT reach URL [CA_FILE]     whether the server answers from here
python -c TEXT has NAME                whether that bundle was unpacked before
python -c TEXT unpack NAME             a bundle, from stdin
python -c TEXT install NAME PACKAGE…   with pip, beside the bundle
python -c TEXT write PATH              a private file, from stdin
python -c TEXT start NAME STATE ARG…   the agent, detached; its pid
python -c TEXT log STATE               the end of its log
"""

import json
import os
import platform
import shlex
import ssl
import subprocess
import sys
import tarfile
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path

HOME = Path.home() / ".millpond"
LOG_BYTES = 4000
STARTED_SECONDS = 1.0


def look() -> None:
    libc = " ".join(platform.libc_ver()).strip()
    found = {"system": platform.system(), "machine": platform.machine(), "libc": libc, "home": str(HOME)}
    tell(json.dumps({**found, "node": platform.node(), "python": list(sys.version_info[:2])}))


def reach(url: str, ca_file: str = "") -> None:
    context = ssl.create_default_context()
    if ca_file:
        context.load_verify_locations(ca_file)
    try:
        opener = urllib.request.build_opener(
            urllib.request.ProxyHandler(_proxies()), urllib.request.HTTPSHandler(context=context)
        )
        with opener.open(url, timeout=10):
            tell("ok")
    except (OSError, ValueError) as error:
        tell(str(getattr(error, "reason", error)))


def _proxies() -> dict[str, str]:
    """urllib ignores all_proxy, which the agent does not (`millpond.proxy`)."""
    found = urllib.request.getproxies_environment()
    if "all" in found:
        found = {"http": found["all"], "https": found["all"], **found}
    return found


def has(name: str) -> None:
    tell("yes" if (HOME / name / "complete").exists() else "no")


def unpack(name: str) -> None:
    directory = HOME / name
    directory.mkdir(parents=True, exist_ok=True, mode=0o700)
    with tarfile.open(fileobj=sys.stdin.buffer, mode="r|gz") as tar:
        tar.extractall(directory)
    (directory / "complete").touch()


def install(name: str, *packages: str) -> None:
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--target", str(HOME / name), *packages]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    tell("ok" if done.returncode == 0 else (done.stderr or done.stdout)[-LOG_BYTES:])


def write(path: str) -> None:
    target = HOME / path
    target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    target.unlink(missing_ok=True)
    descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with open(descriptor, "wb") as file:
        file.write(sys.stdin.buffer.read())
    tell(str(target))


def start(name: str, state: str, *arguments: str) -> None:
    """In a session of its own: the end of this connection does not reach it. `STATE/start` starts it again."""
    directory = HOME / state
    directory.mkdir(parents=True, exist_ok=True, mode=0o700)
    command = [sys.executable, "-m", "millpond", "agent", "--state-dir", str(directory), *arguments]
    script = directory / "start"
    script.write_text(
        f"#!/bin/sh\ncd / && PYTHONPATH={shlex.quote(str(HOME / name))} exec {shlex.join(command)}"
        f" </dev/null >>{shlex.quote(str(directory / 'agent.log'))} 2>&1\n"
    )
    script.chmod(0o700)
    nowhere = subprocess.DEVNULL
    process = subprocess.Popen([str(script)], stdin=nowhere, stdout=nowhere, stderr=nowhere, start_new_session=True)
    time.sleep(STARTED_SECONDS)
    tell(str(process.pid) if process.poll() is None else "ended")


def log(state: str) -> None:
    text = (HOME / state / "agent.log").read_text("utf-8", "replace")
    tell(text[-LOG_BYTES:])


def tell(text: str) -> None:
    sys.stdout.write(text + "\n")


if __name__ == "__main__":
    VERBS: dict[str, Callable[..., None]] = {
        "look": look, "reach": reach, "has": has, "unpack": unpack, "install": install, "write": write,
        "start": start, "log": log,
    }  # fmt: skip
    VERBS[sys.argv[1]](*sys.argv[2:])
