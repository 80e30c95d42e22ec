"""A spatial convolutional network (SCNN): rows and columns of a feature map pass messages on, so that a lane is
continued where it is hidden. Its norms know one picture only: however pictures are spread over processes, the network
learns the same."""

from __future__ import annotations

from itertools import pairwise

import torch
from roads import LANES
from torch import Tensor, nn

SHRINKS = 8
_REACH = 9


def layer(before: int, after: int, *, stride: int) -> nn.Sequential:
    convolution = nn.Conv2d(before, after, 3, stride=stride, padding=1, bias=False)
    return nn.Sequential(convolution, nn.GroupNorm(4, after), nn.ReLU())


class Passing(nn.Module):
    """One direction: each row (`along` 2) or column (3) adds what it makes of the one before it."""

    def __init__(self, channels: int, along: int, *, backwards: bool) -> None:
        super().__init__()
        self.along, self.backwards = along, backwards
        size = (1, _REACH) if along == 2 else (_REACH, 1)
        padding = (0, _REACH // 2) if along == 2 else (_REACH // 2, 0)
        self.convolution = nn.Conv2d(channels, channels, size, padding=padding, bias=False)
        # Small at first: messages add up over all rows.
        nn.init.normal_(self.convolution.weight, std=(5 * _REACH * channels) ** -0.5)

    def forward(self, values: Tensor) -> Tensor:
        parts = list(values.split(1, self.along))
        numbers = range(len(parts))
        order = list(reversed(numbers)) if self.backwards else list(numbers)
        for before, number in pairwise(order):
            parts[number] = parts[number] + torch.relu(self.convolution(parts[before]))
        return torch.cat(parts, self.along)


class LaneNetwork(nn.Module):
    def __init__(self, channels: int, *, passing: bool) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            layer(3, channels, stride=2),
            layer(channels, 2 * channels, stride=2),
            layer(2 * channels, 2 * channels, stride=1),
            layer(2 * channels, 4 * channels, stride=2),
            layer(4 * channels, 4 * channels, stride=1),
        )
        directions = [(2, False), (2, True), (3, False), (3, True)] if passing else []
        self.passing = nn.Sequential(*(Passing(4 * channels, along, backwards=back) for along, back in directions))
        self.last = nn.Conv2d(4 * channels, LANES + 1, 1)

    def forward(self, values: Tensor) -> Tensor:
        """`[batch, 3, height, width]` from 0 to 1 → logits `[batch, 1 + LANES, height, width]`."""
        found = self.last(self.passing(self.layers(values * 2 - 1)))
        return nn.functional.interpolate(found, scale_factor=SHRINKS, mode="bilinear", align_corners=False)
