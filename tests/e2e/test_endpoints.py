"""A version that is served, asked on the endpoint's page, scaled, and deleted."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import expect

from millpond.testing.browser import Screen
from millpond.testing.daemons import free_port
from tests.e2e.accessibility import assert_accessible

MODEL = """\
class Model:
    def load(self, path):
        pass

    def predict(self, inputs):
        return {"scores": inputs["x"] * 2}
"""
CONFIG = """\
backend: "python"
max_batch_size: 8
input [{name: "x", data_type: TYPE_FP32, dims: [3]}]
output [{name: "scores", data_type: TYPE_FP32, dims: [3]}]
"""


@pytest.mark.long
def test_an_endpoint_is_asked_scaled_and_deleted(screen: Screen, mill: Callable[..., str], tmp_path: Path) -> None:
    page = screen.page
    (tmp_path / "model/1").mkdir(parents=True)
    (tmp_path / "model/1/model.py").write_text(MODEL)
    (tmp_path / "model/config.pbtxt").write_text(CONFIG)
    mill("model", "register", "double", "--from", str(tmp_path / "model"))
    mill("model", "check", "double@1", "--no-environment")
    port = free_port(3)
    mill("endpoint", "create", "first", "--model", "double@1", "--environment", "none", "--port", str(port), "--wait")

    screen.open("/endpoints")
    expect(page.get_by_role("table", name="Endpoints")).to_contain_text("double@1: 100 %")
    assert_accessible(page)
    page.get_by_role("link", name="first").click()
    expect(page.get_by_role("table", name="Replicas")).to_contain_text("ready")
    assert_accessible(page)

    page.get_by_role("tab", name="Try it").click()
    page.get_by_label("x: FP32").fill("[1, 2.5, 2]")
    page.get_by_role("button", name="Send").click()
    expect(page.get_by_role("region", name="Answer")).to_contain_text("Class 1")
    expect(page.get_by_role("region", name="Answer")).to_contain_text("5")
    page.get_by_label("x: FP32").fill("[1, 2]")
    page.get_by_role("button", name="Send").click()
    expect(page.get_by_role("alert")).to_contain_text("x wants the shape")
    assert_accessible(page)

    page.get_by_role("tab", name="Drift").click()
    page.get_by_role("button", name="Set a reference").click()
    page.get_by_role("textbox", name="Reference").fill("training@v1")
    expect(page.get_by_role("dialog")).to_contain_text("Saving turns that on")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("region", name="Schedule")).to_contain_text("training@v1")
    page.get_by_role("button", name="Compare now").click()
    expect(page.get_by_text("No requests of endpoint first are committed yet.")).to_be_visible()
    assert_accessible(page)

    page.get_by_role("tab", name="Overview").click()
    page.get_by_label("Maximum at local").fill("2")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("local: 1 to 2 replicas.")).to_be_visible()
    page.get_by_role("tab", name="History").click()
    expect(page.get_by_role("table", name="Revisions").get_by_role("row")).to_have_count(4)
    assert_accessible(page)

    page.get_by_role("button", name="More actions").click()
    page.get_by_role("menuitem", name="Delete").click()
    page.get_by_role("dialog").get_by_role("textbox").fill("first")
    page.get_by_role("button", name="Delete the endpoint").click()
    expect(page.get_by_text("Endpoint first deleted.")).to_be_visible()
