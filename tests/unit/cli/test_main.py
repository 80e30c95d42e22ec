"""What a command that fails says, and with which exit code."""

from __future__ import annotations

import pytest

from millpond.cli.main import main


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--backoff", "2d"), "backoff_seconds: Input should be less than or equal to 86400"),
        (("--image", ""), "image: String should have at least 1 character"),
    ],
)
def test_what_no_job_can_be_is_a_mistake_of_whoever_asks(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, str], words: str
) -> None:
    monkeypatch.setenv("MILL_SERVER", "http://127.0.0.1:1")
    monkeypatch.setenv("MILL_TOKEN", "mill_none")
    assert main(["submit", "--no-code", *arguments, "--", "true"]) == 2
    assert words in capsys.readouterr().err


@pytest.mark.parametrize(
    "arguments", [("submit", "--no-code", "--", "printf", "a\udcff"), ("get", "a\udcff"), ("list", "\udcff")]
)
def test_arguments_that_are_no_text_are_named_as_such(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...]
) -> None:
    monkeypatch.setenv("MILL_SERVER", "http://127.0.0.1:1")
    monkeypatch.setenv("MILL_TOKEN", "mill_none")
    assert main(arguments) == 2
    assert "not valid UTF-8" in capsys.readouterr().err
