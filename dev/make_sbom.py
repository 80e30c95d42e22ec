"""Writes a software bill of materials (CycloneDX 1.5, JSON) of a release: its Python packages, and what is in the page.

The same locks give the same file: it has no time and no chance in it.
"""

from __future__ import annotations

import base64
import json
import sys
import tomllib
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from audit_locks import installed_licenses
from locks import ROOT, Locked, npm_packages, python_packages

_SPACE = uuid.UUID("8f0c1f4e-5a0b-5f57-9a43-0d1f6a1c7c11")


def main(target: Path) -> int:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    page = [one for one in npm_packages() if not one.is_development]
    bill = sbom(project, [*python_packages(), *page], installed_licenses())
    target.write_text(json.dumps(bill, indent=1, sort_keys=True) + "\n")
    print(f"{target.name}: {len(bill['components'])} packages")
    return 0


def sbom(project: Mapping[str, Any], packages: Sequence[Locked], licenses: Mapping[str, str]) -> dict[str, Any]:
    # The same version twice (in other folders of npm, for other Pythons) is one component.
    components = {one.url: _component(one, licenses) for one in sorted(packages, key=lambda one: one.url)}
    own = f"pkg:pypi/{project['name']}@{project['version']}"
    content = json.dumps([own, components], sort_keys=True)
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "serialNumber": f"urn:uuid:{uuid.uuid5(_SPACE, content)}",
        "metadata": {
            "component": {
                "type": "application",
                "bom-ref": own,
                "purl": own,
                "name": project["name"],
                "version": project["version"],
                "licenses": [{"license": {"id": project["license"]}}],
            }
        },
        "components": list(components.values()),
        "dependencies": [{"ref": own, "dependsOn": list(components)}],
    }


def _component(one: Locked, licenses: Mapping[str, str]) -> dict[str, Any]:
    group, _, name = one.name.rpartition("/")
    found: dict[str, Any] = {
        "type": "library",
        "bom-ref": one.url,
        "purl": one.url,
        "name": name,
        "version": one.version,
        "scope": "optional" if one.is_optional or one.marker else "required",
    }
    if group:
        found["group"] = group
    if license := one.license or licenses.get(one.name, ""):
        found["licenses"] = [{"license": {"name": license}}]
    if one.kind == "npm":
        digests = [base64.b64decode(text.removeprefix("sha512-")).hex() for text in one.hashes if text[:7] == "sha512-"]
        found["hashes"] = [{"alg": "SHA-512", "content": digest} for digest in digests]
    else:  # a package has several files, of which one is installed
        found["properties"] = [{"name": "millpond:file:sha256", "value": digest} for digest in one.hashes]
    return found


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1] if len(sys.argv) > 1 else "dist/sbom.cdx.json")))
