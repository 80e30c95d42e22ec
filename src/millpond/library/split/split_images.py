"""Splits an image folder: the same files, parameters and seed always give the same parts."""

from __future__ import annotations

import re
import shutil
from collections import Counter
from pathlib import Path

import parts
import step


def main() -> None:
    params, data = step.params(), step.given("data")
    assert data is not None
    files = class_files(data)
    group = re.compile(params.group) if params.group else None
    items = [parts.Item(str(path), path.parts[0] if params.stratify else "", key_of(path, group)) for path in files]
    sizes = {"val": params.val_size, "test": params.test_size}
    if sum(sizes.values()) >= 1:
        raise step.Problem("val_size and test_size leave nothing to train with: their sum must be below 1.")
    chosen = parts.split(items, sizes, seed=params.seed)
    for name, names in chosen.items():
        for file in names:
            target = step.output(name) / file
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(data / file, target)
        classes = Counter(Path(file).parts[0] for file in names)
        step.say(f"{name}: {len(names)} files: " + ", ".join(f"{key} {classes[key]}" for key in sorted(classes)))
        step.log("log_metric", f"{name}_files", len(names))
    step.save_values(**{f"{name}_files": len(chosen.get(name, ())) for name in ("train", "val", "test")})


def class_files(data: Path) -> list[Path]:
    """Files inside of class folders, relative to `data`. Strays beside the folders are named and left out."""
    strays = sorted(path.name for path in data.iterdir() if not path.is_dir())
    for name in strays:
        step.say(f"left out: {name} lies among the class folders and belongs to no class")
    found = sorted(
        path.relative_to(data)
        for folder in data.iterdir()
        if folder.is_dir() and not folder.name.startswith(".")
        for path in folder.rglob("*")
        if path.is_file()
    )
    if not found:
        raise step.Problem(f"No files in class folders below {data}. Expected one folder per class.")
    return found


def key_of(path: Path, group: re.Pattern[str] | None) -> str:
    """Files with the same key stay together. A file that the pattern does not match is a group of its own."""
    found = group.search(path.name) if group else None
    return f"group {found[1] if found.re.groups else found[0]}" if found else f"file {path}"


if __name__ == "__main__":
    step.run(main)
