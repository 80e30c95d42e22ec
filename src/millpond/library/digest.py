"""What a version of a component consists of: the id of its tree, and the record of released versions."""

from __future__ import annotations

import json
from pathlib import Path

from millpond.errors import BadFormat
from millpond.lake.code_files import IGNORE_FILES, IGNORED
from millpond.lake.page_collector import PageCollector
from millpond.lake.push import PushOptions, push_directory

# Lists the digest of each released version; no part of any digest.
RECORD = "versions.json"
PUSH_OPTIONS = PushOptions(ignore_files=IGNORE_FILES, ignore=(*IGNORED, f"/{RECORD}"))


def tree_digest(folder: Path) -> str:
    """The id of the folder's tree, as the lake would name it."""
    return push_directory(folder, PageCollector(), options=PUSH_OPTIONS).tree.root


def read_record(folder: Path) -> dict[str, str]:
    """The digests of released versions, by version."""
    try:
        found = json.loads((folder / RECORD).read_text("utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise BadFormat(f"Cannot read {folder / RECORD}: {error}") from error
    if not isinstance(found, dict):
        raise BadFormat(f"{folder / RECORD} must hold a JSON object: digests by version.")
    return {str(version): str(digest) for version, digest in found.items()}


def record_version(folder: Path, version: str) -> str:
    """Note the present files as those of `version`."""
    record = read_record(folder) | {version: tree_digest(folder)}
    (folder / RECORD).write_text(json.dumps(record, indent=1) + "\n", "utf-8")
    return record[version]
