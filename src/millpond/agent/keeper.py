"""The keeper: the parent of one job's command. Writes its log and exit status to disk, outlives agent and server.

One file of standard-library Python that needs nothing of Millpond, started as `python -I -S keeper.py DIRECTORY`.
The files of DIRECTORY and their meaning are in docs/design/003-agent-protocol.md; it is the working directory, so names
here are plain.
"""

# Importing pathlib would cost every job a megabyte.
# ruff: noqa: PTH100, PTH105, PTH108, PTH110, PTH115, PTH120

from __future__ import annotations

import _thread
import ctypes
import errno
import importlib
import json
import os
import signal
import sys
import time

# Type checkers take this for typing.TYPE_CHECKING; importing typing would cost another.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

# How often `stop` and `renewal` are looked at. The end of the command is noticed at once.
LOOK_SECONDS = 0.25
# How often a keeper looks whether all ranks of its job have come.
GATHER_SECONDS = 0.1
FIRST_SAMPLE_SECONDS = 0.5
SAMPLE_SECONDS = 2.0
# How often a keeper on another machine than the agent's tells what its clock shows.
CLOCK_SECONDS = 10.0
# How long what the command left running in the background may take to end by itself.
LEFTOVER_SECONDS = 5.0
# How long an engine may take to tell of a container that has ended.
CLIENT_SECONDS = 10.0
# Between tries to write to a disk that is full.
FULL_SECONDS = 1.0
# How long the last of what the command wrote may take into the log.
DRAIN_SECONDS = 5.0
# How much of it is taken at once: as much as a pipe holds.
PIECE = 1 << 16

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
FALLOC_KEEP_SIZE = 1
FALLOC_PUNCH_HOLE = 2

_TICKS = os.sysconf("SC_CLK_TCK")
_PAGE = os.sysconf("SC_PAGE_SIZE")
_SIGNALS = {signal.SIGCHLD, signal.SIGTERM}


# --- processes: known by pid, start time and boot id


class Process:
    """One line of /proc/PID/stat: state, parent, session, start time and CPU seconds (with those of children it waited
    for)."""

    __slots__ = ("children_cpu", "own_cpu", "parent", "pid", "session", "start", "state")

    def __init__(
        self, pid: int, state: str, parent: int, session: int, start: int, own_cpu: float, children_cpu: float
    ) -> None:
        self.pid, self.state, self.parent, self.session, self.start = pid, state, parent, session, start
        self.own_cpu, self.children_cpu = own_cpu, children_cpu

    @property
    def is_alive(self) -> bool:
        """A zombie has ended; only its exit status is waiting to be read."""
        return self.state not in ("Z", "X", "x")


def read_process(pid: int) -> Process | None:
    """The process `pid`, or None when there is none."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            text = file.read()
    except (FileNotFoundError, ProcessLookupError):
        return None
    # The second field is the name in brackets and may itself hold spaces and brackets.
    fields = text[text.rindex(b")") + 2 :].split()
    return Process(
        pid=pid,
        state=fields[0].decode(),
        parent=int(fields[1]),
        session=int(fields[3]),
        start=int(fields[19]),
        own_cpu=(int(fields[11]) + int(fields[12])) / _TICKS,
        children_cpu=(int(fields[13]) + int(fields[14])) / _TICKS,
    )


def boot_id() -> str:
    with open("/proc/sys/kernel/random/boot_id") as file:
        return file.read().strip()


def time_of_day(spec: dict[str, Any]) -> float:
    """By the server's clock as it stood when the placement was prepared here, counted on by the boot-time clock: so no
    clock that is wrong, or is set while the command runs, moves its beginning, its end and its samples. On another
    machine than the agent's, by its own clock."""
    epoch, boot = spec.get("epoch") or (0.0, None)
    return epoch + boot_time() if boot == boot_id() else time.time()


def identity(pid: int) -> dict[str, Any]:
    """What tells this process from any other, before and after: pid, start time, boot id."""
    process = read_process(pid)
    return {"pid": pid, "start": process.start if process else 0, "boot": boot_id()}


def is_running(identity: dict[str, Any]) -> bool:
    """Whether exactly this process still runs."""
    process = read_process(identity["pid"])
    return (
        identity["boot"] == boot_id()
        and process is not None
        and process.start == identity["start"]
        and process.is_alive
    )


def all_processes() -> list[Process]:
    found = (read_process(int(name)) for name in os.listdir("/proc") if name.isdigit())
    return [process for process in found if process is not None]


def descendants(root: int) -> list[Process]:
    """Every process below `root`, by a walk over all of /proc: complete, whoever started them."""
    children: dict[int, list[Process]] = {}
    for process in all_processes():
        children.setdefault(process.parent, []).append(process)
    found: list[Process] = []
    waiting = [root]
    while waiting:
        for process in children.get(waiting.pop(), ()):
            found.append(process)
            waiting.append(process.pid)
    return found


def marked(placement: str) -> list[Process]:
    """Every process whose environment says it belongs to `placement`: what is left when its keeper was killed."""
    return with_variable("MILL_PLACEMENT", placement)


def with_variable(name: str, value: str) -> list[Process]:
    """Every process that was started with this in its environment."""
    marker = f"{name}={value}".encode()
    found = []
    for process in all_processes():
        try:
            with open(f"/proc/{process.pid}/environ", "rb") as file:
                if marker in file.read().split(b"\0") and process.is_alive:
                    found.append(process)
        except OSError:
            continue  # ended meanwhile, or somebody else's
    return found


def send_signal(processes: Iterable[Process], number: int) -> None:
    for process in processes:
        try:
            os.kill(process.pid, number)
        except ProcessLookupError:
            continue


# --- files


def write_whole(name: str, text: str, durable: bool = False) -> None:
    """Readers see the old content or the new; `durable`: it survives a power cut once this returns."""
    temporary = f"{name}.{os.getpid()}.new"
    with open(temporary, "w") as file:
        file.write(text)
        if durable:
            file.flush()
            os.fsync(file.fileno())
    os.replace(temporary, name)
    if durable:
        directory = os.open(".", os.O_RDONLY | os.O_DIRECTORY)
        os.fsync(directory)
        os.close(directory)


def read_text(name: str) -> str | None:
    try:
        with open(name) as file:
            return file.read()
    except FileNotFoundError:
        return None


def read_json(name: str) -> Any:
    text = read_text(name)
    return None if text is None else json.loads(text)


def claim(name: str, place: dict[str, Any] | None = None) -> bool:
    """Take the placement for this process; False when it has an owner. The file appears whole or not at all.

    `place` is told with it: where a rank of a distributed job is.
    """
    temporary = f"{name}.{os.getpid()}.new"
    with open(temporary, "w") as file:
        json.dump({**identity(os.getpid()), **(place or {})}, file)
    try:
        os.link(temporary, name)
    except FileExistsError:
        return False
    finally:
        os.unlink(temporary)
    return True


# --- the clock


def boot_time() -> float:
    """Seconds since the machine started, sleep included; nobody can set this clock."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


class Validity:
    """How long the command may still run: `seconds` from the moment that `renewal` names.

    The agent writes the boot time at which it sent the request that the server answered. Counting from there, and
    not from when the file was seen, an agent that slept between the answer and the writing adds nothing.

    On another machine than the agent's that clock is another one. There the keeper tells its own in `clock`, and the
    agent answers by it; what the message took on its way only makes validity end earlier.
    """

    def __init__(self, path: str, seconds: float) -> None:
        self.path, self.seconds, self.boot = path, seconds, boot_id()
        self.since = boot_time()
        self.tell_at = boot_time() if os.path.exists("clock") else None

    def is_over(self) -> bool:
        self.hear()
        return boot_time() > self.since + self.seconds

    def hear(self) -> bool:
        """Take the last renewal; False while there is none by the clock of this machine."""
        moment, _, boot = (read_text(self.path) or "").partition(" ")
        known = boot in ("", self.boot)
        if known and moment:
            self.since = min(float(moment), boot_time())
        if not known and self.tell_at is None:
            self.tell_at = boot_time()
        if self.tell_at is not None and boot_time() >= self.tell_at:
            self.tell_at = boot_time() + CLOCK_SECONDS
            write_whole("clock", f"{boot_time()!r} {self.boot}")
        return known


def may_start(spec: dict[str, Any], gang: Gang) -> bool:
    """Wait until it is known how long the command may run, and all ranks have come; False when it must not begin."""
    validity = Validity("renewal", spec["valid_seconds"])
    while not gang.must_stop() and not validity.is_over():
        begins = gang.may_begin() if validity.hear() else None
        if begins is not None:
            return begins
        if signal.sigtimedwait({signal.SIGTERM}, GATHER_SECONDS) is not None:
            return False
    return False


# --- usage


class Usage:
    """Samples CPU, memory and block I/O of everything below the keeper, and the network it sees; a line each."""

    def __init__(self, path: str, command: int, spec: dict[str, Any]) -> None:
        self.path, self.command, self.spec = path, command, spec
        self.network_shared = not spec.get("image")
        self.network_before = _network(command)
        self.due = time.monotonic() + FIRST_SAMPLE_SECONDS
        self.before = time.monotonic()
        self.cpu = 0.0
        self.read = self.written = 0
        self.own_read, self.own_written = _io(os.getpid())

    def sample_when_due(self) -> None:
        now = time.monotonic()
        if now < self.due:
            return
        self.due = now + SAMPLE_SECONDS
        line = json.dumps(self.sample(now)) + "\n"
        try:
            with open(self.path, "a") as file:
                file.write(line)
        except OSError:
            return  # the disk is full: the command goes on without a sample

    def sample(self, now: float) -> dict[str, Any]:
        keeper = read_process(os.getpid())
        # Whoever has ended is counted with the parent that waited for it, so sums only grow (but for a process that
        # let its children go unwaited: then the greatest sum seen stands).
        cpu, memory = keeper.children_cpu if keeper else 0.0, 0
        read, written = _io(os.getpid())
        read, written = read - self.own_read, written - self.own_written
        for process in _tree(os.getpid()):
            cpu += process.own_cpu + process.children_cpu
            memory += _resident(process.pid)
            more_read, more_written = _io(process.pid)
            read, written = read + more_read, written + more_written
        percent = 100 * max(0, cpu - self.cpu) / max(now - self.before, 0.001)
        self.cpu, self.before = max(cpu, self.cpu), now
        self.read, self.written = max(read, self.read), max(written, self.written)
        received, sent = _network(self.command)
        return {
            "at": time_of_day(self.spec),
            "cpu_percent": round(percent, 1),
            "memory_bytes": memory,
            "read_bytes": self.read,
            "write_bytes": self.written,
            "received_bytes": max(0, received - self.network_before[0]),
            "sent_bytes": max(0, sent - self.network_before[1]),
            "network_shared": self.network_shared,
        }


def _tree(root: int) -> list[Process]:
    """Living processes below `root` by the kernel's lists of children: cheap, and good enough for a sample."""
    found: list[Process] = []
    waiting = [root]
    while waiting:
        pid = waiting.pop()
        try:
            for thread in os.listdir(f"/proc/{pid}/task"):
                with open(f"/proc/{pid}/task/{thread}/children") as file:
                    waiting.extend(int(child) for child in file.read().split())
        except (FileNotFoundError, ProcessLookupError):
            continue
        process = read_process(pid) if pid != root else None
        if process is not None and process.is_alive:
            found.append(process)
    return found


def _resident(pid: int) -> int:
    try:
        with open(f"/proc/{pid}/statm") as file:
            return int(file.read().split()[1]) * _PAGE
    except (FileNotFoundError, ProcessLookupError):
        return 0


def _network(pid: int) -> tuple[int, int]:
    """Bytes received and sent by all interfaces but the loopback of the network that `pid` sees."""
    try:
        with open(f"/proc/{pid}/net/dev") as file:
            lines = file.readlines()[2:]
    except OSError:
        return 0, 0
    fields = [line.partition(":")[2].split() for line in lines if not line.lstrip().startswith("lo:")]
    return sum(int(one[0]) for one in fields), sum(int(one[8]) for one in fields)


def _io(pid: int) -> tuple[int, int]:
    try:
        with open(f"/proc/{pid}/io") as file:
            fields = dict(line.split(": ") for line in file)
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return 0, 0
    return int(fields["read_bytes"]), int(fields["write_bytes"])


# --- the log


class Output:
    """What the command writes, on its way into the log. A pipe and not the file itself: a script that says
    `> /dev/stderr` opens anew whatever stands there, and a file would begin from nothing."""

    def __init__(self, log: int) -> None:
        self.log, self.is_full = log, False
        self.reader, self.writer = os.pipe()
        self.under_way = _thread.allocate_lock()

    def begin(self) -> None:
        """Only now, with the command's process there: one that has threads does not fork well."""
        os.close(self.writer)
        self.under_way.acquire()
        _thread.start_new_thread(self.copy, ())

    def copy(self) -> None:
        try:
            while data := os.read(self.reader, PIECE):
                self.write(data)
        finally:
            self.under_way.release()

    def write(self, data: bytes) -> None:
        """On a disk that is full, the command waits as this does: nothing is lost."""
        while data:
            try:
                data = data[os.write(self.log, data) :]
                self.is_full = False
            except OSError:
                self.is_full = True
                time.sleep(FULL_SECONDS)

    def finish(self) -> None:
        """Nothing of the command is left, so this comes to an end, unless it gave its output away to others."""
        while not self.under_way.acquire(timeout=DRAIN_SECONDS) and self.is_full:
            pass


class LogLimit:
    """Keeps a log from filling the disk: of one that is longer than `most` bytes, what lies between its beginning and
    its end is let go. The file keeps its length, so offsets stay; `log.gap` says between which there is nothing."""

    def __init__(self, log: int, most: int) -> None:
        self.log, self.head = log, most // 2
        self.tail = most - self.head
        self.gap_end = self.head
        self.told = -1
        if most:
            # Made now and written in place later: a full disk has no room for a new file.
            self.told = os.open("log.gap", os.O_WRONLY | os.O_CREAT, 0o600)
            self.tell(0, 0)

    def tell(self, begin: int, end: int) -> None:
        os.pwrite(self.told, f"{begin:019d} {end:019d}\n".encode(), 0)

    def let_go(self) -> None:
        """A few per cent at a time. The reader is told first: it never takes a hole for something the command wrote."""
        if self.told < 0:
            return
        end = (os.fstat(self.log).st_size - self.tail) // _PAGE * _PAGE
        if end < self.gap_end + max(_PAGE, self.tail // 32):
            return
        begin = -(-self.head // _PAGE) * _PAGE
        self.tell(self.head, end)
        self.gap_end = end
        if end > begin and punch(self.log, begin, end - begin) != 0:
            sys.stderr.write("the middle of a long log cannot be let go: the file system makes no holes\n")
            self.told = -1


def punch(descriptor: int, begin: int, length: int) -> int:
    call = ctypes.CDLL(None, use_errno=True).fallocate
    call.argtypes = [ctypes.c_int, ctypes.c_int, ctypes.c_longlong, ctypes.c_longlong]
    return int(call(descriptor, FALLOC_KEEP_SIZE | FALLOC_PUNCH_HOLE, begin, length))


# --- the command


def oom_kills() -> int:
    """How often the kernel has killed something in the memory group that an engine made for this job; 0 without one.

    Slurm itself says so of batch scripts alone, and only of those that do not survive it. Kubernetes may hear of it
    only when the container has ended, and then says nothing.
    """
    with open("/proc/self/cgroup") as file:
        groups = dict(line.strip().split(":", 2)[1:] for line in file)
    old, new = groups.get("memory"), groups.get("")
    if "KUBERNETES_SERVICE_HOST" in os.environ:
        old = new = ""  # a container finds its own group where others find the first of all
    elif "SLURM_JOB_ID" not in os.environ:
        return 0
    for counts in (f"/sys/fs/cgroup/memory{old}/memory.oom_control", f"/sys/fs/cgroup{new}/memory.events"):
        try:
            with open(counts) as file:
                return int(dict(line.split() for line in file).get("oom_kill", 0))
        except OSError:
            continue
    return 0


class Confinement:
    """What `confinement.json` asks for, done by the file beside this one; nothing where there is none."""

    def __init__(self) -> None:
        self.how = read_json("confinement.json")
        self.oom_kills = oom_kills()
        self.env: dict[str, str] = {}
        if self.how is not None:
            # Loaded here, before the command's process loses sight of it.
            sys.path.append(os.path.dirname(os.path.abspath(__file__)))
            self.confine = importlib.import_module("confine")
            self.env = self.how["env"]

    def enter(self) -> None:
        if self.how is not None:
            self.confine.confine(self.how)

    def why_ended(self, code: int) -> dict[str, Any]:
        """What there is to say of a command that ended by itself with this code, or by the signal -code."""
        if self.how is not None and code != 0 and self.confine.ran_out_of_memory(self.how["cgroups"]):
            return {"reason": "out_of_memory", "problem": self.how["memory_problem"]}
        if code == -signal.SIGKILL and oom_kills() > self.oom_kills:
            return {"reason": "out_of_memory", "problem": "It used more memory than it was given, and was killed."}
        return {}


class Gang:
    """What is to do for a rank of a distributed job, done by the file beside this one; nothing for a plain one."""

    def __init__(self, spec: dict[str, Any]) -> None:
        self.told, self.placement = spec.get("gang"), spec["placement"]
        self.place: dict[str, Any] | None = None
        if self.told is not None:
            sys.path.append(os.path.dirname(os.path.abspath(__file__)))
            self.gang = importlib.import_module("gang")
            self.place = self.gang.place(self.told, spec["placement"])

    def may_begin(self) -> bool | None:
        return True if self.told is None else self.gang.may_begin(self.told["size"])

    def environment(self) -> dict[str, str]:
        """Only once all have come."""
        if self.told is None:
            return {}
        places = self.gang.all_places(self.told["size"])
        said: dict[str, str] = self.gang.environment(self.told["rank"], places, self.placement)
        return said

    def must_stop(self) -> bool:
        return self.gang.must_stop() if self.told is not None else os.path.exists("stop")

    def another_failed(self) -> bool:
        return self.told is not None and self.gang.another_failed()

    def tell(self, failed: bool) -> None:
        if self.told is not None and failed:
            self.gang.tell_failed(self.told["rank"])


def prctl(option: int, value: int | bytes) -> None:
    ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0)


def start(spec: dict[str, Any], out: Output, confinement: Confinement, gang: Gang) -> tuple[int, dict[str, Any] | None]:
    """Start the command in a session of its own; its pid, and why it failed when it could not be started."""
    environment = {**environment_of(spec), **gang.environment()}
    reader, writer = os.pipe()  # closed by a successful exec, written to by a failed one
    pid = os.fork()
    if pid == 0:
        try:
            os.close(reader)
            os.setsid()
            signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)
            # Ignored by the keeper, by Python itself, or by whoever started the agent (nohup, a shell's `&`).
            for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
                if signal.getsignal(number) is signal.SIG_IGN:
                    signal.signal(number, signal.SIG_DFL)
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            os.dup2(out.writer, 1)
            os.dup2(out.writer, 2)
            confinement.enter()
            prctl(PR_SET_PDEATHSIG, signal.SIGKILL)  # it is lost where the account changes
            os.chdir(spec["directory"])
            os.execvpe(spec["command"][0], spec["command"], {**environment, **confinement.env})
        except BaseException as error:  # noqa: BLE001 - whatever it is, this copy of the keeper must end here
            os.write(writer, json.dumps(_why_not(error, spec)).encode())
        os._exit(127)
    os.close(writer)
    out.begin()
    with os.fdopen(reader, "rb") as pipe:
        failure = pipe.read()
    if failure:
        os.waitpid(pid, 0)
        return pid, json.loads(failure)
    return pid, None


def environment_of(spec: dict[str, Any]) -> dict[str, str]:
    """What the command sees. A container brings an environment of its own, PATH first of all; a site's init lines have
    left theirs in a file, as `env -0` prints it."""
    env: dict[str, str] = spec["env"]
    if spec.get("image"):
        return {**os.environ, **env}
    printed = read_text("environment")
    if printed is None:
        return env
    return {**env, **dict(pair.split("=", 1) for pair in printed.split("\0") if "=" in pair)}


def _why_not(error: BaseException, spec: dict[str, Any]) -> dict[str, Any]:
    command = spec["command"][0]
    if isinstance(error, OSError) and error.filename == spec["directory"]:
        return {"exit_code": 126, "problem": f"The working directory cannot be entered: {error.strerror}."}
    if isinstance(error, FileNotFoundError):
        return {"exit_code": 127, "problem": f"The command {command!r} was not found."}
    if isinstance(error, PermissionError):
        return {"exit_code": 126, "problem": f"The command {command!r} may not be executed."}
    return {"exit_code": 126, "problem": f"The command {command!r} could not be started: {error}."}


def reap(command: int, status: int | None = None) -> tuple[int | None, bool]:
    """Wait for whoever has ended, without blocking; the wait status of `command` once known, and whether anybody is
    left: being the subreaper, a keeper without children has no descendants either."""
    while True:
        try:
            pid, ended = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return status, False
        if pid == 0:
            return status, True
        if pid == command:
            status = ended


def watch(command: int, spec: dict[str, Any], log: int, gang: Gang) -> tuple[int | None, str | None]:
    """Wait until the command has ended (its wait status) or must end (the reason)."""
    validity = Validity("renewal", spec["valid_seconds"])
    limit = boot_time() + spec["timeout_seconds"] if spec.get("timeout_seconds") else None
    usage = Usage("usage.jsonl", command, spec)
    log_limit = LogLimit(log, spec.get("log_bytes", 0))
    while True:
        status, _ = reap(command)
        if status is not None:
            return status, None
        if gang.must_stop():
            return None, "stopped"
        if validity.is_over():
            return None, "expired"
        if limit is not None and boot_time() > limit:
            return None, "timeout"
        if gang.another_failed():
            return None, "another_rank"
        usage.sample_when_due()
        log_limit.let_go()
        caught = signal.sigtimedwait(_SIGNALS, LOOK_SECONDS)
        if caught is not None and caught.si_signo == signal.SIGTERM:
            return None, "terminated"


def end_tree(command: int, status: int | None, grace: float, client: bool = False) -> int:
    """SIGTERM to everything below the keeper, `grace` seconds, then SIGKILL until nothing is left alive.

    A command that is the `client` of an engine hands SIGTERM on to what it had started; the engine's own processes,
    which come to be below the keeper too, must not hear of it, and have time to tell how it ended. A process that
    forks while it is looked for is found in the next round: being the subreaper, the keeper inherits whatever loses
    its parent.

    Returns the command's wait status.
    """
    deadline = time.monotonic() + grace
    told: set[tuple[int, int]] = set()
    while True:
        status, any_left = reap(command, status)
        living = [process for process in descendants(os.getpid()) if process.is_alive] if any_left else []
        if not living and status is not None:
            return status
        if time.monotonic() < deadline:
            hearing = [process for process in living if not client or process.pid == command]
            fresh = [process for process in hearing if (process.pid, process.start) not in told]
            send_signal(fresh, signal.SIGTERM)
            send_signal(fresh, signal.SIGCONT)  # a stopped process must run to hear
            told.update((process.pid, process.start) for process in fresh)
        elif client and time.monotonic() < deadline + CLIENT_SECONDS:
            send_signal([process for process in living if is_inside(process.pid)], signal.SIGKILL)
        else:
            send_signal(living, signal.SIGKILL)
        signal.sigtimedwait({signal.SIGCHLD}, 0.05)


def is_inside(pid: int) -> bool:
    """Whether the process is in a container below the keeper."""
    try:
        return os.readlink(f"/proc/{pid}/ns/pid") != os.readlink("/proc/self/ns/pid")
    except OSError:
        return False


def keep(directory: str) -> None:
    """Run the placement in `directory` from claim to exit.json; leave at once when it has a keeper already."""
    os.chdir(directory)
    signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # A driver may have the command run by an engine's client: `launch.json` says how.
    spec = {**read_json("spec.json"), **(read_json("launch.json") or {})}
    gang = Gang(spec)
    if not claim("claim", gang.place):
        return
    prctl(PR_SET_CHILD_SUBREAPER, 1)
    log = os.open("log", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    record = run(spec, log, gang)
    write_end(log, json.dumps(record))


def write_end(log: int, record: str) -> None:
    """How the command ended must not be lost: on a disk that is full, this waits until there is room."""
    while True:
        try:
            os.fsync(log)
            write_whole("exit.json", record, durable=True)
            return
        except OSError as error:
            if error.errno not in (errno.ENOSPC, errno.EDQUOT):
                raise
            time.sleep(FULL_SECONDS)


def run(spec: dict[str, Any], log: int, gang: Gang) -> dict[str, Any]:
    """Start, watch and end the command; what `exit.json` says of it: at most one of exit code and signal, why the
    keeper ended it (if it did), and a sentence for people when it could not be started."""
    record: dict[str, Any] = {"exit_code": None, "signal": None, "reason": None, "problem": None, "started_at": None}
    if not may_start(spec, gang):
        return {**record, "reason": "not_started", "exited_at": time_of_day(spec)}
    started_at = time_of_day(spec)
    confinement = Confinement()
    out = Output(log)
    command, failure = start(spec, out, confinement, gang)
    if failure:
        gang.tell(failed=True)
        out.finish()
        os.write(log, f"{failure['problem']}\n".encode())
        return {**record, **failure, "reason": "not_started", "exited_at": time_of_day(spec)}
    running = {"keeper": identity(os.getpid()), "command": identity(command), "started_at": started_at}
    write_whole("keeper.json", json.dumps(running))
    status, reason = watch(command, spec, log, gang)
    exited_at = time_of_day(spec)
    gang.tell(failed=reason == "terminated" or status not in (None, 0))
    grace = spec["grace_seconds"]
    patience = grace if reason else min(grace, LEFTOVER_SECONDS)
    status = end_tree(command, status, patience, client=spec.get("client", False))
    out.finish()
    code = os.waitstatus_to_exitcode(status)
    ended: dict[str, Any] = {"exit_code": code} if code >= 0 else {"signal": -code}
    ended |= {"reason": reason} if reason else confinement.why_ended(code)
    return {**record, **ended, "started_at": started_at,
            "exited_at": time_of_day(spec) if reason else exited_at}  # fmt: skip


if __name__ == "__main__":
    keep(sys.argv[1])
