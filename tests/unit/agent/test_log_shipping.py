"""A log reaches the server whole and once, whatever the server says in between."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from millpond.agent import log_shipping
from millpond.agent.log_shipping import Shipper
from millpond.errors import Corrupt, DiskFull, MillError, NotFound, ServerUnreachable, StalePlacement
from millpond.retry import Backoff, RetryPolicy, may_pass
from millpond.testing.agents import FakeServer

SAMPLE = '{"at": 1700000000.5, "cpu_percent": 50.0, "memory_bytes": 1, "read_bytes": 2, "write_bytes": 3}\n'


def ship(directory: Path, *, adopted: bool, before: bytes = b"") -> FakeServer:
    """Ship what is in the directory to a server that has `before`."""

    async def main() -> FakeServer:
        server = FakeServer()
        server.logs["p1"].extend(before)
        connection = server.connection()
        await Shipper(connection, "p1", [directory], adopted=adopted).finish()
        await connection.close()
        return server

    return asyncio.run(main())


def test_a_log_is_shipped_in_batches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_shipping, "BATCH_BYTES", 7)
    content = bytes(range(256)) * 100
    (tmp_path / "log").write_bytes(content)
    assert ship(tmp_path, adopted=False).logs["p1"] == content


@pytest.mark.parametrize("known", [b"", b"abc", b"abcdef"])
def test_after_a_restart_it_goes_on_where_the_server_is(tmp_path: Path, known: bytes) -> None:
    (tmp_path / "log").write_bytes(b"abcdef")
    assert ship(tmp_path, adopted=True, before=known).logs["p1"] == b"abcdef"


def test_nothing_written_is_nothing_shipped(tmp_path: Path) -> None:
    assert ship(tmp_path, adopted=False).logs["p1"] == b""


def test_a_sample_that_a_full_disk_cut_short_is_passed_over(tmp_path: Path) -> None:
    (tmp_path / "usage.jsonl").write_text(SAMPLE[:30] + "\n" + SAMPLE)
    assert len(ship(tmp_path, adopted=False).usage["p1"]) == 1


def test_samples_are_shipped_by_whole_lines(tmp_path: Path) -> None:
    (tmp_path / "usage.jsonl").write_text(SAMPLE + SAMPLE[:20])
    (sample,) = ship(tmp_path, adopted=False).usage["p1"]
    assert (sample.cpu_percent, sample.memory_bytes, sample.at.isoformat()) == (
        50.0,
        1,
        "2023-11-14T22:13:20.500000+00:00",
    )


@pytest.mark.parametrize("error", [NotFound("gone"), StalePlacement("over")])
def test_a_server_that_does_not_want_it_ends_it(tmp_path: Path, error: MillError) -> None:
    (tmp_path / "log").write_bytes(b"abc")

    async def main() -> None:
        server = FakeServer()
        server.refusal = error
        connection = server.connection()
        await asyncio.wait_for(Shipper(connection, "p1", [tmp_path], adopted=False).finish(), 5)
        await connection.close()

    asyncio.run(main())


def test_a_failing_server_is_tried_until_it_is_mended(tmp_path: Path) -> None:
    (tmp_path / "log").write_bytes(b"abc")

    async def main() -> bytes:
        server = FakeServer()
        server.refusal = MillError("Something went wrong in the server.")
        connection = server.connection()
        finishing = asyncio.create_task(Shipper(connection, "p1", [tmp_path], adopted=False).finish())
        await asyncio.sleep(0.05)
        assert not finishing.done()
        server.refusal = None
        await asyncio.wait_for(finishing, 5)
        await connection.close()
        return bytes(server.logs["p1"])

    assert asyncio.run(main()) == b"abc"


def test_what_was_written_while_the_server_was_away_comes_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For however long: the keeper has meanwhile let go of the middle of the log."""
    tried = asyncio.Event()

    def at_once(self: Backoff) -> float:
        tried.set()
        return 0.0

    monkeypatch.setattr(Backoff, "next", at_once)
    lines = b"".join(b"%07d\n" % number for number in range(20_000))

    async def main() -> FakeServer:
        server = FakeServer()
        server.away = True
        connection = server.connection()
        shipper = Shipper(connection, "p1", [tmp_path], adopted=False)
        (tmp_path / "log").write_bytes(lines[:8_000])
        running = asyncio.create_task(shipper.run())
        await asyncio.wait_for(tried.wait(), 30)
        (tmp_path / "log").write_bytes(lines[:40_000] + bytes(60_000) + lines[100_000:])
        (tmp_path / "log.gap").write_text(f"{40_000:019d} {100_000:019d}\n")
        (tmp_path / "usage.jsonl").write_text(SAMPLE)
        server.away = False
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        await asyncio.wait_for(shipper.finish(), 30)
        await connection.close()
        return server

    server = asyncio.run(main())
    # Behind the hole it goes on with the next whole line.
    assert server.logs["p1"] == lines[:40_000] + bytes(60_008) + lines[100_008:]
    assert len(server.usage["p1"]) == 1


def test_pauses_grow_to_a_limit_and_begin_anew() -> None:
    backoff = Backoff(RetryPolicy(first=1.0, longest=4.0))
    pauses = [backoff.next() for _ in range(5)]
    for pause, most in zip(pauses, [1, 2, 4, 4, 4], strict=True):
        assert 0.5 * most <= pause <= most
    backoff.reset()
    assert backoff.next() <= 1.0


@pytest.mark.parametrize(
    ("error", "passes"),
    [
        (ServerUnreachable(), True),
        (DiskFull(), True),
        (MillError("a mistake in the server"), True),
        (Corrupt(), False),
        (NotFound(), False),
    ],
)
def test_what_may_pass_by_itself(error: MillError, passes: bool) -> None:
    assert may_pass(error) is passes
