"""Versions pushed to sites: which entries a push changes, and what a rollback brings back."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from millpond.decide.endpoints.pushes import pushed, pushed_back
from millpond.errors import Conflict, Invalid
from millpond.model.endpoint import EndpointRevision
from millpond.model.endpoint_spec import EndpointSite, EndpointSpec, Offline, WeightedVersion

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def spec_of(*sites: EndpointSite) -> EndpointSpec:
    return EndpointSpec(name="count", versions=(WeightedVersion("shelf@1"),), sites=sites)


def models(spec: EndpointSpec) -> list[tuple[str, str | None]]:
    return [(one.site, one.model) for one in spec.sites]


class Story:
    """An endpoint through its revisions."""

    def __init__(self, spec: EndpointSpec) -> None:
        self.revisions = [EndpointRevision("id", 1, spec, "maria", NOW, action="create")]

    @property
    def spec(self) -> EndpointSpec:
        return self.revisions[-1].spec

    def then(self, action: str, spec: EndpointSpec) -> None:
        self.revisions.append(replace(self.revisions[-1], number=len(self.revisions) + 1, spec=spec, action=action))

    def push(self, model: str, *sites: str) -> None:
        self.then("push", pushed(self.spec, sites, model))

    def roll_back(self, *sites: str) -> None:
        self.then("rollback", pushed_back(self.spec, self.revisions, sites))


def test_a_push_goes_to_every_entry_that_its_pattern_covers() -> None:
    spec = spec_of(EndpointSite("berlin"), EndpointSite("shop-1", max=3), EndpointSite("shop-*", offline=Offline.STOP))
    after = pushed(spec, ["shop-*"], "shelf@4")
    assert models(after) == [("berlin", None), ("shop-1", "shelf@4"), ("shop-*", "shelf@4")]
    assert after.sites[1].max == 3, "the rest of an entry stays"


def test_a_new_entry_takes_after_the_wider_one_and_comes_before_it() -> None:
    spec = spec_of(EndpointSite("shop-b1"), EndpointSite("shop-*", min=2, max=2), EndpointSite("*"))
    after = pushed(spec, ["shop-b*"], "shelf@4")
    assert models(after) == [("shop-b1", "shelf@4"), ("shop-b*", "shelf@4"), ("shop-*", None), ("*", None)]
    assert after.sites[1].min == 2
    assert pushed(after, ["lab"], "shelf@2").sites[0] == EndpointSite("lab", model="shelf@2")
    assert models(pushed(spec_of(EndpointSite("berlin")), ["shop-*"], "shelf@4"))[0] == ("shop-*", "shelf@4")


def test_each_rollback_goes_one_version_further_back() -> None:
    story = Story(spec_of(EndpointSite("shop-*")))
    for version in (2, 3, 4):
        story.push(f"shelf@{version}", "shop-*")
    for expected in ("shelf@3", "shelf@2", None):
        story.roll_back()
        assert models(story.spec) == [("shop-*", expected)]
    with pytest.raises(Conflict, match="Cannot roll back"):
        story.roll_back()
    story.push("shelf@5", "shop-*")
    story.roll_back("shop-*")
    assert models(story.spec) == [("shop-*", None)]


def test_a_rollback_without_sites_is_of_the_newest_push_alone() -> None:
    story = Story(spec_of(EndpointSite("lab"), EndpointSite("shop-*")))
    story.push("shelf@2", "lab")
    story.push("shelf@3", "shop-*")
    story.roll_back()
    assert models(story.spec) == [("lab", "shelf@2"), ("shop-*", None)]
    story.roll_back()
    assert models(story.spec) == [("lab", None), ("shop-*", None)]


def test_one_site_of_a_pattern_is_rolled_back_alone() -> None:
    story = Story(spec_of(EndpointSite("shop-*", model="shelf@3")))
    story.push("shelf@4", "shop-*")
    story.roll_back("shop-7")
    assert models(story.spec) == [("shop-7", "shelf@3"), ("shop-*", "shelf@4")]
    with pytest.raises(Invalid, match="no site 'lab'"):
        story.roll_back("lab")
