"""Which replicas answer: asked once a second, and at once when one was seen to fail."""

from __future__ import annotations

import asyncio

from .dispatch import Dispatcher
from .links import Links
from .replicas import Replica
from .upstream import ReplicaLost, ReplicaMisbehaved, ReplicaSlow, ask

PROBE_SECONDS = 1.0
_ANSWER_SECONDS = 3.0
# A replica that computes on all cores answers late: it is not given up for that at once.
_MOST_SLOW_PROBES = 5
_FIRST_AGAIN_SECONDS = 0.05


class Health:
    """Probes of `v2/health/ready`. Lives in the event loop."""

    def __init__(self, dispatcher: Dispatcher, links: Links) -> None:
        self._dispatcher = dispatcher
        self._links = links
        self._probing: dict[Replica, asyncio.Task[None]] = {}

    def suspect(self, replica: Replica) -> None:
        """A request failed there: send it none until it is seen to answer, and look right now."""
        self._dispatcher.set_answers(replica, False)
        self._start(replica, again=True)

    def look(self, replica: Replica) -> None:
        """A request was refused there, which may mean anything: look right now."""
        self._start(replica, again=False)

    def probe_all(self) -> None:
        for replica in self._dispatcher.replicas:
            self._start(replica, again=False)

    def _start(self, replica: Replica, *, again: bool) -> None:
        if replica not in self._probing:
            task = asyncio.get_running_loop().create_task(self._probe(replica, again=again))
            self._probing[replica] = task
            task.add_done_callback(lambda _: self._probing.pop(replica, None))

    async def _probe(self, replica: Replica, *, again: bool) -> None:
        """Look once; a suspect a few times more within the second, since it may only have closed a connection."""
        pause = _FIRST_AGAIN_SECONDS
        while True:
            answers = await self._answers(replica)
            self._dispatcher.set_answers(replica, answers)
            if answers or not again or pause > PROBE_SECONDS:
                return
            await asyncio.sleep(pause)
            pause *= 2

    async def _answers(self, replica: Replica) -> bool:
        link = self._links.to(replica)
        try:
            answer = await ask(link.upstream, link.get("/v2/health/ready"), seconds=_ANSWER_SECONDS)
        except ReplicaSlow:
            replica.slow_probes += 1
            return replica.answers and replica.slow_probes < _MOST_SLOW_PROBES
        except (ReplicaLost, ReplicaMisbehaved) as error:
            replica.found(str(error))
            return False
        replica.slow_probes = 0
        replica.found(None)
        return answer.status == 200
