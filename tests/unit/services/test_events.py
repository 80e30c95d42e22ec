"""The event hub: who hears what, what is replayed, and how loops and long polls are woken."""

from __future__ import annotations

import asyncio
import json
import re
import threading
from collections.abc import AsyncIterator, Coroutine
from typing import Any

from millpond.services.events import QUEUED_EVENTS, EventHub

SECONDS = 10.0


def run(test: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(test, SECONDS))


def everything(_project: str | None) -> bool:
    return True


async def take(stream: AsyncIterator[str], count: int) -> list[str]:
    """So many events; several may be sent together."""
    texts: list[str] = []
    while len(texts) < count:
        texts += re.findall(r".+?\n\n", await anext(stream), re.DOTALL)
    return texts


def parsed(text: str) -> tuple[str, str, Any]:
    fields = dict(line.split(": ", 1) for line in text.strip().splitlines())
    return fields["id"], fields["event"], json.loads(fields["data"])


def test_events_of_other_threads_arrive_in_order() -> None:
    hub = EventHub()

    async def test() -> None:
        stream = hub.stream(["jobs"], sees=everything)
        await anext(stream)
        worker = threading.Thread(
            target=lambda: [hub.publish("jobs", project_id="p", data={"n": n}) for n in range(100)]
        )
        worker.start()
        texts = await take(stream, 100)
        worker.join()
        assert [parsed(text)[2]["n"] for text in texts] == list(range(100))

    run(test())


def test_only_wanted_topics_of_visible_projects() -> None:
    hub = EventHub()

    async def test() -> None:
        stream = hub.stream(["jobs", "run:1"], sees=lambda project: project in (None, "mine"))
        await anext(stream)
        hub.publish("jobs", project_id="theirs", data={"n": 1})
        hub.publish("caches", project_id="mine", data={"n": 2})
        hub.publish("jobs", project_id="mine", data={"n": 3})
        hub.publish("run:1", project_id=None, data={"n": 4})
        assert [parsed(text)[2]["n"] for text in await take(stream, 2)] == [3, 4]

    run(test())


def test_what_happens_within_a_moment_is_sent_together() -> None:
    hub = EventHub()

    async def test() -> None:
        stream = hub.stream(["jobs"], sees=everything)
        await anext(stream)
        hub.publish("jobs", project_id=None, data={"n": 0})
        assert parsed(await anext(stream))[2] == {"n": 0}, "at once after a quiet while"
        for number in range(1, 4):
            hub.publish("jobs", project_id=None, data={"n": number})
        assert (await anext(stream)).count("event: jobs") == 3

    run(test())


def test_a_long_poll_hears_of_either_of_its_topics() -> None:
    hub = EventHub()

    async def test() -> None:
        for topic in ("agents", "agents:a"):
            mark = hub.mark("agents", "agents:a")
            threading.Timer(0.01, hub.wake, [topic]).start()
            assert await hub.wait("agents", "agents:a", since=mark, timeout=SECONDS)
        mark = hub.mark("agents", "agents:a")
        hub.wake("agents:b")
        assert not await hub.wait("agents", "agents:a", since=mark, timeout=0.01)
        assert hub.waiting("agents") == 0

    run(test())


def test_replay_after_last_id() -> None:
    hub = EventHub()
    for number in range(5):
        hub.publish("jobs", project_id=None, data={"n": number})

    async def test() -> None:
        stream = hub.stream(["jobs"], sees=everything, last_id=f"{hub.start}-3")
        texts = await take(stream, 3)
        assert texts[0] == f"retry: 1000\nid: {hub.start}-3\n\n"
        assert [parsed(text) for text in texts[1:]] == [
            (f"{hub.start}-4", "jobs", {"n": 3}),
            (f"{hub.start}-5", "jobs", {"n": 4}),
        ]

    run(test())


def test_reset_when_events_are_no_longer_held() -> None:
    hub = EventHub(held=3)
    for number in range(5):
        hub.publish("jobs", project_id=None, data={"n": number})

    async def first(last_id: str) -> str:
        return parsed(await anext(hub.stream(["jobs"], sees=everything, last_id=last_id)))[1]

    async def test() -> None:
        assert await first(f"{hub.start}-1") == "reset"
        assert await first("another-start-4") == "reset"
        assert await first("nonsense") == "reset"

    run(test())


def test_reader_that_falls_behind_is_told_to_load_anew() -> None:
    hub = EventHub()

    async def test() -> None:
        stream = hub.stream(["jobs"], sees=everything)
        await anext(stream)
        for number in range(QUEUED_EVENTS + 1):
            hub.publish("jobs", project_id=None, data={"n": number})
        assert parsed(await anext(stream))[1] == "reset"
        hub.publish("jobs", project_id=None, data={"n": -1})
        assert parsed(await anext(stream))[2] == {"n": -1}

    run(test())


def test_heartbeat_and_close() -> None:
    hub = EventHub()

    async def test() -> None:
        stream = hub.stream(["jobs"], sees=everything, heartbeat=0.01)
        await anext(stream)
        assert await anext(stream) == ": still here\n\n"
        hub.close()
        assert [text async for text in stream if not text.startswith(":")] == []

    run(test())


def test_a_stream_does_not_live_for_ever() -> None:
    hub = EventHub()

    async def test() -> None:
        stream = hub.stream(["jobs"], sees=everything, heartbeat=0.01, lifetime=0.02)
        assert [text async for text in stream if not text.startswith((":", "retry"))] == []

    run(test())


def test_changed_access_ends_the_streams_of_that_user() -> None:
    hub = EventHub()

    async def test() -> None:
        maria = hub.stream(["jobs"], sees=everything, user_id="maria")
        eve = hub.stream(["jobs"], sees=everything, user_id="eve")
        await anext(maria)
        await anext(eve)
        hub.access_changed("maria")
        assert [text async for text in maria] == []
        hub.publish("jobs", project_id=None, data={"n": 1})
        assert parsed(await anext(eve))[2] == {"n": 1}

    run(test())


def test_wait_returns_when_woken_also_in_between() -> None:
    hub = EventHub()

    async def test() -> None:
        mark = hub.mark("agents")
        hub.wake("agents")
        assert await hub.wait("agents", since=mark, timeout=SECONDS), "woken before it began to wait"
        mark = hub.mark("agents")
        threading.Timer(0.01, hub.wake, ["agents"]).start()
        assert await hub.wait("agents", since=mark, timeout=SECONDS)
        assert not await hub.wait("agents", since=hub.mark("agents"), timeout=0.01), "time is up"

    run(test())


def test_close_ends_long_polls() -> None:
    hub = EventHub()

    async def test() -> None:
        threading.Timer(0.01, hub.close).start()
        assert not await hub.wait("agents", since=hub.mark("agents"), timeout=SECONDS)
        assert not await hub.wait("agents", since=0, timeout=SECONDS)

    run(test())


def test_coming_back_before_the_first_event_misses_nothing() -> None:
    hub = EventHub()
    hub.publish("jobs", project_id=None, data={"n": 0})

    async def test() -> None:
        hello = await anext(hub.stream(["jobs"], sees=everything))
        last_id = re.search(r"^id: (.*)$", hello, re.MULTILINE)
        assert last_id
        hub.publish("jobs", project_id=None, data={"n": 1})
        again = hub.stream(["jobs"], sees=everything, last_id=last_id[1])
        assert parsed((await take(again, 2))[1])[2] == {"n": 1}

    run(test())
