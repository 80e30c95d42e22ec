"""The processes of a distributed job, found by what torchrun and Millpond tell them; one process alone is rank 0."""

from __future__ import annotations

import os
from dataclasses import dataclass

import torch
import torch.distributed as dist
from torch import Tensor, nn


@dataclass(frozen=True)
class Ranks:
    rank: int
    count: int
    device: torch.device

    @property
    def is_first(self) -> bool:
        return self.rank == 0

    def share(self, network: nn.Module) -> nn.Module:
        """The network, with gradients averaged over all processes."""
        if self.count == 1:
            return network
        devices = [self.device] if self.device.type == "cuda" else None
        return nn.parallel.DistributedDataParallel(network, device_ids=devices)

    def total(self, values: Tensor) -> Tensor:
        """The sum over all processes."""
        if self.count > 1:
            dist.all_reduce(values)
        return values

    def wait(self) -> None:
        if self.count > 1:
            dist.barrier()


def join() -> Ranks:
    rank, count = int(os.environ.get("RANK", "0")), int(os.environ.get("WORLD_SIZE", "1"))
    # Every process of a job sees its own GPUs only.
    device = torch.device("cuda:0" if torch.cuda.is_available() else "cpu")
    if count > 1:
        dist.init_process_group("nccl" if device.type == "cuda" else "gloo", rank=rank, world_size=count)
    return Ranks(rank, count, device)


def leave() -> None:
    if dist.is_available() and dist.is_initialized():
        dist.destroy_process_group()
