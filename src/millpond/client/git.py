"""Git as the source of a job's code: check out a revision; tell uncommitted changes of a working directory."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

from millpond.errors import BadRequest

# A tag holds so many changed files; how many there are in all is said beside them.
MAX_DIRTY = 100
_HINT = "Write it as --git URL@REVISION, or @REVISION for the repository of this folder."


@dataclass(frozen=True, slots=True)
class GitState:
    """Where code comes from. `dirty`: paths that differ from the commit, or are not in it."""

    url: str
    commit: str
    branch: str | None = None
    dirty: tuple[str, ...] = ()

    def tags(self) -> dict[str, str]:
        """As the tags of a run."""
        found = {"git.url": self.url, "git.commit": self.commit}
        if self.branch:
            found["git.branch"] = self.branch
        if self.dirty:
            found["git.dirty"] = str(len(self.dirty))
            found["git.dirty_files"] = json.dumps(self.dirty[:MAX_DIRTY])
        return found


@dataclass(frozen=True, slots=True)
class Checkout:
    folder: Path
    state: GitState


def read_state(folder: Path) -> GitState | None:
    """Git state of the folder; None if it is not a repository, has no commit, or Git is not installed."""
    try:
        commit = _git(folder, "rev-parse", "HEAD").strip()
        branch = _git(folder, "rev-parse", "--abbrev-ref", "HEAD").strip()
        status = _git(folder, "status", "--porcelain", "-z", "--no-renames", "--", ".")
        remote = _git(folder, "config", "--default", "", "--get", "remote.origin.url").strip()
        top = _git(folder, "rev-parse", "--show-toplevel").strip()
    except (GitError, FileNotFoundError):
        return None
    dirty = tuple(entry[3:] for entry in status.split("\0") if entry)
    return GitState(without_password(remote or top), commit, None if branch == "HEAD" else branch, dirty)


@contextmanager
def checked_out(written: str, folder: Path) -> Iterator[Checkout]:
    """Check `URL@REV`, or `@REV` of the repository around `folder`, out into a temporary folder.

    Without a revision, the default branch. Raises BadRequest with Git's message on failure.
    """
    url, revision = split_written(written)
    if url.startswith("-") or revision.startswith("-"):
        raise BadRequest(f"{written!r} is not URL@REVISION.", hint=_HINT)  # Git would take it for an option
    try:
        source = _source(url, folder)
        with tempfile.TemporaryDirectory(prefix="millpond-git-") as temporary:
            target = Path(temporary)
            _git(target, "init", "--quiet", "repository")
            commit = _fetch(target / "repository", source, revision)
            (target / "files").mkdir()
            _git(target / "repository", "--work-tree", str(target / "files"), "checkout", "--quiet", "--force", commit)
            remote = url or _git(folder, "config", "--default", source, "--get", "remote.origin.url").strip()
            _bring_submodules(target / "repository", target / "files", remote if "://" in remote else source)
            yield Checkout(target / "files", GitState(without_password(remote), commit))
    except GitError as error:
        what = f"{without_password(url)} at {revision}" if url else f"this folder's repository at {revision}"
        raise BadRequest(f"Git cannot fetch {what}: {error}", hint=_HINT) from error
    except FileNotFoundError as error:
        raise BadRequest("Git is not installed here.", hint="Leave out --git to send the folder as it is.") from error


def split_written(written: str) -> tuple[str, str]:
    """Split `URL@REV`. In git@host:path, the part before @ is a user name and there is no revision."""
    url, at, revision = written.rpartition("@")
    is_user = ":" in revision or ("://" in url and "/" not in url.partition("://")[2])
    return (written, "HEAD") if not at or is_user else (url, revision or "HEAD")


def without_password(url: str) -> str:
    """The URL without its password."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https", "ssh") or not parts.hostname:
        return url
    port = f":{parts.port}" if parts.port else ""
    return urlunsplit((parts.scheme, f"{parts.hostname}{port}", parts.path, "", ""))


class GitError(Exception):
    """A Git command failed; the message is Git's last line."""


def _source(url: str, folder: Path) -> str:
    """URL or absolute path to fetch from; relative paths start at `folder`."""
    if not url:
        return _git(folder, "rev-parse", "--show-toplevel").strip()
    return str((folder / url).absolute()) if (folder / url).is_dir() else url


def _fetch(repository: Path, source: str, revision: str) -> str:
    """Fetch one revision, without history if the server allows it; return its commit."""
    try:
        _git(repository, "fetch", "--quiet", "--depth", "1", source, revision)
        return _git(repository, "rev-parse", "FETCH_HEAD^{commit}").strip()
    except GitError:
        # Short ids and, on some servers, whole ones are known only to who has everything.
        _git(repository, "fetch", "--quiet", "--tags", source, "+refs/heads/*:refs/heads/*")
    try:
        return _git(repository, "rev-parse", "--verify", "--quiet", f"{revision}^{{commit}}").strip()
    except GitError as error:
        raise GitError("no such commit, branch or tag.") from error


def _bring_submodules(repository: Path, files: Path, remote: str) -> None:
    """Fetch submodules, if the commit has any. Relative submodule URLs start at `remote`."""
    if not (files / ".gitmodules").exists():
        return
    _git(repository, "config", "remote.origin.url", remote)
    place = ("--git-dir", str(repository / ".git"), "--work-tree", str(files))
    _git(files, *place, "submodule", "--quiet", "update", "--init", "--recursive")
    for link in list(files.rglob(".git")):
        link.unlink()


def _git(folder: Path, *words: str) -> str:
    # Nobody is there to type a password, and what is set for another repository must not count here.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_DIR")}
    environment |= {"GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}
    done = subprocess.run(
        ["git", *words], cwd=folder, env=environment, capture_output=True, text=True, errors="surrogateescape",
        check=False, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    if done.returncode:
        lines = [line for line in done.stderr.strip().splitlines() if line]
        fatal = [line for line in lines if line.startswith(("fatal:", "error:"))]
        raise GitError((fatal or lines or [f"git {words[0]} exited with {done.returncode}"])[0])
    return done.stdout
