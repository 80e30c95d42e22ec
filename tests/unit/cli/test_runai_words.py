"""Run:AI's options mean what they mean there."""

from __future__ import annotations

import pytest

from millpond.cli import runai_words as runai
from millpond.errors import BadRequest


def test_the_command_comes_from_after_the_dashes_or_from_command_and_args() -> None:
    assert runai.command_of(["python", "t.py"], None, None) == ["python", "t.py"]
    assert runai.command_of([], "python -u", ["t.py", "--epochs 3"]) == ["python", "-u", "t.py", "--epochs", "3"]


@pytest.mark.parametrize(
    ("after", "command", "arguments", "words"),
    [(["x"], "y", None, "Cannot combine"), ([], None, ["x"], "--args needs --command")],
)
def test_two_commands_or_none_are_refused(
    after: list[str], command: str | None, arguments: list[str] | None, words: str
) -> None:
    with pytest.raises(BadRequest, match=words):
        runai.command_of(after, command, arguments)


def test_command_may_stand_as_a_flag_before_the_dashes() -> None:
    assert runai.without_bare_command(["x", "--command"], ["sleep", "1"]) == ["x"]
    assert runai.without_bare_command(["x", "--command"], []) == ["x", "--command"]


@pytest.mark.parametrize(("text", "port"), [("8888", 8888), ("80:8888", 8888)])
def test_a_port_is_the_one_inside_the_job(text: str, port: int) -> None:
    assert runai.parse_port(text) == port


@pytest.mark.parametrize("text", ["", "x", "0", "70000", "1:"])
def test_what_is_not_a_port_is_refused(text: str) -> None:
    with pytest.raises(BadRequest, match="is not a port"):
        runai.parse_port(text)


def test_service_types_need_a_port_and_a_known_name() -> None:
    runai.check_service_type("NodePort", ["80"])
    with pytest.raises(BadRequest, match="needs --port"):
        runai.check_service_type("ingress", None)
    with pytest.raises(BadRequest, match="Unknown service type"):
        runai.check_service_type("vpn", ["80"])


def test_a_node_type_is_a_label() -> None:
    assert runai.selector_of({"zone": "a"}, "dgx1") == {"zone": "a", "run.ai/type": "dgx1"}
