"""Builds the web page into every wheel and sdist: a clone has only its sources, an sdist has the built page already.

The documentation site is put there as `make docs-site` left it.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class PageBuildHook(BuildHookInterface[Any]):
    """What cannot be had is left out with a warning; `MILL_REQUIRE_PAGE=1` makes that an error."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version == "editable":  # `make web` builds it when it is wanted
            return
        root = Path(self.root)
        script = root / "dev" / "build_web.py"
        if script.exists() and (root / "web" / "package-lock.json").exists():
            # Does nothing when the page is up to date.
            subprocess.run([sys.executable, str(script)], cwd=root, check=True)
        api = root / "src" / "millpond" / "api"
        if not (api / "static" / "index.html").exists():
            self._miss("The web page is not built: install Node 20.19 or newer and build again.")
        if not (api / "documentation" / "index.html.gz").exists():
            self._miss("The documentation is not built: run make docs-site and build again.")

    def _miss(self, problem: str) -> None:
        if os.environ.get("MILL_REQUIRE_PAGE") == "1":
            raise RuntimeError(problem)
        self.app.display_warning(f"{problem} The server and the command line work without it.")
