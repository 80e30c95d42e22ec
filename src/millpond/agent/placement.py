"""The life of one placement on this agent, from waiting for its data to the last byte of its log.

Every step reads the placement's directory first, so the same code starts a placement and adopts one that an earlier
agent left in any state.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from millpond.agent import checkpoint, scratch
from millpond.agent.checkpoint import Checkpoints
from millpond.agent.drivers import (
    Driver,
    EngineAway,
    Exited,
    Lost,
    NotStarted,
    Pending,
    Reason,
    Running,
    ServesElsewhere,
    Status,
    records,
)
from millpond.agent.gpus import gpu_use
from millpond.agent.kept_outputs import KeptOutputs
from millpond.agent.log_archive import LogArchive
from millpond.agent.log_shipping import Shipper
from millpond.agent.outcome import SavedOutputs, SaveOutputs, read_outcome, save, spec_with_outputs
from millpond.agent.own_address import LOOPBACK
from millpond.agent.prepare import prepare
from millpond.agent.request_log import RequestLogTaker
from millpond.agent.server import Server
from millpond.agent.service_folder import SERVICE
from millpond.agent.service_watch import ServiceWatch
from millpond.agent.spec import RANKS, SPEC, answer_clock, read_spec, renew
from millpond.agent.threads import in_thread
from millpond.agent.volumes import Volumes, sentence
from millpond.errors import MillError
from millpond.retry import Backoff, may_pass
from millpond.volumes.volume import CommitPlace
from millpond.volumes.workspaces.layout import lacks_layer
from millpond.wire.desired import DesiredInput, DesiredPlacement
from millpond.wire.observed import PlacementSeen

log = logging.getLogger(__name__)

# How often it is looked at how the command stands: the less often, the longer it has gone on.
LOOK_SECONDS = 0.02
LOOK_SECONDS_MOST = 0.1
# A renewal is written at most this often.
RENEW_SECONDS = 1.0
# How long a keeper may take to claim its placement before it is started again, and how often that is tried.
CLAIM_SECONDS = 10.0
CLAIM_TRIES = 3
# After an error nobody expected.
AGAIN_SECONDS = 5.0
# Before an engine that did not answer is asked again.
ENGINE_SECONDS = 2.0

_ENDED_BY = {
    Reason.EXPIRED: "The agent had no contact to the server until the placement expired, so the job was ended.",
    Reason.TERMINATED: "The job's keeper was terminated, possibly by a shutdown of the machine.",
}


# Blocks, and may be called again.
FetchCode = Callable[[DesiredPlacement, Path], None]


@dataclass(frozen=True, slots=True)
class PlacementWorld:
    """What a placement needs from its agent."""

    driver: Driver
    server: Server
    server_url: str
    volumes: Volumes
    save_outputs: SaveOutputs
    kept_outputs: KeptOutputs
    checkpoints: Checkpoints
    archive: LogArchive
    fetch_code: FetchCode
    changed: Callable[[], None]
    # Where other machines of the site reach this one.
    address: str = LOOPBACK


class Placement:
    def __init__(self, placement_id: str, directory: Path, world: PlacementWorld) -> None:
        self.id = placement_id
        self.directory = directory
        self._world = world
        self._adopted = (directory / SPEC).exists()
        self._service = ServiceWatch(directory, self._serving_host)
        self._shipper: Shipper | None = None
        self._is_distributed = False
        self._desired: DesiredPlacement | None = None
        self._stop = False
        self._dropped = False
        self._news = asyncio.Event()
        self._renewed = 0.0
        self._epoch: float | None = None
        self._image_digest: str | None = None
        self._seen = PlacementSeen(id=placement_id, state="preparing")
        self._task = asyncio.create_task(self._live(), name=f"placement {placement_id}")

    # What the agent says and asks

    def want(self, desired: DesiredPlacement | None, moment: float, epoch: float | None = None) -> None:
        """Take the server's wish; None: it does not know the placement any more. `moment`: when it was asked; `epoch`:
        what its clock showed when the boot time here was zero."""
        self._epoch = epoch
        self._dropped = desired is None
        self._stop = self._stop or desired is None or desired.want == "stop"
        self._desired = desired or self._desired
        if desired is not None:
            self._renew(moment)
            self._service.write(desired.service)
        self._news.set()

    def nudge(self) -> None:
        """Wake it: something it may be waiting for has changed."""
        self._news.set()

    def seen(self) -> PlacementSeen:
        self._image_digest = self._image_digest or records.image_digest(self.directory)
        log_bytes = self._shipper.log_bytes if self._shipper else 0
        told = {"log_bytes": log_bytes, "image_digest": self._image_digest, "service": self._service.seen}
        return self._seen.model_copy(update=told)

    @property
    def is_over(self) -> bool:
        """Nothing of it runs and nothing is left to do; once it is not wanted either, its directory may go."""
        return self._task.done()

    def end(self) -> None:
        """Stop handling it: the agent ends, the keeper stays."""
        self._task.cancel()

    # Its life

    async def _live(self) -> None:
        """Run all steps; start over after an error, as a new agent would."""
        while True:
            try:
                await self._go_through()
                return
            except (MillError, OSError) as error:
                problem = f"Cannot run the job: {sentence(error)}"
                log.warning("placement failed: placement=%s %s", self.id, error)
            except Exception:
                problem = "Unexpected error of the agent. See the agent's log."
                log.exception("placement failed: placement=%s", self.id)
            if not (self.directory / SPEC).exists():
                self._report("finished", problem=problem)
                return
            # Its command may be running: nothing is reported as finished that is not known to have ended.
            if not await self._give_up(problem):
                await asyncio.sleep(AGAIN_SECONDS)

    async def _go_through(self) -> None:
        if not (self.directory / SPEC).exists() and not await self._prepare():
            self._report("finished")
            return
        shipper = self._shipper = self._shipper or self._new_shipper()
        status = await self._run(shipper)
        lost_checkpoint = await self._save_checkpoint(status)
        outcome = await self._save(status)
        await shipper.take_requests()
        if not self._dropped:
            await shipper.finish()
        self._report(
            "finished",
            problem=_problem(status) or outcome.problem,
            output_commit=outcome.output_commit,
            step_made=outcome.step_made,
            checkpoint_problem=lost_checkpoint,
        )

    async def _prepare(self) -> bool:
        """Wait for the data, then make the directory. False when it was stopped before."""
        backoff = Backoff()
        while not self._stop:
            desired = self._desired
            try:
                if desired is not None and desired.waits:
                    self._wait_for(desired.waits)
                elif desired is not None and await in_thread(partial(self._make, desired)):
                    return True
            except MillError as error:
                if not may_pass(error):
                    raise
                self._wait_for(f"its code or checkpoint cannot be fetched yet: {error.message}")
                await asyncio.sleep(backoff.next())
            await self._hear_news(within=5.0)
        return False

    def _paths(self, desired: DesiredPlacement) -> dict[str, Path] | None:
        """Where inputs and code lie (the code under ""); None while something is missing on a volume."""
        wanted = [*desired.inputs, *(one for one in (desired.code, desired.environment) if one and not one.fetch)]
        found = {"" if one is desired.code else one.env: self._path(one) for one in wanted}
        present = {variable: path for variable, path in found.items() if path is not None}
        return present if len(present) == len(found) else None

    def _path(self, one: DesiredInput) -> Path | None:
        volume = self._world.volumes.healthy(one.volume_id)
        if volume is None or not one.ready:
            return None
        path = volume.commit(CommitPlace(one.project_id, one.dataset_id, one.commit_id))
        return path if path.is_dir() else None

    def _make(self, desired: DesiredPlacement) -> bool:
        """Make the directory; False while some of the data is missing."""
        paths = self._paths(desired)
        if paths is None:
            return False
        if desired.service is not None and desired.service.waiting and not desired.service.refused:
            self._wait_for(desired.service.waiting)
            return False
        unmounted = [one.name for one in desired.mounts if one.source and lacks_layer(Path(one.source))]
        if unmounted:
            self._wait_for(f"workspace {unmounted[0]} is not mounted on this machine yet")
            return False
        code = paths.pop("", None)
        prepare(
            self.directory,
            desired,
            server=self._world.server_url,
            code=code,
            fetch_code=partial(self._world.fetch_code, desired) if desired.code and desired.code.fetch else None,
            inputs=paths,
            renewed=self._renewed,
            image=desired.spec.image or self._world.driver.capabilities().default_image,
            gpu_memory_bytes=self._gpu_memory_of(desired.node),
            epoch=self._epoch,
            restore=partial(self._restore, desired),
            address=None if isinstance(self._world.driver, ServesElsewhere) else self._world.address,
            scratch=self._scratch(desired),
        )
        return True

    def _scratch(self, desired: DesiredPlacement) -> Path | None:
        wanted = desired.service.scratch_volume if desired.service else ""
        volume = self._world.volumes.healthy(wanted) if wanted else None
        return scratch.make(volume, self.id) if volume else None

    def _restore(self, desired: DesiredPlacement, directory: Path) -> None:
        if desired.checkpoint is not None:
            self._world.checkpoints.restore(desired, directory)

    def _new_shipper(self) -> Shipper:
        spec = read_spec(self.directory)
        ranks = range(len(spec.ranks)) if spec else ()
        self._is_distributed = bool(ranks)
        return Shipper(
            self._world.server,
            self.id,
            [self.directory / RANKS / str(rank) for rank in ranks] or [self.directory],
            adopted=self._adopted,
            measured=lambda: gpu_use(_gpus(self._desired) if self._desired else ()),
            requests=RequestLogTaker(self._world.archive, self.directory)
            if (self.directory / SERVICE).is_dir()
            else None,
        )

    async def _run(self, shipper: Shipper) -> Exited | Lost:
        """Start it unless it runs, and watch it until nothing of it is left, sending its log."""
        shipping = asyncio.create_task(shipper.run(), name=f"ship {self.id}")
        try:
            return await self._watch()
        finally:
            shipping.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await shipping

    async def _watch(self) -> Exited | Lost:
        driver, clock = self._world.driver, asyncio.get_running_loop().time
        begin, tries, due, told = clock(), 0, clock(), False
        while True:
            status = driver.status(self.directory)
            if isinstance(status, Exited | Lost):
                self._take(status)
                return status
            self._tell(status)
            if isinstance(status, NotStarted) and self._dropped and not self._desired:
                return Exited(reason=Reason.NOT_STARTED)
            try:
                if self._stop and not told:
                    await in_thread(lambda: driver.stop(self.directory))
                    told = True
                # One that was left prepared by an earlier agent starts only when the server still wants it.
                elif isinstance(status, NotStarted) and self._desired and clock() >= due:
                    tries, due = tries + 1, clock() + CLAIM_SECONDS
                    if tries > CLAIM_TRIES:
                        raise OSError(f"the keeper does not start ({_last_line(self.directory / 'keeper.log')})")
                    await in_thread(lambda: driver.start(self.directory))
            except EngineAway as error:
                tries, due = 0, clock() + ENGINE_SECONDS
                self._wait_for(f"{driver.name} does not respond: {error}")
                await asyncio.sleep(ENGINE_SECONDS)
            # Most waits are short at first, for a start or a command that ends at once; a longer one can wait longer.
            await asyncio.sleep(min(max(LOOK_SECONDS, (clock() - begin) / 4), LOOK_SECONDS_MOST))

    async def _save_checkpoint(self, status: Exited | Lost) -> str | None:
        """Save what the command left to go on from, once; why that could not be done."""
        return (
            await checkpoint.save(self.directory, status, self._world.checkpoints, wanted=lambda: not self._dropped)
            or None
        )

    async def _save(self, status: Exited | Lost) -> SavedOutputs:
        """Commit the outputs, once."""
        known = read_outcome(self.directory)
        spec = spec_with_outputs(self.directory) if known is None else None
        if spec is None:
            return known or SavedOutputs()
        self._report("saving")
        succeeded = isinstance(status, Exited) and status.exit_code == 0 and status.reason is None
        return await save(
            self.directory,
            spec,
            self._world.save_outputs,
            wanted=lambda: not self._dropped,
            kept=self._world.kept_outputs,
            succeeded=succeeded,
        )

    # Parts

    def _serving_host(self) -> str | None:
        """Where a replica is reached; None while that is not known."""
        driver = self._world.driver
        return driver.serving_host(self.directory) if isinstance(driver, ServesElsewhere) else self._world.address

    def _gpu_memory_of(self, node: str) -> int:
        return next((facts.gpu_memory_bytes for facts in self._world.driver.nodes() if facts.name == node), 0)

    def _tell(self, status: Status) -> None:
        """Report changes of a running placement."""
        self._see_ranks()
        if self._service.look():
            self._world.changed()
        if isinstance(status, Pending):
            self._wait_for(status.why)
        if not isinstance(status, Running) or status.started_at is None:
            answer_clock(self.directory)
        elif isinstance(status, Running) and self._seen.state != "running":
            self._report("running", started_at=status.started_at, waiting=None)

    def _see_ranks(self) -> None:
        if not self._is_distributed:
            return
        ranks = records.ranks_seen(self.directory)
        if ranks != self._seen.ranks:
            self._report(self._seen.state, ranks=ranks)

    def _wait_for(self, what: str) -> None:
        if self._seen.waiting != what:
            self._report(self._seen.state, waiting=what)

    async def _give_up(self, problem: str) -> bool:
        """Make sure that it never starts; False if a keeper has claimed it, or that is unknown."""
        try:
            return await in_thread(lambda: records.give_up(self.directory, problem))
        except OSError as error:
            log.warning("cannot withdraw: placement=%s %s", self.id, error)
            return False

    def _take(self, status: Exited | Lost) -> None:
        """Remember how the command ended; told with whatever is reported next."""
        self._service.look_again()
        update: dict[str, object] = {"started_at": status.started_at, "ranks": records.ranks_seen(self.directory)}
        if isinstance(status, Exited):
            update |= {"exit_code": status.exit_code, "signal": status.signal, "exited_at": status.exited_at}
            update["reason"] = status.reason.value if status.reason else None
            update["failed_rank"] = status.rank
        else:
            update["reason"] = "lost"
        self._seen = self._seen.model_copy(update=update)

    def _report(self, state: str, **update: object) -> None:
        self._seen = self._seen.model_copy(update={"state": state, **update})
        log.info("placement %s: placement=%s %s", state, self.id, update.get("problem") or "")
        self._world.changed()

    def _renew(self, moment: float) -> None:
        """Validity counts from when the request was sent: never later than the server assumes."""
        if moment < self._renewed + RENEW_SECONDS:
            return
        try:
            if (self.directory / SPEC).exists():
                renew(self.directory, moment)
        except OSError as error:
            log.warning("renewal failed, retrying: placement=%s %s", self.id, error)
        else:
            self._renewed = moment

    async def _hear_news(self, *, within: float) -> None:
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._news.wait(), within)
        self._news.clear()


def _gpus(desired: DesiredPlacement) -> list[int]:
    """All it was given, on whichever rank."""
    return sorted({*desired.gpu_indices, *(index for rank in desired.ranks for index in rank.gpu_indices)})


def _problem(status: Exited | Lost) -> str | None:
    if isinstance(status, Lost):
        return status.problem
    return status.problem or (_ENDED_BY.get(status.reason) if status.reason else None)


def _last_line(path: Path) -> str:
    try:
        lines = path.read_text(errors="replace").strip().splitlines()
    except FileNotFoundError:
        return "no message"
    return lines[-1] if lines else "no message"
