"""The shell in which pages are run, and how their output is compared."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.docs.blocks import ROOT, Block, Kind
from tests.docs.sandbox import opened_shell, replaced, run_block

SHOWN_URL = "http://127.0.0.1:8420"
URL = "http://127.0.0.1:45678"


def block(
    *lines: str, kind: Kind = "session", title: str = "", exits: int = 0, soon: bool = False, stays: bool = False
) -> Block:
    return Block(ROOT / "docs" / "page.md", 1, kind, list(lines), title, exits=exits, soon=soon, stays=stays)


@pytest.mark.parametrize(
    ("done", "problem"),
    [
        ([block("$ cd /; A=1"), block("$ echo $A   $PWD", "1 /")], ""),
        ([block("$ true", "$ false")], "exit code 1 instead of 0: false"),
        ([block("$ (exit 5)", exits=5)], ""),
        ([block("$ true", exits=5)], "exit code 0 instead of 5"),
        ([block("$ echo a; echo b >&2", "a", "b")], ""),
        ([block("$ echo a", "b")], "the page shows"),
        ([block("$ seq 9", "1", "…", "9")], ""),
        ([block("$ seq 9", "1", "2")], "the page shows"),
        ([block("$ echo took 12.5 s here", "took … s here")], ""),
        ([block("echo a", "false", "true", kind="script")], ""),
        ([block("print(6 * 7)", kind="file", title="x/y.py"), block("$ python x/y.py", "42")], ""),
        ([block("$ cat > f <<'END'", "$HOME", "END", "$ cat f", "$HOME")], ""),
        ([block("$ cat; echo $HOME = $PWD | tr ' ' '\\n' | uniq -d | wc -l", "0")], ""),
        ([block(f"$ echo {SHOWN_URL}/x", f"{SHOWN_URL}/x"), block("$ echo $URL", SHOWN_URL)], ""),
        ([block("$ echo x@0123456789ab: 2.5 kB in 12 m 7 s", "x@ba9876543210: 9 B in 0.3 s")], ""),
        ([block("$ echo 'job (w1cby3mk) on local/vm'", "job (aap2js23) on local/other")], ""),
        ([block("$ echo 3 files since 2026-11-19 06:08 UTC", "3 files since 2027-01-01 00:00 UTC")], ""),
        ([block("$ echo 3 files", "4 files")], "the page shows"),
        ([block("$ exit 3")], "exit code 3"),
        ([block("$ echo x >> n; wc -l < n", "3", soon=True), block("$ wc -l < n", "3")], ""),
        ([block("$ A=1", "$ echo $A up; sleep 900", "1 up", stays=True), block("$ pgrep -c -s 0 sleep", "1")], ""),
    ],
)  # fmt: skip
def test_blocks_in_a_shell(done: list[Block], problem: str, tmp_path: Path) -> None:
    with opened_shell(tmp_path, tmp_path, URL=URL) as shell:
        found = [text for one in done if (text := run_block(shell, one, {SHOWN_URL: URL}))]
    assert (problem in found[0]) if problem else (found == [])


def test_words_stand_for_others_as_a_whole_and_at_once() -> None:
    assert replaced(["--port 8443, 18443, :8443/x"], {"8443": "8475", "8475": "1"}) == ["--port 8475, 18443, :8475/x"]
