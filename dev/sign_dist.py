"""Writes dist/SHA256SUMS over everything of a release; with `--key FILE`, signs it with that SSH key.

    python dev/sign_dist.py dist --key ~/.ssh/release_ed25519
    ssh-keygen -Y verify -f allowed_signers -I releases -n millpond-release -s SHA256SUMS.sig < SHA256SUMS
    sha256sum -c SHA256SUMS

`allowed_signers` holds a line `releases KEY`, with the public key that the maintainers published.
"""

from __future__ import annotations

import argparse
import hashlib
import shutil
import subprocess
import sys
from pathlib import Path

SUMS = "SHA256SUMS"
NAMESPACE = "millpond-release"


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path, nargs="?", default=Path("dist"))
    parser.add_argument("--key", type=Path, help="Private SSH key, or the public one of a key in the agent.")
    given = parser.parse_args(arguments)
    sums = write_sums(given.folder)
    print(f"{sums}: {len(sums.read_text().splitlines())} files")
    return sign(sums, given.key) if given.key else 0


def write_sums(folder: Path) -> Path:
    """In the format of sha256sum, by name."""
    sums = folder / SUMS
    files = sorted(one for one in folder.iterdir() if one.is_file() and not one.name.startswith(SUMS))
    lines = [f"{hashlib.sha256(one.read_bytes()).hexdigest()}  {one.name}\n" for one in files]
    sums.with_name(f"{SUMS}.sig").unlink(missing_ok=True)  # of other sums
    sums.write_text("".join(lines))
    return sums


def sign(sums: Path, key: Path) -> int:
    program = shutil.which("ssh-keygen")
    if program is None:
        print("error: ssh-keygen is not installed (openssh-client)", file=sys.stderr)
        return 1
    signature = sums.with_name(f"{SUMS}.sig")
    done = subprocess.run([program, "-q", "-Y", "sign", "-f", str(key), "-n", NAMESPACE, str(sums)], check=False)
    if done.returncode == 0:
        print(f"signed: {signature}")
    return done.returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
