"""Writes `requirements.lock` of each component of the library: exact versions of everything, as pip chooses them here.

`python dev/lock_components.py [NAME …]`; without names, for all of them.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

LIBRARY = Path(__file__).resolve().parent.parent / "src" / "millpond" / "library"
HEAD = "# Made by dev/lock_components.py from requirements.txt.\n"


def main() -> int:
    for path in sorted(LIBRARY.glob("*/requirements.txt")):
        if not sys.argv[1:] or path.parent.name in sys.argv[1:]:
            chosen = resolve(path)
            path.with_name("requirements.lock").write_text(HEAD + "".join(f"{line}\n" for line in chosen))
            print(f"{path.parent.name}: {len(chosen)} packages")
    return 0


def resolve(requirements: Path) -> list[str]:
    command = [sys.executable, "-m", "pip", "install", "--dry-run", "--ignore-installed", "--quiet", "--report", "-"]
    done = subprocess.run([*command, "-r", str(requirements)], stdout=subprocess.PIPE, check=True)
    packages = [item["metadata"] for item in json.loads(done.stdout)["install"]]
    # A local version label (`2.13.0+cpu`) names a build that another index may not have.
    return sorted(f"{one['name'].lower()}=={one['version'].partition('+')[0]}" for one in packages)


if __name__ == "__main__":
    sys.exit(main())
