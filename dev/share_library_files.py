"""Copies `library/shared/*.py` over the copies that components have, and lists the changed versions again.

A component's folder runs alone, so it has its own copy. Only for versions that were not released yet.
"""

from __future__ import annotations

import sys
from pathlib import Path

from millpond.library.catalog import load_component
from millpond.library.digest import record_version

LIBRARY = Path(__file__).resolve().parent.parent / "src" / "millpond" / "library"


def main() -> int:
    for original in sorted((LIBRARY / "shared").glob("*.py")):
        for copy in LIBRARY.glob(f"*/{original.name}"):
            copy.write_text(original.read_text())
    for path in sorted(LIBRARY.glob("*/component.yaml")):
        print(path.parent.name, record_version(path.parent, load_component(path.parent).version_text)[:12])
    return 0


if __name__ == "__main__":
    sys.exit(main())
