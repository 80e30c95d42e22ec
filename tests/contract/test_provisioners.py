"""The provisioners of deploy/provisioners, each through the contract; clouds by programs that answer as theirs do."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from millpond.services.computes.provisioners import CommandProvisioner, Provisioner, ProvisionerFailed, open_provisioner
from millpond.testing.provisioners import ProvisionerContract, a_machine
from tests.contract import fake_clouds

FOLDER = Path(__file__).parents[2] / "deploy" / "provisioners"


def opened(
    name: str, options: Mapping[str, str], elastic: str = "burst", owner: str = "mill-0001"
) -> CommandProvisioner:
    return open_provisioner(FOLDER, name, owner=owner, elastic=elastic, options=options)


class CloudContract(ProvisionerContract):
    """The contract with fake programs on the path, and what a new machine is made to run."""

    name = ""
    options: Mapping[str, str] = {}

    @pytest.fixture(autouse=True)
    def programs(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """The path holds nothing else: whoever runs these tests may have the real programs, signed in."""
        folder = tmp_path / "bin"
        folder.mkdir()
        for program in fake_clouds.PROGRAMS:
            script = Path(fake_clouds.__file__).read_text()
            (folder / program).write_text(f"#!{sys.executable}\n{script}")
        # Not the one found by `env`: pyenv's puts its own directory, and the real `aws` in it, before all others.
        (folder / "python3").write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
        for program in folder.iterdir():
            program.chmod(0o755)
        monkeypatch.setenv("PATH", str(folder))
        monkeypatch.setenv("FAKE_CLOUD", str(tmp_path / "cloud.json"))
        look = f"import shutil; print(*map(shutil.which, {fake_clouds.PROGRAMS}))"
        found = subprocess.run(["python3", "-c", look], capture_output=True, text=True, check=True).stdout.split()
        assert found == [str(folder / program) for program in fake_clouds.PROGRAMS], "the real one would be run"

    @pytest.fixture
    def provisioner(self) -> Provisioner:
        return opened(self.name, self.options)

    @pytest.fixture
    def elsewhere(self, provisioner: Provisioner) -> Provisioner | None:
        return opened(self.name, self.options, owner="mill-0002")

    def created(self, provisioner: Provisioner, tmp_path: Path, **changes: object) -> dict[str, Any]:
        provisioner.create(a_machine(**changes))
        found: dict[str, Any] = next(iter(json.loads((tmp_path / "cloud.json").read_text()).values()))
        return found

    def test_a_new_machine_runs_the_agent(self, provisioner: Provisioner, tmp_path: Path) -> None:
        script = self.created(provisioner, tmp_path, labels={"rack": "it's 7"})["script"]
        assert "--server http://127.0.0.1:1" in script and "--node burst-0001" in script and "--site local" in script
        assert "mill_join_secret" in script and "python3 -m pip install millpond" in script
        check = subprocess.run(["/bin/sh", "-n"], input=script, text=True, check=False, capture_output=True)
        assert check.returncode == 0, check.stderr

    def test_a_missing_option_is_named(self) -> None:
        if not self.options:
            pytest.skip("it has none that must be given")
        missing = min(self.options)
        rest = {key: value for key, value in self.options.items() if key != missing}
        with pytest.raises(ProvisionerFailed, match=f"The option {missing} is missing"):
            opened(self.name, rest).create(a_machine())


class TestAws(CloudContract):
    name = "aws"
    options = {"image": "ami-1", "instance_type": "g5.xlarge"}

    def test_asked_twice_for_one_machine_there_is_one(self, provisioner: Provisioner) -> None:
        for _ in range(2):
            provisioner.create(a_machine())
        assert list(provisioner.observe()) == ["burst-0001"]

    def test_spot_and_network(self, tmp_path: Path) -> None:
        more = {"spot": "yes", "subnet": "subnet-1", "region": "eu-central-1", "disk_gb": "200", "profile": "mill"}
        asked = self.created(opened("aws", {**self.options, **more}), tmp_path)["asked"]
        assert {"MarketType=spot", "subnet-1", "eu-central-1", "Name=mill"} <= set(asked)


class TestGoogleCloud(CloudContract):
    name = "gcloud"
    options = {"project": "lab", "zone": "europe-west4-a", "machine_type": "n1-standard-8"}

    def test_gpus(self, tmp_path: Path) -> None:
        options = {**self.options, "accelerator": "nvidia-tesla-t4", "spot": "yes"}
        asked = self.created(opened("gcloud", options), tmp_path, gpus=2)["asked"]
        assert "type=nvidia-tesla-t4,count=2" in asked and "TERMINATE" in asked


class TestAzure(CloudContract):
    name = "azure"
    options = {"resource_group": "lab", "size": "Standard_NC4as_T4_v3"}


class TestSkyPilot(CloudContract):
    name = "skypilot"

    def test_resources(self, tmp_path: Path) -> None:
        task = self.created(opened("skypilot", {"accelerators": "A100:1", "spot": "yes"}), tmp_path)["task"]
        assert task["resources"] == {"accelerators": "A100:1", "use_spot": True, "cpus": "4+"}


class TestLocal(ProvisionerContract):
    """With a program that waits instead of an agent; tests/integration/test_elastic.py has real ones."""

    @pytest.fixture
    def provisioner(self, tmp_path: Path) -> Iterator[Provisioner]:
        program = tmp_path / "mill"
        program.write_text("#!/bin/sh\nexec sleep 600 # $*\n")
        program.chmod(0o755)
        yield opened("local", {"state": str(tmp_path / "state"), "mill": str(program)})
        for pid in tmp_path.glob("state/*/*/*/pid"):
            subprocess.run(["kill", "-9", pid.read_text().strip()], check=False, capture_output=True)

    @pytest.fixture
    def elsewhere(self, provisioner: Provisioner, tmp_path: Path) -> Provisioner | None:
        return opened("local", {"state": str(tmp_path / "state"), "mill": str(tmp_path / "mill")}, elastic="other")


def write(folder: Path, **commands: str) -> CommandProvisioner:
    for name in ("create", "observe", "delete"):
        (folder / name).write_text(f"#!/bin/sh\n{commands.get(name, 'true')}\n")
        (folder / name).chmod(0o755)
    return CommandProvisioner(folder, owner="o", elastic="e", options={"region": "eu", "two-words": "a b"})


def test_what_a_command_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MILL_TOKEN", "the server's own")
    provisioner = write(tmp_path, create="env > told")
    provisioner.create(a_machine(labels={"b": "2", "a": "1"}))
    told = dict(line.split("=", 1) for line in (tmp_path / "told").read_text().splitlines() if "=" in line)
    assert (told["MILL_OWNER"], told["MILL_ELASTIC"], told["MILL_NODE"]) == ("o", "e", "burst-0001")
    assert (told["MILL_OPTION_REGION"], told["MILL_OPTION_TWO_WORDS"], told["MILL_LABELS"]) == ("eu", "a b", "a=1,b=2")
    assert "MILL_TOKEN" not in told


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("echo oops", "`observe` answered 'oops"),
        ("echo '[1]'", "`observe` answered"),
        ("echo warming up >&2; echo no credentials >&2; exit 3", "failed with exit code 3: no credentials"),
        ("exit 1", "failed with exit code 1: no message"),
    ],
)
def test_what_nobody_understands_is_a_failure(tmp_path: Path, command: str, words: str) -> None:
    with pytest.raises(ProvisionerFailed, match=words):
        write(tmp_path, observe=command).observe()


def test_a_command_that_hangs_is_ended(tmp_path: Path) -> None:
    provisioner = write(tmp_path, create="sleep 600 & echo $! > pid; wait")
    with pytest.raises(ProvisionerFailed, match="took longer than 1 s"):
        provisioner.create(a_machine(start_seconds=1.0))
    pid = (tmp_path / "pid").read_text().strip()
    assert not Path("/proc", pid).exists() or "Z" in Path("/proc", pid, "stat").read_text().split()[2]


def test_the_scripts_are_executable_and_whole() -> None:
    for name in ("aws", "azure", "gcloud", "local", "skypilot"):
        opened(name, {})
