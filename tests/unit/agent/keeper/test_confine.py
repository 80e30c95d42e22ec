"""What a machine allows is found out without changing anything of it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from millpond.agent.keeper import confine

ACCOUNT = 70_123


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may give files away")
def test_asking_what_is_allowed_gives_nothing_of_the_agent_away(tmp_path: Path) -> None:
    with (tmp_path / "agent.log").open("wb") as log:
        asked = subprocess.run(
            [sys.executable, "-I", "-S", confine.__file__, str(ACCOUNT)],
            stdout=subprocess.PIPE,
            stderr=log,
            timeout=60,
            check=True,
        )
    assert json.loads(asked.stdout)["account"] is None
    assert (tmp_path / "agent.log").stat().st_uid == 0
