from __future__ import annotations

import signal
from pathlib import Path

import pytest

from millpond.agent.drivers import Exited, Reason
from millpond.agent.drivers.podman.exit_codes import explained

NOT_FOUND = "Command not found in the image: 'train'."


@pytest.mark.parametrize(
    ("code", "log", "expected"),
    [
        (0, "", Exited(exit_code=0)),
        (3, "Error: mine\n", Exited(exit_code=3)),
        (139, "", Exited(signal=signal.SIGSEGV)),
        (255, "", Exited(exit_code=255)),
        (125, "out\n", Exited(exit_code=125)),
        (
            125,
            "Error: nosuch: image not known\n",
            Exited(
                125, reason=Reason.NOT_STARTED, problem="Podman could not start the container: nosuch: image not known."
            ),
        ),
        (
            1,
            "ERROR (catatonit:6): failed to exec pid1: No such file or directory\n",
            Exited(127, reason=Reason.NOT_STARTED, problem=NOT_FOUND),
        ),
        (
            127,
            'Error: runc: unable to start container process: exec: "train": executable file not found in $PATH: OCI\n',
            Exited(127, reason=Reason.NOT_STARTED, problem=NOT_FOUND),
        ),
        (
            126,
            'Error: runc: unable to start container process: exec: "train": permission denied: OCI permission denied\n',
            Exited(
                126, reason=Reason.NOT_STARTED, problem="Permission denied: 'train' is not executable in the image."
            ),
        ),
    ],
)
def test_codes_and_last_words(code: int, log: str, expected: Exited, tmp_path: Path) -> None:
    (tmp_path / "log").write_text(log)
    assert explained(Exited(exit_code=code), "train", tmp_path / "log") == expected


def test_what_the_keeper_ended_ended_by_a_signal(tmp_path: Path) -> None:
    said = Exited(exit_code=143, reason=Reason.STOPPED)
    assert explained(said, "train", tmp_path / "log") == Exited(signal=signal.SIGTERM, reason=Reason.STOPPED)
