"""Git as the source of code, with real repositories."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from millpond.client.git import checked_out, read_state, split_written, without_password
from millpond.errors import BadRequest


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "repository"
    folder.mkdir()
    git(folder, "init", "--quiet", "--initial-branch", "main")
    for text in ("one", "two"):
        (folder / "train.py").write_text(text)
        (folder / ".gitignore").write_text("*.log\n")
        git(folder, "add", ".")
        git(folder, "-c", "user.name=m", "-c", "user.email=m@example.com", "commit", "--quiet", "-m", text)
        git(folder, "tag", text)
    return folder


def git(folder: Path, *words: str) -> str:
    return subprocess.run(["git", *words], cwd=folder, check=True, capture_output=True, text=True).stdout.strip()


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("https://host/a/b.git@v1", ("https://host/a/b.git", "v1")),
        ("https://host/a/b.git@feature/x", ("https://host/a/b.git", "feature/x")),
        ("https://host/a/b.git", ("https://host/a/b.git", "HEAD")),
        ("https://user:word@host/a.git", ("https://user:word@host/a.git", "HEAD")),
        ("https://user:word@host/a.git@v1", ("https://user:word@host/a.git", "v1")),
        ("git@host:a/b.git", ("git@host:a/b.git", "HEAD")),
        ("git@host:a/b.git@v1", ("git@host:a/b.git", "v1")),
        ("ssh://git@host/b.git", ("ssh://git@host/b.git", "HEAD")),
        ("@v1", ("", "v1")),
        ("@", ("", "HEAD")),
    ],
)
def test_url_and_revision(text: str, parts: tuple[str, str]) -> None:
    assert split_written(text) == parts


def test_passwords_are_not_kept() -> None:
    assert without_password("https://mary:secret@host:8443/a.git?token=x") == "https://host:8443/a.git"
    assert without_password("git@host:a/b.git") == "git@host:a/b.git"


def test_a_clean_and_a_changed_folder(repository: Path) -> None:
    state = read_state(repository)
    assert state is not None
    assert (state.commit, state.branch, state.dirty) == (git(repository, "rev-parse", "HEAD"), "main", ())
    (repository / "train.py").write_text("three")
    (repository / "new file.py").write_text("")
    (repository / "x.log").write_text("")
    changed = read_state(repository)
    assert changed is not None and set(changed.dirty) == {"train.py", "new file.py"}
    assert changed.tags()["git.dirty"] == "2"


def test_a_folder_without_git(tmp_path: Path) -> None:
    assert read_state(tmp_path) is None


@pytest.mark.parametrize(("revision", "text"), [("one", "one"), ("main", "two"), ("HEAD", "two"), ("short", "one")])
def test_a_revision_of_a_repository(repository: Path, tmp_path: Path, revision: str, text: str) -> None:
    wanted = git(repository, "rev-parse", "one")[:10] if revision == "short" else revision
    (repository / "train.py").write_text("not committed")
    with checked_out(f"file://{repository}@{wanted}", tmp_path) as checkout:
        assert sorted(path.name for path in checkout.folder.iterdir()) == [".gitignore", "train.py"]
        assert (checkout.folder / "train.py").read_text() == text
        assert checkout.state.tags()["git.url"] == f"file://{repository}"
    with checked_out(f"@{wanted}", repository) as own:
        assert own.state.commit == checkout.state.commit


def test_a_path_is_one_from_the_folder(repository: Path) -> None:
    with checked_out(f"../{repository.name}@one", repository) as checkout:
        assert (checkout.folder / "train.py").read_text() == "one"


def test_submodules_come_along(repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    allowed = {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "protocol.file.allow", "GIT_CONFIG_VALUE_0": "always"}
    for name, value in allowed.items():
        monkeypatch.setenv(name, value)
    around = tmp_path / "around"
    around.mkdir()
    git(around, "init", "--quiet", "--initial-branch", "main")
    git(around, "submodule", "--quiet", "add", f"../{repository.name}", "inner")
    git(around, "-c", "user.name=m", "-c", "user.email=m@example.com", "commit", "--quiet", "-m", "one")
    for written in ("@HEAD", f"file://{around}"):
        with checked_out(written, around) as checkout:
            found = sorted(path.name for path in (checkout.folder / "inner").iterdir())
            assert found == [".gitignore", "train.py"]
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", "never")
    with pytest.raises(BadRequest, match="transport 'file' not allowed"), checked_out("@HEAD", around):
        pass


@pytest.mark.parametrize("written", ["--upload-pack=touch {}", "--upload-pack=touch {}@main", "{}@--output={}", "@-x"])
def test_what_looks_like_an_option_is_refused(tmp_path: Path, written: str) -> None:
    made = tmp_path / "made"
    with (
        pytest.raises(BadRequest, match="not URL@REVISION"),
        checked_out(written.format(made, made), tmp_path),
    ):
        pass
    assert not made.exists()


def test_what_git_cannot_give_is_said_in_its_words(repository: Path, tmp_path: Path) -> None:
    with (
        pytest.raises(BadRequest, match="at nothing: no such commit"),
        checked_out(f"file://{repository}@nothing", tmp_path),
    ):
        pass
