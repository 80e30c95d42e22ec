"""What a release brings along: the review of its locks, its bill of materials, its signed checksums."""

from __future__ import annotations

import importlib.util
import json
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from packaging.requirements import Requirement

DEV = Path(__file__).resolve().parents[3] / "dev"
KNOWN: Any = {"pypi": [{"name": "h11", "versions": "<0.16", "why": "CVE"}], "npm": []}


def script(name: str) -> ModuleType:
    if str(DEV) not in sys.path:
        sys.path.insert(0, str(DEV))
    spec = importlib.util.spec_from_file_location(name, DEV / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = sys.modules.setdefault(name, importlib.util.module_from_spec(spec))
    spec.loader.exec_module(module)
    return module


locks = script("locks")
audit = script("audit_locks")
sbom = script("make_sbom")
sign_dist = script("sign_dist")


def test_the_lock_of_python_packages(tmp_path: Path) -> None:
    file = tmp_path / "constraints.txt"
    lines = ["# made", "h11==0.16.0 \\", "    --hash=sha256:aa \\", "    --hash=sha256:bb"]
    lines += ["Num_Py==2.0 ; python_version < '3.12' \\", "    --hash=sha256:cc"]
    file.write_text("\n".join(lines) + "\n")
    first, second = locks.python_packages(file)
    assert (first.name, first.version, first.hashes, first.url) == (
        "h11",
        "0.16.0",
        ("aa", "bb"),
        "pkg:pypi/h11@0.16.0",
    )
    assert (second.name, second.marker) == ("num-py", "python_version < '3.12'")
    file.write_text("h11>=0.16\n")
    with pytest.raises(ValueError, match="is not NAME==VERSION"):
        list(locks.python_packages(file))


def test_the_lock_of_npm_packages(tmp_path: Path) -> None:
    file = tmp_path / "package-lock.json"
    packages = {
        "": {"name": "millpond-web"},
        "node_modules/@mantine/core": {"version": "9.0.0", "integrity": "sha512-YWE=", "license": "MIT"},
        "node_modules/a/node_modules/b": {"version": "1.0.0", "dev": True},
    }
    file.write_text(json.dumps({"packages": packages}))
    core, b = locks.npm_packages(file)
    assert (core.name, core.url, core.license) == ("@mantine/core", "pkg:npm/%40mantine/core@9.0.0", "MIT")
    assert b.name == "b" and b.is_development


def test_a_review_finds_what_is_wrong() -> None:
    good = locks.Locked("pypi", "h11", "0.16.0", ("aa",))
    assert list(audit.unpinned([Requirement("h11>=0.16")], [good])) == []
    (forgotten,) = audit.unpinned([Requirement("httpx>=1")], [good])
    assert "make lock" in forgotten
    assert list(audit.unhashed([good, locks.Locked("npm", "a", "1", (), is_optional=True)])) == []
    assert len(list(audit.unhashed([locks.Locked("pypi", "a", "1"), locks.Locked("npm", "b", "1", ("sha1-x",))]))) == 2
    assert list(audit.known_bad([good], KNOWN)) == []
    (bad,) = audit.known_bad([locks.Locked("pypi", "h11", "0.14.0")], KNOWN)
    assert "CVE" in bad


@pytest.mark.parametrize(
    ("license", "refused"),
    [("MIT", False), ("LGPL-3.0-only", False), ("MIT OR GPL-2.0", False), ("GPL-3.0-only", True), ("SSPL-1.0", True)],
)
def test_licences_that_forbid_to_ship(license: str, refused: bool) -> None:
    assert bool(list(audit.refused_licenses([locks.Locked("npm", "a", "1", license=license)], {}))) is refused
    built_with = locks.Locked("npm", "a", "1", license=license, is_development=True)
    assert not list(audit.refused_licenses([built_with], {}))


def test_the_bill_of_materials_is_the_same_for_the_same_locks() -> None:
    project = {"name": "millpond", "version": "1.0", "license": "Apache-2.0"}
    packages = [
        locks.Locked("npm", "@a/b", "1", ("sha512-YWE=",), license="MIT"),
        locks.Locked("pypi", "h11", "2", ("cc",)),
    ]
    bill = sbom.sbom(project, packages, {"h11": "MIT"})
    assert bill == sbom.sbom(project, [*reversed(packages), packages[0]], {"h11": "MIT"})
    first, second = bill["components"]
    assert (first["group"], first["name"], first["hashes"]) == ("@a", "b", [{"alg": "SHA-512", "content": "6161"}])
    assert second["properties"] == [{"name": "millpond:file:sha256", "value": "cc"}]
    assert bill["dependencies"] == [{"ref": "pkg:pypi/millpond@1.0", "dependsOn": [first["purl"], second["purl"]]}]
    assert bill["serialNumber"] != sbom.sbom(project, packages[:1], {})["serialNumber"]


def verify(folder: Path) -> bool:
    command = ["ssh-keygen", "-Y", "verify", "-f", "allowed_signers", "-I", "releases", "-n", "millpond-release"]
    with (folder / "SHA256SUMS").open("rb") as sums:
        signed = subprocess.run(
            [*command, "-s", "SHA256SUMS.sig"], stdin=sums, cwd=folder, capture_output=True, check=False
        )
    same = subprocess.run(["sha256sum", "--quiet", "-c", "SHA256SUMS"], cwd=folder, capture_output=True, check=False)
    return signed.returncode == 0 and same.returncode == 0


def test_signed_checksums(tmp_path: Path) -> None:
    if shutil.which("ssh-keygen") is None:
        pytest.skip("ssh-keygen is not installed (dev/apt.txt)")
    key, dist = tmp_path / "key", tmp_path / "dist"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)], check=True)
    dist.mkdir()
    (dist / "millpond-1.0.tar.gz").write_bytes(b"sources")
    (dist / "sbom.cdx.json").write_bytes(b"{}")
    assert sign_dist.main([str(dist), "--key", str(key)]) == 0
    (dist / "allowed_signers").write_text(f"releases {(tmp_path / 'key.pub').read_text()}")
    assert verify(dist)
    (dist / "millpond-1.0.tar.gz").write_bytes(b"other sources")
    assert not verify(dist)
    sign_dist.write_sums(dist)
    assert not verify(dist), "other sums have no signature"
