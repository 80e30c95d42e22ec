"""What holds for every component that comes with Millpond."""

from __future__ import annotations

from pathlib import Path

import pytest

from millpond.client.library.component_test import FAILED, SKIPPED, check_component
from millpond.decide.flows.check import check_flow
from millpond.library import catalog
from millpond.library.catalog import Catalog, FoundComponent
from millpond.library.describe import markdown
from millpond.library.digest import read_record

ROOT = Path(__file__).resolve().parents[3]
LIBRARY = Path(catalog.__file__).parent
BUILT_IN = [found for found in Catalog().all() if found.origin == "built-in"]
SHARED = sorted(path.name for path in (LIBRARY / "shared").iterdir() if path.suffix == ".py")


@pytest.mark.parametrize("found", BUILT_IN, ids=[found.component.name for found in BUILT_IN])
def test_it_passes_mill_library_test(found: FoundComponent, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "1")  # tests run beside each other
    checks = list(check_component(found.folder, run_tests=False))
    failed = [f"{one.name}: {one.message}" for one in checks if one.state == FAILED]
    assert failed == []
    skipped = [one.message for one in checks if one.state == SKIPPED]
    if skipped:
        pytest.skip(skipped[0])


@pytest.mark.parametrize("found", BUILT_IN, ids=[found.component.name for found in BUILT_IN])
def test_its_version_is_recorded_and_its_docs_say_how_to_use_it(found: FoundComponent) -> None:
    assert found.component.version_text in read_record(found.folder), "mill library test --record"
    assert f"component: {found.component.name}@{found.component.version[0]}" in found.docs
    assert found.component.description.endswith(".")


def test_the_docs_list_every_parameter() -> None:
    page = (ROOT / "docs" / "library.md").read_text("utf-8")
    assert [one.component.name for one in BUILT_IN if markdown(one).rstrip() not in page] == [], "make docs"


@pytest.mark.parametrize("path", sorted((ROOT / "examples").glob("*/flow.yaml")), ids=lambda path: path.parent.name)
def test_example_flows_have_no_problems(path: Path) -> None:
    assert check_flow(path.read_text("utf-8"), Catalog().component).problems == ()


@pytest.mark.parametrize("name", SHARED)
def test_shared_files_are_the_same_everywhere(name: str) -> None:
    """A component's folder runs alone, so it has its own copy."""
    copies = list(LIBRARY.glob(f"*/{name}"))
    assert len(copies) > 1
    assert len({path.read_text() for path in copies}) == 1, [str(path) for path in copies]
