"""`mill library new`: a component that works, to be changed into one's own."""

from __future__ import annotations

from pathlib import Path

from millpond.errors import BadName, NameTaken
from millpond.model.component import CATEGORIES, REGISTER, ComponentRef

_STEP = Path(__file__).parent / "shared" / "step.py"
_YAML = """\
schema: millpond.component/1
name: {name}
version: 0.1.0                     # raise it whenever a released version changes
title: {title}
category: {category}               # {categories}
description: Counts the files of a folder.
command: [python, -m, {module}]    # runs in this folder
resources: {{cpu: 1, memory: 1GB}}
# environment: {{requirements: requirements.txt}}    # packages beyond the standard library
params:                            # the form on the page; types: int float bool str enum list json secret
  pattern: {{type: str, default: "*", help: Names of the files to count}}
inputs:
  data: {{type: directory, help: Where to look}}
outputs:                           # files go to $MILL_OUTPUT/NAME, values to $MILL_VALUES
  listing: {{type: directory}}
  count: {{type: int}}
docs: README.md
example: {{inputs: {{data: tests/data}}, params: {{pattern: "*.txt"}}}}     # run by `mill library test`
"""
_CODE = '''\
"""{title}: counts the files of a folder."""

from __future__ import annotations

import step


def main() -> None:
    params, data = step.params(), step.given("data")
    found = sorted(str(path.relative_to(data)) for path in data.rglob(params.pattern) if path.is_file())
    if not found:
        raise step.Problem(f"No file matches {{params.pattern!r}}.")
    (step.output("listing") / "files.txt").write_text("\\n".join(found) + "\\n")
    step.log("log_metric", "count", len(found))
    step.save_values(count=len(found))
    step.say(f"{{len(found)}} files")


if __name__ == "__main__":
    step.run(main)
'''
_TEST = '''\
"""Run with `mill library test .`, or with pytest."""

from pathlib import Path

from millpond.testing.components import run, try_run

HERE = Path(__file__).resolve().parent


def test_files_that_match_are_counted(tmp_path):
    ran = run(HERE.parent, work=tmp_path, inputs={{"data": HERE / "data"}}, params={{"pattern": "*.txt"}})
    assert ran.outputs["count"] == 1
    assert (ran.path("listing") / "files.txt").read_text() == "hello.txt\\n"


def test_nothing_to_count_is_an_error(tmp_path):
    ran = try_run(HERE.parent, work=tmp_path, inputs={{"data": HERE / "data"}}, params={{"pattern": "*.png"}})
    assert "No file matches" in ran.log
'''
_README = """\
# {title}

Say here what the component does, when to use it, and what its outputs mean. The table of parameters is made from
`component.yaml`.

    mill library test .                                # schema, example, tests
    mill library run . --input data=./somewhere --local
    mill library add .                                 # now flows of the project can use it: component: {name}@0
"""


def new_component(name: str, folder: Path, *, category: str) -> list[Path]:
    """Write a component that passes its own tests into `folder`, which must not exist or be empty."""
    if ComponentRef.parse(name).version:
        raise BadName(f"{name!r} includes a version.", hint=f"A new component begins with 0.1.0: {name.split('@')[0]}")
    if category not in CATEGORIES or category == REGISTER:
        choices = ", ".join(one for one in CATEGORIES if one != REGISTER)
        raise BadName(f"A component of your own cannot have the category {category!r}.", hint=f"Choose: {choices}.")
    if folder.exists() and any(folder.iterdir()):
        raise NameTaken(f"{folder} is not empty.", hint="Choose another folder with --dir.")
    words = {
        "name": name, "title": name.replace("-", " ").capitalize(), "module": f"{name.replace('-', '_')}_step",
        "category": category, "categories": " | ".join(one for one in CATEGORIES if one != REGISTER),
    }  # fmt: skip
    files = {
        "component.yaml": _YAML.format(**words),
        f"{words['module']}.py": _CODE.format(**words),
        "step.py": _STEP.read_text("utf-8"),
        "README.md": _README.format(**words),
        f"tests/test_{words['module']}.py": _TEST.format(**words),
        "tests/data/hello.txt": "Hello\n",
    }
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, "utf-8")
    return [folder / path for path in files]
