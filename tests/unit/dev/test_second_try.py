"""What CI says of tests that fail once: the last lines name those that passed the second time."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[3] / "dev" / "second_try.py"
TESTS = """
from pathlib import Path

def test_lucky():
    seen = Path("seen")
    if not seen.exists():
        seen.touch()
        raise AssertionError

def test_good():
    pass

def test_bad():
    assert {bad}
"""


@pytest.mark.parametrize("bad", [False, True])
def test_names_stand_last(tmp_path: Path, bad: bool) -> None:
    (tmp_path / "test_it.py").write_text(TESTS.format(bad=not bad))
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    command = [sys.executable, "-m", "pytest"]
    assert subprocess.run([*command, "-q"], cwd=tmp_path, capture_output=True, check=False).returncode == 1
    run = f"import sys; sys.path.insert(0, {str(SCRIPT.parent)!r}); import second_try; from pathlib import Path; "
    run += f"sys.exit(second_try.main(Path({str(tmp_path)!r}), {command!r}))"
    again = subprocess.run([sys.executable, "-c", run], capture_output=True, text=True, check=False)
    assert again.returncode == int(bad), again.stdout + again.stderr
    assert again.stdout.splitlines()[-2:] == ["Passed only the second time (1):", "  test_it.py::test_lucky"]
