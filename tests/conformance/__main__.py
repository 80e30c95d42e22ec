"""Ask Triton and ourselves the same, and list every difference by name.

python -m tests.conformance                     our answers against those recorded from Triton
python -m tests.conformance --triton PYTHON     against Triton itself, in the environment of that Python
… --record                                      also keep its answers, and write the list for the docs
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tests.conformance.asking import ask_all, record, recorded
from tests.conformance.comparing import Comparison, compare
from tests.conformance.report import TARGET, written
from tests.conformance.servers import UnavailableError, find_triton, running_millpond, running_triton


def main() -> int:
    options = _options()
    try:
        theirs = _triton(options)
    except UnavailableError as error:
        print(f"skipped: {error}")
        return 0
    ours = ask_all(running_millpond, options.only)
    comparison = compare(ours, theirs)
    _say(comparison)
    if options.record:
        TARGET.write_text(written(comparison))
    return 1 if comparison.unexpected or (comparison.outdated and not options.only) else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Compare the model server with NVIDIA's Triton.")
    parser.add_argument("--triton", type=Path, metavar="PYTHON", help="Python of the environment with nvidia-pytriton.")
    parser.add_argument("--record", action="store_true", help="Keep the answers, and write the list for the docs.")
    parser.add_argument("--only", default="", metavar="TEXT", help="Cases whose names contain this.")
    return parser.parse_args()


def _triton(options: argparse.Namespace) -> dict[str, object]:
    if options.triton is None:
        return {name: answer for name, answer in recorded().items() if options.only in name}
    packages = find_triton(options.triton)
    answers = ask_all(lambda: running_triton(packages), options.only)
    if options.record:
        record(answers)
    return answers


def _say(comparison: Comparison) -> None:
    for name, reason in comparison.known.items():
        print(f"known       {name}: {reason}")
    for reason in comparison.outdated:
        print(f"OUTDATED    no case differs for this reason: {reason}")
    for name, places in comparison.unexpected.items():
        print(f"DIFFERENT   {name}")
        for place in places:
            print(f"              {place}")
    print(
        f"{comparison.cases} cases: {len(comparison.same)} the same, {len(comparison.known)} known differences, "
        f"{len(comparison.unexpected)} unexpected"
    )


if __name__ == "__main__":
    sys.exit(main())
