"""Every `mill …` in the documentation is one that the command line takes (docs/contributing/documentation.md)."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.docs.blocks import DOCS, Page, calls, pages, read_page
from tests.docs.command_lines import mill_calls, problem_of

PAGES = pages()
# `mill data diff` within a sentence: arguments may be missing, names and options must exist.
_INLINE = re.compile(r"(?<!`)`(mill [^`\n]+)`(?!`)")
# What people follow step by step runs, or says of each block why not.
_STEPS = ("tutorials", "how-to", "coming-from")


def problems(page: Page) -> list[str]:
    found: list[str] = []
    for block in page.blocks:
        for call in calls(block) if block.kind != "file" else ():
            for words in mill_calls(call.command):
                if problem := problem_of(words):
                    found.append(f"{call.where}: mill {' '.join(words)}: {problem}")
    for written in _INLINE.findall(page.path.read_text("utf-8")):
        for words in mill_calls(written):
            if problem := problem_of(words, is_whole=False):
                found.append(f"{page.name}: `{written}`: {problem}")
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_command_of_a_page_is_one_of_the_command_line(page: Page) -> None:
    assert problems(page) == []


def test_pages_that_are_followed_step_by_step_run() -> None:
    left = [
        block.where
        for page in PAGES
        if page.path.is_relative_to(DOCS) and page.path.relative_to(DOCS).parts[0] in _STEPS and not page.runs
        for block in page.blocks
        if block.kind in ("session", "script") and not block.not_run
    ]
    assert left == [], "say `<!-- run: long -->` in the page, or `<!-- not run: REASON -->` before each block"


def test_what_is_not_run_says_why_and_pages_say_how_they_run() -> None:
    assert [block.where for page in PAGES for block in page.blocks if block.not_run and len(block.not_run) < 10] == []
    assert {page.runs for page in PAGES} <= {"", "quick", "long", "alone"}


TEXT = """# A page
<!-- run: long -->

Text with `mill data nothing` and a list:

1. One

       $ mill data sync --no-such-option
       $ cat > file <<END
       mill is no command here
       END

<!-- not run: needs a cluster of Slurm -->
```console
$ mill up --no-agent \\
>     --port 9
waiting …
$ false
```

```python title="train.py"
print("mill data sync")
```

<!-- exits: 3 -->

    mill get train --all-of-it | head

<!-- setup
mkdir images
-->
"""


def test_blocks_and_their_marks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.docs.blocks.ROOT", tmp_path)
    file = tmp_path / "page.md"
    file.write_text(TEXT)
    page = read_page(file)
    assert page.runs == "long"
    assert [(b.kind, b.title, b.not_run, b.exits) for b in page.blocks] == [
        ("session", "", "", 0),
        ("session", "", "needs a cluster of Slurm", 0),
        ("file", "train.py", "", 0),
        ("script", "", "", 3),
        ("setup", "", "", 0),
    ]
    assert [(call.command, call.output) for call in calls(page.blocks[1])] == [
        ("mill up --no-agent \\\n    --port 9", ["waiting …"]),
        ("false", None),
    ]
    assert [problem.partition(": ")[2].partition(" (")[0] for problem in problems(page)] == [
        "mill data sync --no-such-option: No such option: --no-such-option",
        "mill get train --all-of-it: No such option: --all-of-it",
        "`mill data nothing`: No such command 'nothing'.",
    ]


@pytest.mark.parametrize(
    ("shell", "found"),
    [
        ("cd x && mill data init y # a comment", [["data", "init", "y"]]),
        ("A=1 mill list | head 2>&1", [["list"]]),
        ("echo mill list", []),
        ("id=$(mill get train --json)", [["get", "train", "--json"]]),
        ("mill submit a -- sh -c 'x; y'", [["submit", "a", "--", "sh", "-c", "x; y"]]),
        ("mill search pause|resume S", [["search", "pause", "S"], ["search", "resume", "S"]]),
        ("cat <<END\nmill nothing\nEND\nmill list", [["list"]]),
        ("mill get JOB#2 2> /dev/null", [["get", "JOB#2"]]),
    ],
)
def test_calls_within_a_shell(shell: str, found: list[list[str]]) -> None:
    assert list(mill_calls(shell)) == found


@pytest.mark.parametrize(
    ("words", "is_right"),
    [
        ("data sync -m x", True), ("--server lab list", True), ("egress --by project", True), ("nothing", False),
        ("data nothing", False), ("get", False), ("run upload /not/here", True), ("cache pin", False),
        ("data --help", True),
        ("compute attach …", True), ("submit x [--gpu N] -- ls --all", True), ("--nothing list", False), ("ps", False),
    ],
)  # fmt: skip
def test_what_the_parser_says(words: str, is_right: bool) -> None:
    assert (problem_of(words.split()) is None) is is_right
