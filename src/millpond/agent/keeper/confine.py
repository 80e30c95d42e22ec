"""Confining a job's command, in the process that becomes it: its limits, the files it sees, the account it runs under.

Done for placements that have a `confinement.json` (docs/design/010-isolation.md). As a program,
`python -I -S confine.py UID` says what this machine allows.
"""

# ruff: noqa: PTH103, PTH108, PTH110, PTH120

from __future__ import annotations

import ctypes
import json
import os
import resource
import stat
import sys

# Type checkers take this for typing.TYPE_CHECKING.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

CLONE_NEWNS = 0x00020000
MS_RDONLY, MS_NOSUID, MS_NODEV, MS_REMOUNT, MS_BIND, MS_REC, MS_PRIVATE = 1, 2, 4, 32, 4096, 16384, 1 << 18
PR_SET_NO_NEW_PRIVS = 38

# Looked up once, in a nursery for all of its keepers.
_libc = ctypes.CDLL(None, use_errno=True)
_mount, _unshare, _prctl = _libc.mount, _libc.unshare, _libc.prctl


def confine(how: dict[str, Any]) -> None:
    """Never comes back half done: whatever fails raises OSError, and the command is not started."""
    for directory in (*how["cgroups"], *how.get("joins", ())):
        with open(f"{directory}/cgroup.procs", "w") as file:
            file.write("0")
    if how["data_bytes"]:
        resource.setrlimit(resource.RLIMIT_DATA, (how["data_bytes"], how["data_bytes"]))
    os.umask(0o022)
    if how["view"] is not None:
        enter_view(how["view"]["hide"], how["view"]["show"], how.get("names", {}))
    if how["uid"] is not None:
        give_output(how["uid"], how["gid"])
        become(how["uid"], how["gid"], how["groups"])


def enter_view(hide: list[str], show: list[dict[str, Any]], names: dict[str, str]) -> None:
    """See the machine's files but for what is below `hide`; of that only `show`, each at its target.

    `names` are lines for /etc/passwd and /etc/group. What is shown is opened before anything is hidden. Nobody without
    privileges can take these mounts away again, not even in namespaces of his own: those inherit them locked.
    """
    _check(_unshare(CLONE_NEWNS), "unshare")
    mount(None, "/", None, MS_REC | MS_PRIVATE)
    held = [(os.open(one["source"], os.O_PATH), one["target"], one["writable"]) for one in show]
    for path in hide:
        mount("tmpfs", path, "tmpfs", MS_NOSUID | MS_NODEV, "mode=755,size=1m")
    for descriptor, target, is_writable in held:
        _make_place(descriptor, target)
        mount(f"/proc/self/fd/{descriptor}", target, None, MS_BIND)
        only_read = 0 if is_writable else MS_RDONLY
        mount(None, target, None, MS_REMOUNT | MS_BIND | MS_NOSUID | MS_NODEV | only_read)
        os.close(descriptor)
    for file, line in names.items():
        try:
            add_name(hide[0], file, line)
        except OSError:
            continue  # the job runs without a name
    for path in hide:
        mount(None, path, None, MS_REMOUNT | MS_BIND | MS_NOSUID | MS_NODEV | MS_RDONLY)
    hide_processes()


def add_name(room: str, file: str, line: str) -> None:
    """Show /etc/passwd or /etc/group with one more line: ssh and others refuse to run for a user without a name.

    The new file is made in `room`, which only this view has. A number that has a name there already keeps it.
    """
    with open(f"/etc/{file}", "rb") as original:
        known = original.read()
    if any(entry.split(b":")[2:3] == [line.split(":")[2].encode()] for entry in known.splitlines()):
        return
    made = f"{room}/.{file}"
    with open(made, "wb") as copy:
        copy.write(known + (b"" if known.endswith(b"\n") else b"\n") + line.encode() + b"\n")
    mount(made, f"/etc/{file}", None, MS_BIND)
    mount(None, f"/etc/{file}", None, MS_REMOUNT | MS_BIND | MS_NOSUID | MS_NODEV | MS_RDONLY)
    os.unlink(made)


def hide_processes() -> None:
    """Show of /proc only what runs under the same account; where that is refused, only its details stay closed."""
    _mount(b"proc", b"/proc", b"proc", MS_NOSUID | MS_NODEV, b"hidepid=2")


def give_output(uid: int, gid: int) -> None:
    """So that the command can open /dev/stdout and /dev/stderr by their names."""
    for descriptor in (1, 2):
        os.fchown(descriptor, uid, gid)


def become(uid: int, gid: int, groups: list[int]) -> None:
    """Run under this account from here on, without a way back: set-user-id programs change nothing any more."""
    os.setgroups(groups)
    os.setresgid(gid, gid, gid)
    os.setresuid(uid, uid, uid)
    _check(_prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "prctl")


def mount(source: str | None, target: str, kind: str | None, flags: int, data: str | None = None) -> None:
    encoded = [None if text is None else os.fsencode(text) for text in (source, target, kind, data)]
    _check(_mount(encoded[0], encoded[1], encoded[2], ctypes.c_ulong(flags), encoded[3]), f"mount {target}")


def _make_place(descriptor: int, target: str) -> None:
    """Something to mount on, of the same kind; it is there unless what is above was hidden."""
    if os.path.exists(target):
        return
    if stat.S_ISDIR(os.fstat(descriptor).st_mode):
        os.makedirs(target, 0o755, exist_ok=True)
    else:
        os.makedirs(os.path.dirname(target), 0o755, exist_ok=True)
        os.close(os.open(target, os.O_CREAT | os.O_WRONLY, 0o644))


def _check(answer: int, what: str) -> None:
    if answer != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")


def ran_out_of_memory(cgroups: list[str]) -> bool:
    """Whether the kernel has ended something in these groups because of their limit."""
    for directory in cgroups:
        for name in ("memory.events", "memory.oom_control"):
            if os.path.exists(f"{directory}/{name}"):
                with open(f"{directory}/{name}") as file:
                    counts = dict(line.split() for line in file)
                return int(counts.get("oom_kill", 0)) > 0
    return False


# --- what this machine allows


def allows(tried: Callable[[], None]) -> str | None:
    """None if a process of its own can do this, otherwise why not."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            tried()
        except BaseException as error:  # noqa: BLE001 - whatever it is, this copy must end here
            os.write(writer, str(error).encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        why = pipe.read().decode()
    os.waitpid(pid, 0)
    return why or None


def main(uid: int) -> None:
    """Tell, as JSON, why not: run something under another account, and give it a view of its own."""
    answer = {
        "account": allows(lambda: become(uid, uid, [])),
        "view": allows(lambda: enter_view(["/tmp"], [{"source": "/usr", "target": "/tmp/usr", "writable": False}], {})),
    }
    sys.stdout.write(json.dumps(answer))


if __name__ == "__main__":
    main(int(sys.argv[1]))
