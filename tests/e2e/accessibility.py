"""Rules of accessibility (WCAG 2.2 AA) checked by axe on what a page shows, in both colour schemes."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from playwright.sync_api import Page

AXE = Path(__file__).parents[2] / "web" / "node_modules" / "axe-core" / "axe.min.js"
SCHEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")


def assert_accessible(page: Page) -> None:
    """Nothing is checked where axe is not installed."""
    if not AXE.exists():
        return
    page.emulate_media(reduced_motion="reduce")
    page.evaluate(AXE.read_text())
    for scheme in SCHEMES:
        page.emulate_media(color_scheme=scheme)
        page.locator(f"html[data-mantine-color-scheme={scheme}]").wait_for()
        assert violations(page) == [], f"{page.url} ({scheme})"


def violations(page: Page) -> list[str]:
    rules = {"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]}
    report: dict[str, Any] = page.evaluate("rules => axe.run(document, rules)", rules)
    return [
        f"{found['id']}: {node['html'][:200]} {node['failureSummary']}"
        for found in report["violations"]
        for node in found["nodes"]
    ]
