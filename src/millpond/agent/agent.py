"""The agent: reports what it observes, receives what the server wants, and reconciles the two."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import secrets
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from millpond import __version__
from millpond.agent.branch_pointers import Pointing
from millpond.agent.checkpoint import Checkpoints
from millpond.agent.compute_test import TestedVolume, Trials
from millpond.agent.drivers import Driver, EngineAway
from millpond.agent.drivers.claims import HasClaims
from millpond.agent.fills import Fills, SourceOf
from millpond.agent.isolation import Isolation
from millpond.agent.keeper.clock import boot_id, boot_time
from millpond.agent.kept_outputs import KeptOutputs
from millpond.agent.log_archive import LogArchive
from millpond.agent.log_sending import LogSender
from millpond.agent.measuring import Measuring
from millpond.agent.outcome import SaveOutputs
from millpond.agent.own_address import own_address
from millpond.agent.peers.grants import Shared
from millpond.agent.peers.identity import load_identity
from millpond.agent.peers.serving import Offered, PeerServer
from millpond.agent.placement import FetchCode, PlacementWorld
from millpond.agent.placements import Placements
from millpond.agent.rates import AgentRates
from millpond.agent.server import Server
from millpond.agent.state import placements_of
from millpond.agent.store_probes import StoreWatch
from millpond.agent.threads import in_thread
from millpond.agent.tiers import Tiers
from millpond.agent.tunnels import AgentTunnels, Connect, no_tunnel
from millpond.agent.volumes import Volumes
from millpond.agent.workspaces import OnClaims, WorkspaceLake, Workspaces
from millpond.errors import BadRequest, Conflict, Forbidden, Invalid, MillError, NotSignedIn, SetupError
from millpond.model.address import HostPort
from millpond.retry import Backoff
from millpond.volumes.volume import CommitPlace
from millpond.wire.desired import Desired, DesiredGrant
from millpond.wire.observed import Capabilities, Observed, StorageClassSeen, StoreSeen, VolumeSeen

log = logging.getLogger(__name__)

# How often outputs that were kept long enough are removed.
FORGET_SECONDS = 30.0
# How long a request waits at the server when nothing goes on, and while a fill makes progress.
IDLE_SECONDS = 20.0
BUSY_SECONDS = 1.0
# Reports are at least so far apart, and news is at least so old: changes that come together are told together.
SPACING_SECONDS = 0.05
GATHER_SECONDS = 0.002
# After a report with news the agent rests as long as the answer took, so long at most.
REST_SECONDS = 0.5
# A server that answers without waiting is not asked more often than this.
UNCHANGED_SECONDS = 0.5

# The server has understood and says no: asking again would not change that. A conflict means that another process
# speaks with this agent's credential; if both went on, both would run the same jobs.
_FINAL = (NotSignedIn, Forbidden, BadRequest, Invalid, Conflict, SetupError)


@dataclass(frozen=True, slots=True)
class Tools:
    """Parts of the agent."""

    server: Server
    driver: Driver
    # Reads the tree of one fill from the lake.
    source_of: SourceOf
    # Commits the outputs of a job; see `World`.
    save_outputs: SaveOutputs
    checkpoints: Checkpoints
    # Writes the code of a placement into an empty directory, where no volume is near.
    fetch_code: FetchCode
    # Tries out what this compute can reach, and tells the server.
    run_trial: Callable[[str, Sequence[TestedVolume]], None] = lambda test, places: None
    isolation: Isolation = field(default_factory=Isolation)
    # Opens this agent's end of a stream to a job.
    open_tunnel: Connect = no_tunnel
    # Tries the stores from which this site reads the lake.
    probe_stores: Callable[[], list[StoreSeen]] = list
    workspace_lake: WorkspaceLake = field(default_factory=WorkspaceLake)
    # Where agents of other sites may fetch what is cached here; None: nowhere.
    listen: HostPort | None = None
    # Where other machines of the site reach replicas of endpoints on this one; None: found out.
    serving_address: str | None = None


class Agent:
    """Create it inside a running event loop. `state_dir` must be locked by this process."""

    def __init__(self, state_dir: Path, tools: Tools) -> None:
        self._server = tools.server
        self._driver = tools.driver
        self._instance = secrets.token_hex(8)
        self._sequence = 0
        self._revision = ""
        self._engine_away = False
        self._news = asyncio.Event()
        self._rates = AgentRates()
        limits = tools.isolation.limits if tools.driver.capabilities().io_limits else None
        self._tiers = Tiers(limits.io if limits else None, self._rates)
        self._volumes = Volumes(state_dir, self._changed, tools.isolation, self._tiers)
        self._kept_outputs = KeptOutputs(state_dir / "outputs")
        self._fills = Fills(self._volumes, tools.source_of, self._kept_outputs, self._changed, self._rates)
        self._workspaces = Workspaces(
            self._volumes,
            tools.isolation,
            tools.workspace_lake,
            placements_of(state_dir),
            self._changed,
            OnClaims(tools.driver.claims(), tools.server.url) if isinstance(tools.driver, HasClaims) else None,
        )
        self._archive = LogArchive(self._volumes, state_dir / "request-logs")
        self._log_sender = LogSender(tools.server, self._archive)
        self._peers = self._served(tools.listen, state_dir) if tools.listen else None
        self._measuring = Measuring(self._volumes, self._changed)
        self._pointing = Pointing(self._volumes)
        self._stores = StoreWatch(tools.probe_stores, self._changed)
        self._trials = Trials(self._volumes, tools.run_trial)
        world = PlacementWorld(
            driver=tools.driver,
            server=tools.server,
            server_url=tools.server.url,
            volumes=self._volumes,
            save_outputs=tools.save_outputs,
            kept_outputs=self._kept_outputs,
            checkpoints=tools.checkpoints,
            archive=self._archive,
            fetch_code=tools.fetch_code,
            changed=self._changed,
            address=tools.serving_address or own_address(tools.server.url),
        )
        self._placements = Placements(placements_of(state_dir), world)
        self._tunnels = AgentTunnels(
            tools.driver, lambda placement: placements_of(state_dir) / placement, tools.open_tunnel
        )

    async def run(self, stop: asyncio.Event) -> None:
        """Work until `stop`; jobs continue under their keepers. Raises the MillError of a permanent refusal."""
        await self._look()  # what there is to run on is told with the first report
        self._placements.adopt()
        stopping = asyncio.create_task(stop.wait())
        working = asyncio.create_task(self._work())
        looking = asyncio.create_task(self._look_again())
        forgetting = asyncio.create_task(self._forget_outputs())
        sending = asyncio.create_task(self._log_sender.run())
        try:
            await asyncio.wait({stopping, working}, return_when=asyncio.FIRST_COMPLETED)
            if working.done():
                await working
        finally:
            for task in (stopping, working, looking, forgetting, sending):
                task.cancel()
            self._log_sender.end()
            self._fills.end()
            self._workspaces.end()
            self._measuring.end()
            self._pointing.end()
            self._trials.end()
            self._stores.end()
            self._tunnels.end()
            self._placements.end()
            self._volumes.end()
            self._tiers.end()
            if self._peers is not None:
                self._peers.close()
            await self._server.close()

    async def _work(self) -> None:
        backoff, away = Backoff(), False
        while True:
            await self._placements.forget()
            asked, has_news = boot_time(), self._news.is_set()
            self._news.clear()
            try:
                desired = await (self._server.sync(self._observe(0)) if has_news else self._ask(self._observe()))
            except MillError as error:
                if isinstance(error, _FINAL):
                    raise
                if not away:
                    log.warning("server unreachable: %s", error.message)
                away = True
                await self._pause(backoff.next(), wake=False)
                continue
            took = boot_time() - asked
            pause = max(GATHER_SECONDS, SPACING_SECONDS - took)
            if desired is not None:
                if away or not self._revision:
                    log.info("connected: server=%s agent=%s site=%s", self._server.url, desired.agent_id, desired.site)
                away = False
                backoff.reset()
                await self._apply(desired, asked, waited=not has_news)
                # What has just begun asks the server first; and hundreds of placements leave it time for others.
                pause = max(SPACING_SECONDS, min(took, REST_SECONDS)) if has_news else SPACING_SECONDS
            await self._pause(pause, wake=False)

    async def _look_again(self) -> None:
        while self._driver.look_seconds is not None:
            await asyncio.sleep(self._driver.look_seconds)
            before = self._driver.nodes()
            await self._look()
            if self._driver.nodes() != before:
                self._changed()

    async def _forget_outputs(self) -> None:
        while True:
            await asyncio.sleep(FORGET_SECONDS)
            await in_thread(self._kept_outputs.forget_old)

    async def _look(self) -> None:
        """Refresh the driver's view of its engine. An unreachable engine does not block anything else."""
        try:
            await in_thread(self._driver.look)
        except EngineAway as error:
            if not self._engine_away:
                log.warning("engine unreachable: driver=%s %s", self._driver.name, error)
            self._engine_away = True
        except Exception:
            log.exception("cannot query the engine: driver=%s", self._driver.name)
        else:
            self._engine_away = False

    def _observe(self, wait_seconds: float | None = None) -> Observed:
        self._sequence += 1
        return Observed(
            version=__version__,
            instance=self._instance,
            sequence=self._sequence,
            boot_id=boot_id(),
            driver=self._driver.name,
            capabilities=self._capabilities(),
            peer=self._peers.fingerprint if self._peers else None,
            nodes=list(self._driver.nodes()),
            volumes=self._volumes_seen(),
            stores=self._stores.seen(),
            fills=self._fills.seen(),
            workspaces=self._workspaces.seen(),
            placements=self._placements.seen(),
            seen_revision=self._revision,
            wait_seconds=self._patience if wait_seconds is None else wait_seconds,
        )

    @property
    def _patience(self) -> float:
        return BUSY_SECONDS if self._is_busy else IDLE_SECONDS

    @property
    def _is_busy(self) -> bool:
        """True if there is progress worth telling often."""
        return self._fills.are_going_on or self._workspaces.are_going_on

    def _capabilities(self) -> Capabilities:
        """Report no isolation if files cannot be isolated."""
        found = Capabilities.model_validate(asdict(self._driver.capabilities()))
        return found.model_copy(update={"shared_trust": found.shared_trust or self._volumes.are_open})

    def _volumes_seen(self) -> list[VolumeSeen]:
        return [seen.model_copy(update=self._known_of(seen.id)) for seen in self._volumes.seen()]

    def _known_of(self, volume_id: str) -> dict[str, object]:
        """State of a volume that is not read from the volume itself."""
        left = self._fills.leftover_bytes(volume_id) + self._log_sender.bytes_on(volume_id)
        found: dict[str, object] = {"shares": self._measuring.shares_on(volume_id), "leftover_bytes": left}
        features = self._volumes.features(volume_id)
        if features is not None and isinstance(self._driver, HasClaims):
            classes = [StorageClassSeen.model_validate(asdict(one)) for one in self._driver.claims().classes()]
            found["features"] = features.model_copy(update={"storage_classes": classes})
        return found

    async def _ask(self, observed: Observed) -> Desired | None:
        """Exchange state with the server; None if there is local news to send first.

        One exchange at a time: with two, the older answer could be taken for the newer.
        """
        asking = asyncio.create_task(self._server.sync(observed))
        hearing = asyncio.create_task(self._news.wait())
        try:
            await asyncio.wait({asking, hearing}, return_when=asyncio.FIRST_COMPLETED)
            return await asking if asking.done() else None
        finally:
            for task in (asking, hearing):
                task.cancel()
                with contextlib.suppress(asyncio.CancelledError, MillError):
                    await task

    async def _apply(self, desired: Desired, asked: float, *, waited: bool) -> None:
        unchanged = desired.revision == self._revision
        epoch = desired.server_time.timestamp() - boot_time()
        self._revision = desired.revision
        self._volumes.reconcile(desired.volumes)
        self._rates.reconcile(desired.limits)
        self._fills.reconcile(desired.fills, desired.volumes, asked + desired.word_seconds)
        self._workspaces.reconcile(desired.workspaces, desired.volumes, asked + desired.word_seconds)
        self._measuring.reconcile(desired.volumes)
        self._pointing.reconcile(desired.volumes)
        self._trials.reconcile(desired.trials)
        self._stores.reconcile(desired.stores)
        self._placements.reconcile(desired.placements, asked, epoch)
        if self._peers is not None:
            self._peers.grant({one.token_sha256: _shared(one) for one in desired.grants})
        self._tunnels.reconcile(desired.tunnels, {one.id for one in desired.placements})
        if waited and unchanged and boot_time() < asked + UNCHANGED_SECONDS and not self._is_busy:
            await self._pause(UNCHANGED_SECONDS, wake=True)

    def _served(self, listen: HostPort, state_dir: Path) -> PeerServer:
        return PeerServer(listen, load_identity(state_dir), self._offered, self._rates.throttle)

    def _offered(self, shared: Shared) -> Offered | None:
        volume = self._volumes.healthy(shared.volume_id)
        if volume is None:
            return None
        growing = self._fills.under_way(shared.volume_id, shared.place)
        # Looked for after what is under way: it may be published in between, and never the other way round.
        path = volume.commit(shared.place)
        return Offered(path) if path.is_dir() else growing

    def _changed(self) -> None:
        """Wake the exchange, and placements that may be waiting for this change."""
        self._news.set()
        self._placements.nudge()

    async def _pause(self, seconds: float, *, wake: bool) -> None:
        """Wait; with `wake` at most until there is news."""
        if not wake:
            await asyncio.sleep(seconds)
            return
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._news.wait(), seconds)


def _shared(grant: DesiredGrant) -> Shared:
    place = CommitPlace(grant.project_id, grant.dataset_id, grant.commit_id)
    return Shared(grant.volume_id, place, grant.site)
