"""Takes the README's pictures: a server with a few datasets and the demo's training job, seen by chromium."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path

from millpond.testing.browser import PASSWORD, Screen, find_chromium, running_browser
from millpond.testing.up import MillUp, environment, mill_up

PICTURES = Path(__file__).resolve().parent.parent / "docs" / "pictures"
# Names and sizes of a hub as people know it, a hundred times smaller.
DATASETS = {"fraud_jun": 324, "fraud_may": 576, "consumer_img1": 273, "public_set12": 1027, "fraud_sim_base": 451}
EXAMPLE = Path(__file__).resolve().parent.parent / "examples" / "digits"


def main() -> int:
    chromium = find_chromium()
    if chromium is None:
        sys.exit("chromium is not installed: apt-get install chromium")
    PICTURES.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as directory:
        folder = Path(directory)
        password = folder / "password"
        password.write_text(PASSWORD)
        # The job's `python` is the one that runs this script.
        os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
        with mill_up(folder / "data", "--admin-password-file", str(password)) as server:
            job = tell_the_story(server, folder)
            with running_browser(chromium) as browser:
                context = browser.new_context(viewport={"width": 1280, "height": 800}, color_scheme="light")
                take_pictures(Screen(context.new_page(), server.url), job)
    return 0


def tell_the_story(server: MillUp, folder: Path) -> str:
    """Datasets, one of them cached, and a job that reads it; the job's id."""
    for name, kilobytes in DATASETS.items():
        (folder / name).mkdir()
        (folder / name / "rows.bin").write_bytes(random.Random(name).randbytes(kilobytes * 1000))
        sync(server, folder / name, name)
    subprocess.run([sys.executable, EXAMPLE / "make_images.py", folder / "digits"], check=True)
    sync(server, folder / "digits", "digits")
    mill(server, "cache", "add", "digits")
    submit = ("submit", "train-digits", "-q", "--data", "digits", "--", "python", "train.py")
    job = mill(server, *submit, cwd=EXAMPLE).split()[-1]
    mill(server, "wait", job)
    return job


def sync(server: MillUp, folder: Path, name: str) -> None:
    mill(server, "data", "init", name, cwd=folder)
    mill(server, "data", "sync", "-m", "first version", cwd=folder)


def mill(server: MillUp, *arguments: str, cwd: Path | None = None) -> str:
    command = [sys.executable, "-m", "millpond", *arguments]
    env = environment(server.home) | {"MILL_SERVER": server.url}
    return subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True, check=True).stdout


def take_pictures(screen: Screen, job: str) -> None:
    screen.sign_in()
    screen.open("/datasets")
    screen.page.get_by_test_id("dataset-card").nth(len(DATASETS)).wait_for()
    screen.page.screenshot(path=PICTURES / "datasets.png")
    screen.page.set_viewport_size({"width": 1280, "height": 1080})
    screen.open(f"/projects/default/jobs/{job}")
    screen.page.get_by_test_id("chart").nth(5).wait_for()
    screen.page.screenshot(path=PICTURES / "run.png")
    print(f"▸ wrote {', '.join(sorted(file.name for file in PICTURES.glob('*.png')))}")


if __name__ == "__main__":
    sys.exit(main())
