"""Resizes and converts images: one task per file, on every core. Pillow computes outside of Python's lock."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import step
from PIL import Image, ImageOps, UnidentifiedImageError

SUFFIXES = {".png", ".jpg", ".jpeg", ".bmp", ".gif", ".tif", ".tiff", ".webp"}
FORMATS = {"png": ".png", "jpeg": ".jpg", "webp": ".webp"}
MODES = {"rgb": "RGB", "grayscale": "L"}


def main() -> None:
    params, root = step.params(), step.given("images")
    assert root is not None
    target = step.output("images")
    files = sorted(path for path in root.rglob("*") if path.suffix.lower() in SUFFIXES and path.parent != root)
    if not files:
        raise step.Problem(f"No images in class folders below {root}.")
    taken = names(root, target, files, params)
    with ThreadPoolExecutor(os.cpu_count()) as threads:
        problems = [one for one in threads.map(lambda path: convert(path, taken[path], params), files) if one]
    for problem in problems:
        step.say(f"cannot be read: {problem}")
    if problems and params.broken == "fail":
        raise step.Problem(
            f"{len(problems)} of {len(files)} images cannot be read. Use broken: skip to leave them out."
        )
    step.log("log_metrics", {"count": len(files) - len(problems), "skipped": len(problems)})
    step.save_values(count=len(files) - len(problems), skipped=len(problems))
    step.say(f"{len(files) - len(problems)} images written, {len(problems)} skipped")


def names(root: Path, target: Path, files: list[Path], params: SimpleNamespace) -> dict[Path, Path]:
    """Where each file goes. Two that would have one name keep their old ending in it."""
    chosen = {
        path: path.relative_to(root)
        if params.format == "keep"
        else path.relative_to(root).with_suffix(FORMATS[params.format])
        for path in files
    }
    seen: dict[Path, int] = {}
    for name in chosen.values():
        seen[name] = seen.get(name, 0) + 1
    return {
        path: target / (name if seen[name] == 1 else name.with_name(f"{path.name}{name.suffix}"))
        for path, name in chosen.items()
    }


def convert(path: Path, target: Path, params: SimpleNamespace) -> str | None:
    """Why a file cannot be converted; None if it was."""
    size = (params.width, params.height)
    try:
        with Image.open(path) as opened:
            kind = opened.format
            image = ImageOps.exif_transpose(opened)
            if params.color != "keep":
                image = image.convert(MODES[params.color])
            image = resized(image, size, params.mode)
        wanted = params.format if params.format != "keep" else (kind or "png").lower()
        if wanted in ("jpeg", "jpg") and image.mode not in ("L", "RGB"):
            image = image.convert("RGB")
        target.parent.mkdir(parents=True, exist_ok=True)
        image.save(target, format=wanted, quality=params.quality)
    except (OSError, UnidentifiedImageError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
        return f"{path.name}: {error}"
    return None


def resized(image: Image.Image, size: tuple[int, int], mode: str) -> Image.Image:
    how = Image.Resampling.LANCZOS
    if image.mode == "P":
        image = image.convert("RGBA" if "transparency" in image.info else "RGB")
    match mode:
        case "fit":
            return ImageOps.contain(image, size, how)
        case "crop":
            return ImageOps.fit(image, size, how)
        case "pad":
            return ImageOps.pad(image, size, how)
    return image.resize(size, how)


if __name__ == "__main__":
    step.run(main)
