"""Requirements as people write them, in one form: the same packages give the same files."""

from __future__ import annotations

from pathlib import Path

import pytest

from millpond.errors import BadRequest
from millpond.requirements import Requirements, read_requirements


def written(folder: Path, **files: str) -> Path:
    for name, text in files.items():
        (folder / name.replace("__", ".")).write_text(text)
    return folder


def test_comments_line_ends_and_included_files_do_not_matter(tmp_path: Path) -> None:
    written(
        tmp_path,
        base__txt="numpy>=2\n",
        one__txt="# mine\n-r base.txt\n\ntorch==2.1 \\\n  --hash=sha256:00  # pinned\n",
    )
    written(tmp_path, two__txt="numpy>=2\r\ntorch==2.1 --hash=sha256:00\n")
    one, two = read_requirements(tmp_path / "one.txt"), read_requirements(tmp_path / "two.txt")
    assert one == two == Requirements(("numpy>=2", "torch==2.1 --hash=sha256:00"))
    assert sorted(one.files()) == ["build.py", "requirements.txt"]


def test_a_pyproject_and_the_lock_file_beside_it(tmp_path: Path) -> None:
    written(tmp_path, pyproject__toml='[project]\nname = "x"\ndependencies = ["six", "rich>13"]\n')
    lock = """
    [[package]]
    name = "x"
    version = "0.1"
    source = { editable = "." }
    [[package]]
    name = "six"
    version = "1.16.0"
    source = { registry = "https://pypi.org/simple" }
    """
    written(tmp_path, uv__lock=lock)
    assert read_requirements(tmp_path / "pyproject.toml") == Requirements(("six", "rich>13"))
    assert read_requirements(tmp_path / "uv.lock") == Requirements(("six", "rich>13"), ("six==1.16.0",))


def test_a_lock_file_that_names_everything(tmp_path: Path) -> None:
    text = """
    lock-version = "1.0"
    [[packages]]
    name = "six"
    version = "1.16.0"
    [[packages]]
    name = "colorama"
    version = "0.4.6"
    marker = "sys_platform == 'win32'"
    """
    found = read_requirements(written(tmp_path, pylock__toml=text) / "pylock.toml")
    assert found == Requirements(("six==1.16.0", "colorama==0.4.6 ; sys_platform == 'win32'"), complete=True)
    assert "no-deps" in found.files()


@pytest.mark.parametrize("line", ["-e .", "./wheel", "-c constraints.txt", "/srv/wheels/x.whl", "-r own.txt"])
def test_what_only_this_machine_understands_is_refused(tmp_path: Path, line: str) -> None:
    with pytest.raises(BadRequest):
        read_requirements(written(tmp_path, own__txt=f"{line}\n") / "own.txt")


def test_a_file_that_is_not_there_or_no_requirements(tmp_path: Path) -> None:
    with pytest.raises(BadRequest, match="File not found"):
        read_requirements(tmp_path / "requirements.txt")
    with pytest.raises(BadRequest, match="lists no"):
        read_requirements(written(tmp_path, pyproject__toml="[tool.x]\n") / "pyproject.toml")
