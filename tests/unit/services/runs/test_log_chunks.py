"""Logs in chunks: read anywhere, bounded in the middle, the same from every server, found in at once."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import pytest

from millpond.errors import BadRequest, NotFound
from millpond.lake.keys import ProjectKeys
from millpond.model.log import LeftOut
from millpond.services.deps import Deps
from millpond.services.runs import log_search, logs
from millpond.services.runs.log_search import Ended, Hit, Query
from millpond.wire.observed import PlacementSeen
from tests.unit.services.world import World


class Writing:
    """One log being written to servers that keep chunks of a kilobyte."""

    def __init__(self, world: World, *, most: int = 16_384) -> None:
        self.world = world
        self.deps = replace(world.deps, settings=replace(world.deps.settings, log_bytes=most))
        self.job, self.placement = world.placed()

    def append(self, offset: int, data: bytes, deps: Deps | None = None, **told: object) -> logs.Reached:
        server = deps or self.deps
        return logs.append(server, self.world.agent.actor, self.placement.id, offset, data, **told)  # type: ignore[arg-type]

    def whole(self, deps: Deps | None = None) -> bytes:
        return b"".join(logs.whole(deps or self.deps, self.job))

    def another_server(self, tmp_path: Path) -> Deps:
        """With a data directory of its own and the same database and store."""
        return replace(self.deps, settings=replace(self.deps.settings, data_dir=tmp_path / "other"))

    def search(self, text: str, **wanted: object) -> list[Hit | Ended]:
        return list(log_search.search(self.deps, self.job, Query(text, **wanted)))  # type: ignore[arg-type]


@pytest.fixture
def writing(world: World) -> Writing:
    return Writing(world)


def test_any_range_of_a_log_in_chunks_can_be_read(writing: Writing) -> None:
    content = random.Random(1).randbytes(9_000)
    at = 0
    while at < len(content):
        at = writing.append(at, content[at : at + 700]).offset
    reached = writing.append(at, b"")
    assert (reached.offset, 0 < reached.durable < 9_000) == (9_000, True)
    assert writing.whole() == content
    for begin, limit in [(0, 1), (1023, 2), (1024, 4000), (5_000, 100_000), (8_999, 10)]:
        part = logs.read(writing.deps, writing.job, begin, limit)
        assert part.data == content[begin : begin + limit]
        assert (part.begin, part.offset, part.size) == (begin, begin + len(part.data), 9_000)
    assert logs.read(writing.deps, writing.job, -1500, 5_000).data == content[-1500:]


def test_chunks_are_compressed_and_few(writing: Writing) -> None:
    at = 0
    for _ in range(40):
        at = writing.append(at, b"the same line again and again\n", durable=True).offset
    prefix = ProjectKeys(writing.job.project_id).logs(writing.placement.id)
    kept = list(writing.deps.store.list(prefix))
    assert len(kept) <= 6
    assert sum(info.size for info in kept) < at / 2
    (attempt,) = logs.attempts(writing.deps, writing.job)
    assert (attempt.size, attempt.lines, attempt.left_out) == (1200, 40, [])


def test_of_a_log_beyond_its_limit_head_and_tail_are_kept(writing: Writing) -> None:
    content = b"".join(b"line %06d\n" % number for number in range(8_000))
    for at in range(0, len(content), 4_000):
        writing.append(at, content[at : at + 4_000])
    (gap,) = logs.attempts(writing.deps, writing.job)[0].left_out
    assert 0.4 * 16_384 < gap.begin <= 8_192
    assert 0.4 * 16_384 < len(content) - gap.end <= 8_192 + 2048
    said = f"\n[millpond: {(gap.end - gap.begin) / 1000:.1f} kB left out here, bytes {gap.begin} to {gap.end}]\n"
    assert writing.whole() == content[: gap.begin] + said.encode() + content[gap.end :]
    inside = logs.read(writing.deps, writing.job, gap.begin + 5, 100)
    assert (inside.data, inside.left_out, inside.offset) == (said.encode(), gap, gap.end)
    # Lines are numbered as if nothing were missing, and what is missing is not found.
    first, last = writing.search("line 000000")[0], writing.search("line 007999")[0]
    assert isinstance(first, Hit) and isinstance(last, Hit)
    assert (first.line, last.line, last.offset) == (1, 8_000, len(content) - 12)
    assert writing.search("line 004000") == [Ended(len(content), True, 0)]


def test_what_the_agent_could_not_keep_is_left_out(writing: Writing) -> None:
    assert writing.append(0, b"head\n").offset == 5
    assert writing.append(100, b"tail\n").offset == 5
    assert writing.append(100, b"tail\n", left_out_from=7).offset == 5
    assert writing.append(100, b"tail\n", left_out_from=5) == logs.Reached(105, 5)
    assert writing.append(100, b"tail\nend\n", durable=True) == logs.Reached(109, 109)
    assert logs.attempts(writing.deps, writing.job)[0].left_out == [LeftOut(5, 100)]
    assert writing.whole().startswith(b"head\n\n[millpond: 95 B left out")
    assert writing.whole().endswith(b"]\ntail\nend\n")


def test_an_agent_may_go_on_with_another_server(writing: Writing, tmp_path: Path) -> None:
    content = random.Random(2).randbytes(6_000)
    other = writing.another_server(tmp_path)
    assert writing.append(0, content[:3_000]) == logs.Reached(3_000, 3_000 // 1024 * 1024)
    # The other one knows the chunks alone, and says so.
    assert writing.append(3_000, content[3_000:4_000], other).offset == 2_048
    assert writing.append(2_048, content[2_048:], other, durable=True) == logs.Reached(6_000, 6_000)
    assert writing.whole() == writing.whole(other) == content
    # The first one has an old tail, which is no longer of use.
    assert writing.append(6_000, b"more") == logs.Reached(6_004, 6_000)
    assert writing.whole() == content + b"more"


def test_two_servers_that_cut_the_same_bytes(writing: Writing, tmp_path: Path) -> None:
    other = writing.another_server(tmp_path)
    writing.append(0, b"a" * 500)
    writing.append(0, b"a" * 700, other)
    logs.make_durable(writing.deps, writing.job, writing.placement.id)
    logs.make_durable(other, writing.job, writing.placement.id)
    assert writing.whole() == writing.whole(other) == b"a" * 700


def test_a_log_of_the_time_before_chunks(writing: Writing) -> None:
    folder = writing.deps.settings.logs_dir / writing.job.id[:2] / writing.job.id
    folder.mkdir(parents=True)
    content = b"".join(b"old %d\n" % number for number in range(1_000))
    (folder / f"{writing.placement.id}.log").write_bytes(content)
    assert writing.whole() == content
    assert logs.read(writing.deps, writing.job, 10, 4).data == content[10:14]
    hit = writing.search("old 999")[0]
    assert isinstance(hit, Hit) and hit.line == 1_000
    # Its job may still run: what it writes now comes behind.
    assert writing.append(len(content), b"new\n", durable=True).durable == len(content) + 4
    assert writing.whole() == content + b"new\n"
    assert not folder.exists()


def test_a_report_of_the_end_makes_all_of_it_durable(world: World, writing: Writing, tmp_path: Path) -> None:
    writing.append(0, b"all of it\n", world.deps)
    ended = PlacementSeen(id=writing.placement.id, state="finished", exit_code=0, started_at=world.clock.now())
    world.sync(ended)
    assert writing.whole(writing.another_server(tmp_path)) == b"all of it\n"
    assert logs.read(world.deps, world.job(writing.job.id), 0, 100).is_complete


def test_an_attempt_is_named_by_its_number(writing: Writing) -> None:
    writing.append(0, b"first")
    assert logs.read(writing.deps, writing.job, 0, 10, 1).data == b"first"
    with pytest.raises(NotFound, match="no attempt 2"):
        logs.read(writing.deps, writing.job, 0, 10, 2)


def test_removing_a_log_removes_its_chunks(writing: Writing) -> None:
    writing.append(0, b"x" * 5_000)
    logs.remove(writing.deps, writing.job)
    assert list(writing.deps.store.list(ProjectKeys(writing.job.project_id).logs(writing.placement.id))) == []
    assert writing.whole() == b""


def test_hits_have_line_offset_and_context(writing: Writing) -> None:
    lines = [b"line %d" % number for number in range(1, 501)]
    content = b"\n".join(lines)
    for at in range(0, len(content), 333):
        writing.append(at, content[at : at + 333])
    hit, ended = writing.search("line 250", context=2)
    assert isinstance(hit, Hit)
    assert (hit.line, hit.text, hit.offset) == (250, b"line 250", content.index(b"line 250"))
    assert (hit.before, hit.after) == ((b"line 248", b"line 249"), (b"line 251", b"line 252"))
    assert ended == Ended(len(content), True, 1)
    # Case, patterns, ends of lines, a limit and going on behind it.
    assert len(writing.search("LINE 5", ignore_case=True)) == 1 + 1 + 10 + 1
    found = [hit.text for hit in writing.search(r"^line \d+0$", is_pattern=True) if isinstance(hit, Hit)]
    assert found == lines[9::10]
    *some, cut = writing.search("line", most=3)
    assert isinstance(cut, Ended) and not cut.complete and len(some) == 3
    again = writing.search("line", begin=cut.offset)[0]
    assert isinstance(again, Hit) and again.line == 4
    with pytest.raises(BadRequest, match="is not a valid pattern"):
        writing.search("(", is_pattern=True)


def test_a_search_finds_what_the_whole_log_holds(writing: Writing) -> None:
    for seed in range(25):
        chance = random.Random(seed)
        words = [b"a", b"\n", b"\n", b"x" * 700, b"needle", b"nee", b"dle"]
        content = b"".join(chance.choices(words, k=40))
        at = 0
        while at < len(content):
            at = writing.append(at, content[at : at + chance.randint(1, 1500)]).offset
        found = [(hit.offset, hit.line) for hit in writing.search("needle") if isinstance(hit, Hit)]
        assert found == needles(content), f"seed {seed}"
        lines = [hit.line for hit in writing.search("^", is_pattern=True) if isinstance(hit, Hit)]
        assert lines == list(range(1, len(content.splitlines()) + 1)), f"seed {seed}"
        logs.remove(writing.deps, writing.job)


def needles(content: bytes) -> list[tuple[int, int]]:
    """Offset of the first needle of each line that has one, and the line's number."""
    found, at = [], 0
    for number, line in enumerate(content.split(b"\n"), 1):
        if b"needle" in line:
            found.append((at + line.index(b"needle"), number))
        at += len(line) + 1
    return found
