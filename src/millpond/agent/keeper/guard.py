"""The guard: the parent of a keeper, which ends the job when its keeper cannot.

A keeper reads and writes files, so it hangs when their file system does, and it can be killed. The guard touches no
file but those of /proc, holds all it needs in memory and knows by what moment the job must be over. It is a subreaper
as the keeper is: whatever the job starts stays below it, also when the keeper is gone. Either ends the job without the
other; only when both are killed at once does something of it live on.
"""

from __future__ import annotations

import os
import signal

from .clock import boot_time
from .kernel import PR_SET_CHILD_SUBREAPER, PR_SET_NAME, PR_SET_PDEATHSIG, lock_code, prctl
from .processes import descendants, send_signal

# Type checkers take this for typing.TYPE_CHECKING.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from .processes import Process

# What a keeper gets when its guard is gone, and when its guard has begun to end the job.
GUARD_GONE, GUARD_ENDS = signal.SIGUSR1, signal.SIGUSR2
# What both of them wait for; blocked, with one that a keeper only looks for.
AWAITED = {signal.SIGCHLD, signal.SIGTERM, GUARD_GONE}
SIGNALS = {*AWAITED, GUARD_ENDS}
# How long a keeper may take to end what must end before its guard does. The server waits longer (`decide`).
KEEPER_SECONDS = 1.0
KILL_SECONDS = 5.0
# How long the guard sleeps at most: a machine that was suspended does not count that as sleep.
NAP_SECONDS = 5.0
# Between two looks at what is still to be killed: first, and in the end.
KILL_NAP_SECONDS = 0.05
KILL_NAP_SECONDS_MOST = 1.0


class Guard:
    """What a keeper tells its guard: a line each, of a word and a number. It never waits for an answer."""

    def __init__(self, pid: int, writer: int) -> None:
        self.pid, self.writer = pid, writer
        self.limit = 0.0

    @property
    def is_gone(self) -> bool:
        return os.getppid() != self.pid

    @property
    def ends_the_job(self) -> bool:
        """Whether it has done so in place of this keeper, which hung or was too slow."""
        return GUARD_ENDS in signal.sigpending()

    def ends_at(self, moment: float) -> None:
        """By this boot time at the latest, grace follows, the job must end."""
        if moment != self.limit:
            self.limit = moment
            self._tell("limit", moment)

    def began(self, command: int) -> None:
        self._tell("command", command)

    def is_ending(self) -> None:
        """The keeper ends the job by itself."""
        self._tell("ending", 1)

    def is_over(self) -> None:
        """Nothing of the job is left, and nothing will begin: what the keeper still does may take any time."""
        self._tell("over", 1)

    def _tell(self, word: str, number: float) -> None:
        try:
            os.write(self.writer, f"{word} {number!r}\n".encode())
        except OSError:
            return  # the guard is gone; its signal is on its way


def divide(grace: float, client: bool) -> Guard:
    """Become two: returns in the keeper. The guard, which is its parent, never returns, and leaves with its status.

    The keeper is in a session of its own: a signal for the guard's process group does not end both.
    """
    prctl(PR_SET_CHILD_SUBREAPER, 1)
    reader, writer = os.pipe()
    guard = os.getpid()
    keeper = os.fork()
    if keeper:
        os.close(writer)
        prctl(PR_SET_NAME, b"mill-guard")
        watch(_Watch(keeper, reader, grace, client))
    os.close(reader)
    os.setsid()
    prctl(PR_SET_CHILD_SUBREAPER, 1)
    prctl(PR_SET_PDEATHSIG, GUARD_GONE)
    found = Guard(guard, writer)
    if found.is_gone:
        os._exit(1)  # before this one could have heard of it
    return found


class _Watch:
    """What the guard knows."""

    def __init__(self, keeper: int, reader: int, grace: float, client: bool) -> None:
        self.keeper, self.reader, self.grace, self.client = keeper, reader, grace, client
        os.set_blocking(reader, False)
        # 0.0: not told.
        self.told = {"limit": 0.0, "command": 0.0, "ending": 0.0, "over": 0.0}
        self.terminated_at = 0.0
        self.heard: set[tuple[int, int]] = set()

    def listen(self) -> None:
        try:
            while data := os.read(self.reader, 4096):
                for line in data.decode().splitlines():
                    word, _, number = line.partition(" ")
                    self.told[word] = float(number)
        except BlockingIOError:
            return

    @property
    def limit(self) -> float:
        """When the job must begin to end; 0.0 while there is nothing to guard."""
        moments = [moment for moment in (self.told["limit"], self.terminated_at) if moment]
        return min(moments) if moments and not self.told["over"] else 0.0

    def job(self) -> list[Process]:
        """All of it that is alive. A keeper that has begun nothing yet must not begin any more."""
        begun = self.told["command"]
        found = [process for process in descendants(os.getpid()) if process.is_alive]
        return [process for process in found if process.pid != self.keeper or not begun]

    def ask_to_end(self) -> None:
        """SIGTERM, once, to each process; where the command is an engine's client, to that alone."""
        only = self.told["command"]
        for process in self.job():
            known = (process.pid, process.start)
            if process.pid != self.keeper and known not in self.heard and (not self.client or process.pid == only):
                self.heard.add(known)
                send_signal([process], signal.SIGTERM)
                send_signal([process], signal.SIGCONT)


def watch(known: _Watch) -> None:
    """Wait for the keeper, and end what it has left; end the job when the keeper does not in time. Never returns."""
    nap, code_is_locked = KILL_NAP_SECONDS, False
    while True:
        status, any_left = _reap(known.keeper)
        if status is not None:
            if any_left:
                _kill_all()
            code = os.waitstatus_to_exitcode(status)
            os._exit(code if code >= 0 else 128 - code)
        known.listen()
        now, limit = boot_time(), known.limit
        wait = NAP_SECONDS
        if limit and now > limit + known.grace + KILL_SECONDS:
            os.kill(known.keeper, GUARD_ENDS)
            send_signal(known.job(), signal.SIGKILL)
            wait = nap = min(nap * 2, KILL_NAP_SECONDS_MOST)
        elif limit and now > limit + KEEPER_SECONDS:
            if not known.told["ending"]:
                os.kill(known.keeper, GUARD_ENDS)
                known.ask_to_end()
            wait = KEEPER_SECONDS
        elif limit:
            wait = min(wait, limit + KEEPER_SECONDS - now + 0.01)
        caught = signal.sigtimedwait(AWAITED, wait)
        if caught is None and not code_is_locked:
            lock_code()  # not for a command that is over sooner than this would take
            code_is_locked = True
        if caught is not None and caught.si_signo == signal.SIGTERM:
            known.terminated_at = known.terminated_at or boot_time()
            os.kill(known.keeper, signal.SIGTERM)


def _reap(keeper: int) -> tuple[int | None, bool]:
    """Take away whoever has ended: the wait status of the keeper, once it has; and whether anybody is left."""
    found = None
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return found, False
        if pid == 0:
            return found, True
        if pid == keeper:
            found = status


def _kill_all() -> None:
    """The keeper is gone. What it started has come to be below this process, and nothing gets time to start more."""
    nap = KILL_NAP_SECONDS
    while living := [process for process in descendants(os.getpid()) if process.is_alive]:
        send_signal(living, signal.SIGKILL)
        signal.sigtimedwait({signal.SIGCHLD}, nap)
        nap = min(nap * 2, KILL_NAP_SECONDS_MOST)
        _reap(0)
