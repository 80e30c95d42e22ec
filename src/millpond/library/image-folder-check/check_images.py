"""Opens every image below one folder per class; says what is wrong with which file, and what the images are like."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections import Counter, defaultdict
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import step
from PIL import Image, UnidentifiedImageError


@dataclass(frozen=True)
class Looked:
    """One file of a class folder. `problem`: why it is left out, "" if it is valid."""

    name: str
    label: str
    problem: str = ""
    width: int = 0
    height: int = 0
    mode: str = ""
    format: str = ""
    digest: str = ""


def main() -> None:
    params, root = step.params(), step.given("images")
    assert root is not None
    folders = sorted(path for path in root.iterdir() if path.is_dir() and not path.name.startswith("."))
    # A file beside the class folders is reported, and never a class.
    strays = sorted(path.name for path in root.iterdir() if not path.is_dir() and not path.name.startswith("."))
    files = [path.relative_to(root) for folder in folders for path in sorted(folder.rglob("*")) if path.is_file()]
    if not files:
        raise step.Problem(f"No files in class folders below {root}. Expected one folder per class.")
    with ThreadPoolExecutor(os.cpu_count()) as threads:
        looked = list(threads.map(lambda path: look(root, path, params), files))
    valid = [one for one in looked if not one.problem]
    copies = duplicates(valid)
    if params.duplicates == "drop":
        valid = [one for one in valid if one.name not in copies]
    problems = [f"{name}: lies among the class folders and belongs to no class" for name in strays]
    problems += [f"{one.name}: {one.problem}" for one in looked if one.problem]
    problems += [f"{name}: same content as {other}" for name, other in copies.items()]
    problems += small_classes([folder.name for folder in folders], valid, params.least_per_class)
    finish(root, params, valid, problems)


def look(root: Path, path: Path, params: SimpleNamespace) -> Looked:
    name, label = str(path), path.parts[0]
    try:
        content = (root / path).read_bytes()
        with Image.open(root / path) as image:
            image.load()
            width, height, mode, kind = image.width, image.height, image.mode, image.format or ""
    except (OSError, UnidentifiedImageError, SyntaxError, ValueError, Image.DecompressionBombError) as error:
        reason = "not an image" if isinstance(error, UnidentifiedImageError) else f"cannot be read: {error}"
        return Looked(name, label, reason)
    if min(width, height) < params.least_side:
        return Looked(name, label, f"{width} × {height} is smaller than {params.least_side} pixels")
    return Looked(name, label, "", width, height, mode, kind, hashlib.blake2b(content, digest_size=16).hexdigest())


def duplicates(valid: list[Looked]) -> dict[str, str]:
    """Files whose content another file has, and that file."""
    first: dict[str, str] = {}
    return {one.name: first[one.digest] for one in valid if first.setdefault(one.digest, one.name) != one.name}


def small_classes(labels: list[str], valid: list[Looked], least: int) -> list[str]:
    counts = Counter(one.label for one in valid)
    return [f"{label}: {counts[label]} valid images, fewer than {least}" for label in labels if counts[label] < least]


def statistics(valid: list[Looked]) -> dict[str, Any]:
    by_label: dict[str, list[Looked]] = defaultdict(list)
    for one in valid:
        by_label[one.label].append(one)
    sides = {side: [getattr(one, side) for one in valid] for side in ("width", "height")}
    return {
        "images": len(valid),
        "classes": {label: len(found) for label, found in sorted(by_label.items())},
        "sizes": {
            side: {"least": min(all_), "median": sorted(all_)[len(all_) // 2], "greatest": max(all_)}
            for side, all_ in sides.items()
            if all_
        },
        "modes": dict(Counter(one.mode for one in valid).most_common()),
        "formats": dict(Counter(one.format for one in valid).most_common()),
    }


def finish(root: Path, params: SimpleNamespace, valid: list[Looked], problems: list[str]) -> None:
    found = statistics(valid) | {"problems": problems}
    report = step.output("report")
    (report / "report.json").write_text(json.dumps(found, indent=1) + "\n", "utf-8")
    (report / "report.md").write_text(markdown(found), "utf-8")
    step.log("log_metrics", {"images": len(valid), "classes": len(found["classes"]), "problems": len(problems)})
    step.log("log_table", "classes", [{"class": key, "images": count} for key, count in found["classes"].items()])
    for problem in problems:
        step.say(f"problem: {problem}")
    step.say(f"{len(valid)} valid images in {len(found['classes'])} classes; problems: {len(problems)}")
    step.save_values(classes=list(found["classes"]), count=len(valid), problems=len(problems))
    if problems and params.strict:
        raise step.Problem(f"{len(problems)} problems, and strict is on. See above.")
    if not valid:
        raise step.Problem("No valid image is left.")
    for one in valid if params.copy else ():
        target = step.output("images") / one.name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(root / one.name, target)


def markdown(found: dict[str, Any]) -> str:
    lines = ["# Image folder", "", "| class | images |", "|---|---|"]
    lines += [f"| {label} | {count} |" for label, count in found["classes"].items()]
    lines += ["", f"Sizes: {json.dumps(found['sizes'])}", f"Modes: {json.dumps(found['modes'])}", "", "## Problems", ""]
    return "\n".join([*lines, *(f"- {problem}" for problem in found["problems"] or ["none"]), ""])


if __name__ == "__main__":
    step.run(main)
