"""Builds the web page into every wheel and sdist: a clone has only its sources, an sdist has the built page already."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class PageBuildHook(BuildHookInterface[Any]):
    """Without Node the page is left out with a warning; `MILL_REQUIRE_PAGE=1` makes that an error."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version == "editable":  # `make web` builds it when it is wanted
            return
        root = Path(self.root)
        script = root / "dev" / "build_web.py"
        if script.exists() and (root / "web" / "package-lock.json").exists():
            # Does nothing when the page is up to date.
            subprocess.run([sys.executable, str(script)], cwd=root, check=True)
        if (root / "src" / "millpond" / "api" / "static" / "index.html").exists():
            return
        problem = "The web page is not built: install Node 20.19 or newer and build again."
        if os.environ.get("MILL_REQUIRE_PAGE") == "1":
            raise RuntimeError(problem)
        self.app.display_warning(f"{problem} The server and the command line work without it.")
