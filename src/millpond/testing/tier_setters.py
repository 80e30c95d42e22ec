"""The contract of what sets the tiers of volumes: every plug-in of the group `millpond.tiers` passes it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from millpond.services.places.tier_setters import TierAsked, TierFailed, TierSetter

ASKED = TierAsked(
    volume="nfs", site="lab", path="/mnt/nfs", tier="premium", throughput=4.0, bytes_per_second=400_000_000,
    capacity_bytes=10**12,
)  # fmt: skip


class TierSetterContract:
    """Give the fixture `setter`, which can set the tier of any volume; `broken`, for which setting any fails."""

    @pytest.fixture
    def setter(self) -> TierSetter:
        raise NotImplementedError

    @pytest.fixture
    def broken(self) -> TierSetter:
        raise NotImplementedError

    def test_what_the_volume_has_then_is_said_or_nothing(self, setter: TierSetter) -> None:
        assert setter.set_tier(ASKED) in (None, ASKED.bytes_per_second)

    def test_it_may_be_called_again_at_any_time(self, setter: TierSetter) -> None:
        assert setter.set_tier(ASKED) == setter.set_tier(ASKED)

    def test_a_volume_gets_a_lower_tier_and_one_without_limit(self, setter: TierSetter) -> None:
        setter.set_tier(ASKED)
        lower = replace(ASKED, tier="standard", throughput=1.0, bytes_per_second=100_000_000)
        assert setter.set_tier(lower) in (None, lower.bytes_per_second)
        setter.set_tier(replace(lower, bytes_per_second=None))

    def test_what_goes_wrong_is_said_in_words(self, broken: TierSetter) -> None:
        with pytest.raises(TierFailed) as failed:
            broken.set_tier(ASKED)
        assert len(failed.value.message) > 10
