"""Jobs that attack other projects, the cache and the agent, really run under their own accounts; none gets anywhere.

Twice: as most machines allow it, with views of the files; and where nothing but accounts is to be had.
"""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from millpond.agent.drivers import Exited, Reason
from millpond.agent.drivers.process import ProcessDriver
from millpond.agent.isolation import Accounts, Isolation, detect, safely
from millpond.agent.keeper.clock import boot_time
from millpond.agent.keeper.files import read_json
from millpond.agent.prepare import prepare
from millpond.agent.spec import Spec
from millpond.model.job_spec import JobSpec
from millpond.testing.agents import a_placement
from millpond.testing.drivers import finished
from millpond.testing.waiting import wait_until
from millpond.volumes.groups import set_apart
from millpond.volumes.volume import CacheVolume, CommitPlace
from millpond.wire.desired import DesiredInput

pytestmark = [
    pytest.mark.xdist_group("keepers"),
    pytest.mark.skipif(os.geteuid() != 0, reason="only root may run jobs under other accounts"),
]

ACCOUNTS = Accounts.parse("70000-99999")
MINE, THEIRS = 1, 2
MTIME = 1_000_000_000 * 10**9


@dataclass(frozen=True)
class Site:
    """An agent's state and a volume with one cached commit of each of two projects."""

    root: Path
    isolation: Isolation
    driver: ProcessDriver
    volume: CacheVolume

    @property
    def placements(self) -> Path:
        return self.root / "state" / "placements"

    def commit(self, account: int) -> Path:
        return self.volume.commit(CommitPlace(f"project{account}", "dataset", "commit"))

    def start(self, name: str, script: str, *, account: int = MINE, memory_bytes: int = 0, **env: str) -> Path:
        directory = self.placements / name
        data = DesiredInput(
            env="MILL_DATA_X", project_id=f"project{account}", dataset="x", dataset_id="dataset", commit_id="commit",
            volume_id="v", ready=True, account=account,
        )  # fmt: skip
        desired = a_placement(
            name, command=("/bin/sh", "-c", script), account=account, memory_bytes=memory_bytes, inputs=[data], env=env
        )
        inputs = {"MILL_DATA_X": self.commit(account)}
        prepare(directory, desired, server="http://mill", code=None, inputs=inputs, renewed=boot_time())
        self.driver.start(directory)
        return directory

    def run(self, name: str, script: str, *, account: int = MINE, memory_bytes: int = 0, **env: str) -> Exited:
        ended = finished(self.driver, self.start(name, script, account=account, memory_bytes=memory_bytes, **env))
        assert isinstance(ended, Exited)
        return ended

    def log(self, name: str) -> str:
        return (self.placements / name / "log").read_text()


@pytest.fixture(params=["views", "accounts"])
def site(request: pytest.FixtureRequest) -> Iterator[Site]:
    # Not below pytest's own directory, which other accounts may not enter.
    root = Path(tempfile.mkdtemp(prefix="millpond-isolation-"))
    root.chmod(0o755)
    try:
        yield make_site(root, with_views=request.param == "views")
    finally:
        shutil.rmtree(root)


def make_site(root: Path, *, with_views: bool) -> Site:
    state, volume = root / "state", CacheVolume(root / "volume", "v")
    isolation = detect(state, ACCOUNTS)
    if isolation.accounts is None or (with_views and not isolation.views):
        pytest.skip(f"jobs cannot be kept apart here: {isolation.why_shared or 'no mount namespaces'}")
    if not with_views:
        isolation = replace(isolation, views=False, shows_data=False)
        for directory in (state, state / "placements"):
            directory.chmod(0o711)
    (state / "credential.json").write_text("the agent's secret")
    (state / "credential.json").chmod(0o600)
    (volume.root / ".millpond").mkdir(parents=True)
    for account in (MINE, THEIRS):
        tree = volume.commit(CommitPlace(f"project{account}", "dataset", "commit"))
        set_apart(volume, f"project{account}", ACCOUNTS.of(account))
        (tree / "below").mkdir(parents=True)
        for name, mode in (("data.txt", 0o444), ("run.sh", 0o555), ("below/more.txt", 0o444)):
            (tree / name).write_text(f"of project {account}\n")
            (tree / name).chmod(mode)
            os.utime(tree / name, ns=(MTIME, MTIME))
    isolation.hide("volumes", [volume.root])
    return Site(root, isolation, ProcessDriver(isolation=isolation), volume)


def picture(tree: Path) -> dict[str, tuple[int, int, int, bytes]]:
    """All that there is of the files of a tree."""
    return {
        str(path.relative_to(tree)): (found.st_mode, found.st_mtime_ns, found.st_nlink, path.read_bytes())
        for path in sorted(tree.rglob("*"))
        if stat.S_ISREG((found := path.lstat()).st_mode)
    }


def test_a_job_is_who_it_should_be_and_reads_its_input(site: Site) -> None:
    ended = site.run(
        "p1",
        'id -u; id -g; id -G; echo "$USER $HOME"; cat "$MILL_DATA_X/data.txt"; test -x "$MILL_DATA_X/run.sh" && '
        'echo executable; touch "$HOME/a" "$TMPDIR/b" "$MILL_OUTPUT/c" d && echo written >> /dev/stdout',
    )
    assert (ended.exit_code, ended.problem) == (0, None)
    uid = str(ACCOUNTS.of(MINE))
    home = site.placements / "p1" / "home"
    words = [uid, uid, uid, f"mill-default {home}", "of project 1", "executable", "written"]
    assert site.log("p1").splitlines() == words
    assert (site.placements / "p1" / "work" / "d").stat().st_uid == ACCOUNTS.of(MINE)


def test_a_job_has_a_name_by_which_ssh_and_git_know_it(site: Site) -> None:
    if not site.isolation.views:
        pytest.skip("without a view of its own a job sees the machine's /etc/passwd")
    before = Path("/etc/passwd").read_bytes()
    ended = site.run(
        "p1",
        "id -un; id -gn; whoami; echo ~mill-default; ssh -G -T -F none host > /dev/null && echo ssh;"
        "head -n 1 /etc/passwd; (echo x >> /etc/passwd) 2> /dev/null || echo closed",
    )
    assert ended.exit_code == 0
    name, home = "mill-default", str(site.placements / "p1" / "home")
    first = before.splitlines()[0].decode()
    assert site.log("p1").splitlines() == [name, name, name, home, "ssh", first, "closed"]
    assert Path("/etc/passwd").read_bytes() == before


def test_the_cache_of_another_project_is_closed(site: Site) -> None:
    theirs = site.commit(THEIRS)
    ended = site.run(
        "p1",
        f"cat {theirs}/data.txt && echo OPEN; ls {theirs} && echo OPEN; ls {theirs.parents[1]} && echo OPEN;"
        f"ls {site.volume.commits}; ls {site.volume.root}/.millpond && echo OPEN;"
        f"unshare -Urm sh -c 'umount {site.volume.root}; cat {theirs}/data.txt' && echo OPEN; exit 3",
    )
    assert ended.exit_code == 3
    assert "OPEN" not in site.log("p1")
    assert "project2\n" not in site.log("p1")
    assert "of project 2" not in site.log("p1")


def test_an_input_cannot_be_changed_by_its_job(site: Site) -> None:
    before = picture(site.commit(MINE))
    attacks = [
        "echo x >> $F", "echo x > $F", "chmod 777 $F", "mv $F $F.moved", "mv $F $HOME/", "rm -f $F", "ln -f $F $HOME/l",
        "ln $F $D/other", "touch $F", "touch $D/new", "mkdir $D/new", "rmdir $D/below", "truncate -s 0 $F",
        "chmod 777 $D", "mv $D $D.moved", "umount $D", "mount -o remount,rw $D", "unshare -Urm umount $D",
        "unshare -Urm mount -o remount,bind,rw $D", "cp /bin/sh $F",
    ]  # fmt: skip
    script = "D=$MILL_DATA_X; F=$D/data.txt; " + "; ".join(f"({one}) && echo 'OPEN {one}'" for one in attacks)
    site.run("p1", f"{script}; exec 9<$D/data.txt; echo x >&9; echo x > /proc/self/fd/9 && echo OPEN; exit 0")
    # Where hard links are not refused, one to a file of the cache is no more than another name for reading it.
    opened = [line for line in site.log("p1").splitlines() if "OPEN" in line and "ln -f" not in line]
    assert opened == []
    shutil.rmtree(site.placements / "p1")
    assert picture(site.commit(MINE)) == before


def test_other_jobs_and_the_agent_are_out_of_reach(site: Site) -> None:
    other = site.start("p2", "echo here; exec sleep 600", account=THEIRS, SECRET="of project 2")
    command = wait_until(lambda: read_json(str(other / "keeper.json")), within=30)["command"]["pid"]
    keeper = read_json(str(other / "claim"))["pid"]
    attacks = [
        *(f"cat /proc/{pid}/{name}" for pid in (command, keeper, os.getpid()) for name in ("environ", "mem", "maps")),
        *(f"ls /proc/{pid}/{name}/" for pid in (command, keeper, os.getpid()) for name in ("fd", "root", "cwd")),
        *(f"kill -{signal} {pid}" for pid in (command, keeper, os.getpid()) for signal in (0, 9)),
    ]
    try:
        site.run("p1", "; ".join(f"({one}) > /dev/null && echo 'OPEN {one}'" for one in attacks) + "; exit 0")
        assert "OPEN" not in site.log("p1")
        assert site.driver.status(other).__class__.__name__ == "Running"
    finally:
        site.driver.stop(other)
        finished(site.driver, other)


def test_the_agents_state_and_other_placements_are_closed(site: Site) -> None:
    site.run("p2", "echo theirs > $MILL_OUTPUT/result; echo theirs > note", account=THEIRS)
    own = site.placements / "p1"
    wanted = [
        site.root / "state" / "credential.json", own / "spec.json", own / "confinement.json", own / "renewal",
        site.placements / "p2" / "output" / "result", site.placements / "p2" / "work" / "note",
        site.placements / "p2" / "log", site.placements / "p2" / "spec.json",
    ]  # fmt: skip
    assert all(path.exists() for path in wanted if path.parent != own)
    tries = "; ".join(f"cat {path} && echo 'OPEN {path}'" for path in wanted)
    site.run(
        "p1", f"{tries}; ls {site.placements} | grep p2 && echo OPEN; mv {own}/output {own}/away && echo OPEN;"
        f"touch {own}/exit.json && echo OPEN; touch {own}/stop && echo OPEN; exit 0",
    )  # fmt: skip
    assert "OPEN" not in site.log("p1")


def test_links_in_outputs_lead_nowhere(site: Site) -> None:
    secret = site.root / "secret"
    secret.write_text("of the machine\n")
    secret.chmod(0o600)
    seen: list[str] = []

    def save(spec: Spec, output: Path) -> str:
        seen.extend(sorted(path.name for path in output.iterdir()))
        return "commit"

    site.run("p1", f"ln -s {secret} $MILL_OUTPUT/link; ln -s /etc $MILL_OUTPUT/etc; echo own > $MILL_OUTPUT/own")
    output, spec = site.placements / "p1" / "output", a_spec("p1")
    assert safely(save)(spec, output) == "commit"
    assert seen == ["etc", "link", "own"]
    assert (output / "link").is_symlink() and (output / "etc").is_symlink()
    # A kernel that does not refuse such links lets a job make this one.
    (output / "hard").hardlink_to(secret)
    with pytest.raises(OSError, match="'hard' is a link to a file that is not the job's own"):
        safely(save)(spec, output)
    (output / "hard").unlink()
    (output / "below").mkdir()
    (output / "below" / "hard").hardlink_to(site.commit(THEIRS) / "data.txt")
    with pytest.raises(OSError, match="'below/hard'"):
        safely(save)(spec, output)


def test_no_more_rights_by_programs_that_change_the_user(site: Site) -> None:
    ended = site.run("p1", "cp /bin/sh $HOME/sh && chmod 4755 $HOME/sh; su -c id; sudo -n id; mount; exit 0")
    assert ended.exit_code == 0
    assert "uid=0" not in site.log("p1")
    left = site.placements / "p1" / "home" / "sh"
    found = left.stat()
    assert (found.st_mode & stat.S_ISUID, found.st_uid) == (stat.S_ISUID, ACCOUNTS.of(MINE)), "of its own account only"


def test_memory_beyond_what_was_asked_for_is_told_apart(site: Site) -> None:
    if site.isolation.limits is None or not site.isolation.limits.has_memory:
        pytest.skip("no control groups to be had here")
    eats = "x = []\nwhile True: x.append(bytearray(1_000_000))"
    ended = site.run("p1", f'exec {system_python()} -c "{eats}"', memory_bytes=64_000_000)
    assert (ended.reason, ended.signal) == (Reason.OUT_OF_MEMORY, 9)
    assert ended.problem == "Killed for exceeding its memory limit of 64.0 MB."
    ended = site.run("p2", "kill -9 $$", memory_bytes=64_000_000)
    assert (ended.reason, ended.signal) == (None, 9)
    for name in ("p1", "p2"):
        groups = read_json(str(site.placements / name / "confinement.json"))["cgroups"]
        assert groups
        site.driver.forget(site.placements / name)
        assert not any(Path(group).exists() for group in groups)


def test_what_a_killed_keeper_leaves_is_found_by_its_group(site: Site) -> None:
    if site.isolation.limits is None:
        pytest.skip("no control groups to be had here")
    directory = site.start("p1", "env -i setsid sh -c 'echo $$ >> /dev/stdout; exec sleep 600' & wait")
    wait_until(lambda: site.log("p1").strip() if (directory / "log").exists() else None, within=30)
    left = int(site.log("p1").split()[0])
    os.kill(read_json(str(directory / "claim"))["pid"], 9)
    assert type(finished(site.driver, directory)).__name__ == "Lost"
    assert not Path(f"/proc/{left}").exists() or "Z" in Path(f"/proc/{left}/stat").read_text().split()[2]
    site.driver.forget(directory)


@pytest.mark.parametrize("site", ["views"], indirect=True)
def test_programs_below_closed_directories_are_shown(site: Site) -> None:
    """`import millpond` works in a job, wherever Python lies."""
    ended = site.run("p1", "python -c 'import millpond, sys; print(sys.prefix)' && ls /data && cat /data/x/data.txt")
    assert ended.exit_code == 0, site.log("p1")
    assert site.log("p1").splitlines() == [sys.prefix, "x", "of project 1"]


def a_spec(name: str) -> Spec:
    return Spec(name, "job", "default", JobSpec(command=("true",)), {}, "/", 600, 5, account=MINE)


def system_python() -> str:
    for path in ("/usr/bin/python3", "/usr/local/bin/python3"):
        if Path(path).exists() and subprocess.run([path, "-c", ""], check=False).returncode == 0:
            return path
    pytest.skip("no Python that every account can run")
