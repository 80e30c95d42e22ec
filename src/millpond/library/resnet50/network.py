"""ResNet (He et al., 2015): blocks whose input is added to their output, so that deep networks can be trained.

Modules have the names of the usual published weights, so that those can be loaded.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn

ACTIVATIONS: dict[str, Callable[[], nn.Module]] = {
    "relu": lambda: nn.ReLU(inplace=True),
    "leaky_relu": lambda: nn.LeakyReLU(0.01, inplace=True),
    "elu": lambda: nn.ELU(inplace=True),
    "gelu": nn.GELU,
    "silu": lambda: nn.SiLU(inplace=True),
    "tanh": nn.Tanh,
}
# Blocks of each of the four stages.
STAGES = {18: (2, 2, 2, 2), 34: (3, 4, 6, 3), 50: (3, 4, 6, 3)}


@dataclass(frozen=True)
class Shape:
    """What a network is made of, besides its weights."""

    depth: int
    classes: int
    channels: int = 3
    conv: tuple[int, int] = (3, 3)
    pooling: tuple[int, int] = (2, 2)
    activation: str = "relu"
    dropout: float = 0.0


def _conv(inside: int, outside: int, size: tuple[int, int], stride: int = 1) -> nn.Conv2d:
    padding = (size[0] // 2, size[1] // 2)
    return nn.Conv2d(inside, outside, size, stride=stride, padding=padding, bias=False)


class Basic(nn.Module):
    """Two convolutions: the block of ResNet-18 and 34."""

    widening = 1

    def __init__(self, inside: int, width: int, stride: int, shape: Shape) -> None:
        super().__init__()
        self.conv1 = _conv(inside, width, shape.conv, stride)
        self.bn1 = nn.BatchNorm2d(width)
        self.conv2 = _conv(width, width, shape.conv)
        self.bn2 = nn.BatchNorm2d(width)
        self.activation = ACTIVATIONS[shape.activation]()
        self.downsample = _shortcut(inside, width * self.widening, stride)

    def forward(self, x: Tensor) -> Tensor:
        out = self.activation(self.bn1(self.conv1(x)))
        out = self.bn2(self.conv2(out))
        return self.activation(out + self.downsample(x))


class Bottleneck(nn.Module):
    """A convolution between two that narrow and widen: the block of ResNet-50."""

    widening = 4

    def __init__(self, inside: int, width: int, stride: int, shape: Shape) -> None:
        super().__init__()
        outside = width * self.widening
        self.conv1 = _conv(inside, width, (1, 1))
        self.bn1 = nn.BatchNorm2d(width)
        self.conv2 = _conv(width, width, shape.conv, stride)
        self.bn2 = nn.BatchNorm2d(width)
        self.conv3 = _conv(width, outside, (1, 1))
        self.bn3 = nn.BatchNorm2d(outside)
        self.activation = ACTIVATIONS[shape.activation]()
        self.downsample = _shortcut(inside, outside, stride)

    def forward(self, x: Tensor) -> Tensor:
        out = self.activation(self.bn1(self.conv1(x)))
        out = self.activation(self.bn2(self.conv2(out)))
        out = self.bn3(self.conv3(out))
        return self.activation(out + self.downsample(x))


def _shortcut(inside: int, outside: int, stride: int) -> nn.Module:
    """The input itself, brought to the shape of the output where they differ."""
    if stride == 1 and inside == outside:
        return nn.Identity()
    return nn.Sequential(_conv(inside, outside, (1, 1), stride), nn.BatchNorm2d(outside))


class ResNet(nn.Module):
    """Returns logits: one number per class, before the activation of the output layer."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        block = Bottleneck if shape.depth == 50 else Basic
        self.conv1 = nn.Conv2d(shape.channels, 64, 7, stride=2, padding=3, bias=False)
        self.bn1 = nn.BatchNorm2d(64)
        self.activation = ACTIVATIONS[shape.activation]()
        self.pooling = _pooling(shape.pooling)
        inside = 64
        for number, blocks in enumerate(STAGES[shape.depth], start=1):
            width, stride = 64 * 2 ** (number - 1), 1 if number == 1 else 2
            first = block(inside, width, stride, shape)
            inside = width * block.widening
            rest = [block(inside, width, 1, shape) for _ in range(blocks - 1)]
            self.add_module(f"layer{number}", nn.Sequential(first, *rest))
        self.dropout = nn.Dropout(shape.dropout)
        self.fc = nn.Linear(inside, shape.classes)
        self.apply(_first_weights)

    def forward(self, x: Tensor) -> Tensor:
        x = self.pooling(self.activation(self.bn1(self.conv1(x))))
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        return self.fc(self.dropout(torch.mean(x, dim=(2, 3))))


def _pooling(size: tuple[int, int]) -> nn.Module:
    """Halves both sides; a side of 1 is not pooled."""
    stride = (min(2, size[0]), min(2, size[1]))
    return nn.MaxPool2d(size, stride=stride, ceil_mode=True)


def _first_weights(module: nn.Module) -> None:
    if isinstance(module, nn.Conv2d):
        nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")


def load_weights(network: ResNet, weights: dict[str, Tensor]) -> tuple[int, list[str]]:
    """Take over what fits. Returns how many tensors did, and the names of those that did not (other classes, say)."""
    own = network.state_dict()
    fitting = {name: value for name, value in weights.items() if name in own and own[name].shape == value.shape}
    network.load_state_dict(own | fitting)
    return len(fitting), sorted(name for name in own if name not in fitting)
