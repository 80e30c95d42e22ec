from __future__ import annotations

import io
import json
from datetime import UTC, datetime, timedelta

import pytest

from millpond.cli.output import Output
from millpond.cli.progress import Meter, TransferSpeed, progress_words
from millpond.cli.values import Bytes, CommitId, Seconds, ago

NOW = datetime(2026, 11, 15, 20, 0, tzinfo=UTC)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0, "now"), (5, "5 s ago"), (150, "2 m ago"), (7300, "2 h ago"), (200_000, "2 d ago"), (-7300, "in 2 h")],
)
def test_times_are_said_as_people_do(seconds: int, words: str) -> None:
    assert ago(NOW - timedelta(seconds=seconds), NOW) == words


def test_long_ago_is_a_date() -> None:
    assert ago(NOW - timedelta(days=40), NOW).startswith("2026-10-")


def test_a_table_for_people_and_lines_for_programs() -> None:
    rows = [("[bold]x", 1_500_000, "c" * 64), ("y\tz", 3, "d" * 64)]
    columns = [
        ("NAME", lambda row: row[0]),
        ("SIZE", lambda row: Bytes(row[1])),
        ("COMMIT", lambda row: CommitId(row[2])),
        ("TOOK", lambda row: Seconds(90)),
        ("NOTE", lambda row: None),
    ]
    people = Terminal()
    Output(stdout=people, no_color=True).items(rows, columns, empty="")
    head, first, _ = people.getvalue().splitlines()
    assert head.split() == ["NAME", "SIZE", "COMMIT", "TOOK", "NOTE"]
    assert first.split() == ["[bold]x", "1.5", "MB", "cccccccccccc", "1", "m", "30", "s", "-"]
    piped = io.StringIO()
    Output(stdout=piped).items(rows, columns, empty="")
    assert piped.getvalue().splitlines()[1] == f"y\\tz\t3\t{'d' * 64}\t90\t-"


def test_progress_says_files_bytes_rate_and_time_left() -> None:
    assert progress_words(12_000_000, 30_000_000, 1200, 3000, TransferSpeed(4e6, 4.5)) == (
        "1,200/3,000 files · 12.0 MB/30.0 MB · 4.0 MB/s · 4.5 s left"
    )
    assert progress_words(0, 0, 0, 0, TransferSpeed()) == "0 files · 0 B"


def test_rate_and_time_left_are_those_that_the_server_tells() -> None:
    words = io.StringIO()
    clock = iter(range(0, 1000, 20))
    with Meter(Output(stderr=words), "Caching", clock=lambda: float(next(clock))) as meter:
        meter.update(done=1_000_000, total=9_000_000, told=TransferSpeed(2e6, 4.0))
        meter.update(done=1_000_000, total=9_000_000, told=TransferSpeed(2e6, 4.0), waits="waiting: the lake is away")
    assert words.getvalue().splitlines() == [
        "Caching: 0 files · 1.0 MB/9.0 MB · 2.0 MB/s · 4.0 s left",
        "Caching: 0 files · 1.0 MB/9.0 MB · waiting: the lake is away",
    ]


def test_who_does_not_answer_is_named_now_and_then(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr("millpond.cli.output.time.monotonic", lambda: now[0])
    words = io.StringIO()
    out = Output(stderr=words)
    for now[0] in (100.0, 105.0, 109.0, 111.0):
        out.waiting(f"The server cannot be reached: {now[0]}.")
    assert words.getvalue().splitlines() == [
        "The server cannot be reached: 100.0. Trying again …",
        "The server cannot be reached: 111.0. Trying again …",
    ]


def test_words_stand_above_a_live_line() -> None:
    screen = Terminal()
    out = Output(stderr=screen, no_color=True)
    with Meter(out, "Syncing") as meter:
        meter.update(files=1)
        out.note("[a] word")
    assert "[a] word\n" in screen.getvalue()
    assert out.above is None


def test_without_a_terminal_a_line_every_ten_seconds() -> None:
    now = [0.0]
    words = io.StringIO()
    with Meter(Output(stderr=words), "Syncing", clock=lambda: now[0]) as meter:
        for second in range(25):
            now[0] = float(second)
            meter.update(done=second, total=100, files=1, total_files=2)
    assert [line.split(":")[0] for line in words.getvalue().splitlines()] == ["Syncing", "Syncing"]


def test_quiet_means_quiet() -> None:
    words = Terminal()
    with Meter(Output(stderr=words, quiet=True), "Syncing") as meter:
        meter.update(done=1, total=2)
    assert words.getvalue() == ""


def test_whoever_asks_for_json_gets_some_also_when_there_is_nothing_to_tell() -> None:
    said = io.StringIO()
    silent, speaking = Output(as_json=True, stdout=said), Output(as_json=True, stdout=said)
    silent.finish()
    speaking.json({"name": "one"})
    speaking.finish()
    Output(stdout=said).finish()
    assert said.getvalue().splitlines() == ["{}", '{"name": "one"}']


def test_bytes_that_are_the_data_stay_what_they_are() -> None:
    kept = io.BytesIO()
    out = Output(as_json=True, stdout=io.TextIOWrapper(kept))
    out.raw.write(b"\xff\x00")
    out.finish()
    assert kept.getvalue() == b"\xff\x00"


HOSTILE = "a\x1b]0;owned\x07\x1b[2Jb\nc\td\r\x9b31m\u202e"


def test_no_name_ends_its_line_or_moves_the_cursor() -> None:
    """On a terminal and piped, which may end on a terminal all the same; programs read the same with --json."""
    for stdout in (Terminal(), io.StringIO()):
        out = Output(stdout=stdout, no_color=True)
        out.items([HOSTILE], [("NAME", lambda name: name)], empty="")
        out.fields(HOSTILE, "what")
        out.line(HOSTILE.replace("\n", " "))
        Output(stdout=stdout, as_json=True).json({"name": HOSTILE})
        shown = stdout.getvalue()
        assert not {character for character in shown if not character.isprintable()} - {"\n", "\t"}
        assert shown.count("owned") == 4
    document = io.StringIO()
    Output(stdout=document, as_json=True).json({"name": HOSTILE, "smile": "🙂", "emoji": "\U000e0001"})
    assert json.loads(document.getvalue()) == {"name": HOSTILE, "smile": "🙂", "emoji": "\U000e0001"}
    assert "🙂" in document.getvalue()
