"""What leaves the machine of a log: no secret, whatever the moments of looking; and nothing of a hole."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from millpond.agent.log_file import GAP, LOG, LogFile
from millpond.masking import Mask, secrets_of
from millpond.testing.agents import a_spec

ENV = {"MILL_TOKEN": "mill_" + "t0k3n" * 8, "WANDB_API_KEY": "wandb-key-1234", "PLAIN": "visible"}


def placement(directory: Path) -> Path:
    directory.mkdir(exist_ok=True)
    a_spec(env=ENV, directory="/", valid_seconds=1, grace_seconds=1, secret_env=("PLAIN",)).write(directory)
    return directory


def write(directory: Path, content: bytes) -> None:
    (directory / LOG).write_bytes(content)


def everything(directory: Path, start: int = 0) -> bytes:
    """As a server that has `start` bytes gets it, with zeros for what was left out."""
    sent = bytearray(start)
    file = LogFile(directory)
    while (taken := file.take(len(sent), 1, ended=True)) is not None:
        sent.extend(bytes(taken.offset - len(sent)) + taken.data)
    return bytes(sent)


def test_secrets_of_the_job_do_not_leave(tmp_path: Path) -> None:
    directory = placement(tmp_path)
    content = f"with {ENV['MILL_TOKEN']} and {ENV['WANDB_API_KEY']}, {ENV['PLAIN']}\n".encode()
    write(directory, content)
    assert everything(directory) == f"with {'*' * 45} and {'*' * 14}, *******\n".encode()


PIECES = st.lists(
    st.sampled_from([ENV["MILL_TOKEN"], "wandb-key-", "1234", "visi", "ble", "mill_", "\n", " plain text ", "w"]),
    max_size=30,
)


@settings(max_examples=60)
@given(pieces=PIECES, cuts=st.lists(st.integers(0, 600), max_size=8), restart=st.booleans())
def test_looking_at_any_moment_sends_the_same(
    tmp_path_factory: pytest.TempPathFactory, pieces: list[str], cuts: list[int], restart: bool
) -> None:
    directory = placement(tmp_path_factory.getbasetemp() / "looking")
    content = "".join(pieces).encode()
    whole = Mask(secrets_of(ENV, ["PLAIN"])).apply(content)
    sent, file = b"", LogFile(directory)
    for end in [*sorted(cuts), len(content)]:
        write(directory, content[:end])
        if restart:
            file = LogFile(directory)
        while (taken := file.take(len(sent), 1, ended=end >= len(content))) is not None:
            assert taken.offset == len(sent)
            sent += taken.data
            assert whole.startswith(sent)
    assert sent == whole


def test_what_the_keeper_let_go_is_passed_over(tmp_path: Path) -> None:
    directory = placement(tmp_path)
    lines = [b"line %05d\n" % number for number in range(9_000)]
    content = b"".join(lines)
    write(directory, content[:20_000] + bytes(50_000) + content[70_000:])
    (directory / GAP).write_text(f"{20_000:019d} {70_000:019d}\n")
    sent = everything(directory)
    # From the next whole line on: half a line could be half a secret.
    behind = content.index(b"\n", 70_000) + 1
    assert sent == content[:20_000] + bytes(behind - 20_000) + content[behind:]


def test_secrets_at_the_edges_of_a_hole_do_not_leave_in_halves(tmp_path: Path) -> None:
    directory = placement(tmp_path)
    token = ENV["MILL_TOKEN"].encode()
    content = b"a" * 30_000 + token[:20] + bytes(40_000) + token[20:] + b" more\nthe end\n"
    write(directory, content)
    (directory / GAP).write_text(f"{30_020:019d} {70_020:019d}\n")
    sent = everything(directory)
    assert sent.rstrip(b"\0") == sent and sent.endswith(b"the end\n")
    assert sent.strip(b"a").strip(b"\0") == b"the end\n"


def test_an_offset_just_behind_a_hole_is_not_trusted(tmp_path: Path) -> None:
    """What lies before it is gone, so nobody knows whether it is the middle of a secret."""
    directory = placement(tmp_path)
    content = bytes(50_000) + ENV["MILL_TOKEN"].encode()[25:] + b"\nbehind\n"
    write(directory, content)
    (directory / GAP).write_text(f"{100:019d} {50_000:019d}\n")
    assert everything(directory, 50_003)[50_003:].strip(b"\0") == b"behind\n"


def test_a_hole_that_grows_while_it_is_read(tmp_path: Path) -> None:
    directory = placement(tmp_path)
    chance = random.Random(3)
    content = b"".join(b"%d\n" % chance.randrange(10**9) for _ in range(20_000))
    file, sent, holes = LogFile(directory), bytearray(), []
    for size in range(10_000, len(content), 10_000):
        end = max(0, size - 30_000)
        holes.append(end)
        write(directory, content[:5_000] + bytes(max(0, end - 5_000)) + content[max(end, 5_000) : size])
        (directory / GAP).write_text(f"{5_000:019d} {end:019d}\n")
        if chance.random() < 0.3:
            taken = file.take(len(sent), 20_000, ended=False)
            if taken is not None:
                sent.extend(bytes(taken.offset - len(sent)) + taken.data)
    while (taken := file.take(len(sent), 1, ended=True)) is not None:
        sent.extend(bytes(taken.offset - len(sent)) + taken.data)
    size = (directory / LOG).stat().st_size
    assert len(sent) == size
    assert all(byte in (0, original) for byte, original in zip(sent, content[:size], strict=True))
    assert bytes(sent).endswith(content[size - 20_000 : size])
