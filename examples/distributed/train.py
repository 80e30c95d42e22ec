"""Training in several processes, each on its part of one cached dataset.

    mill submit train --processes 3 --data points -- python train.py

A dataset of CSV files with numbers, the last column to be learned. Runs on CPUs (gloo) or GPUs (nccl).
"""

from __future__ import annotations

import os
from pathlib import Path

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

EPOCHS = 5


def load(folder: Path) -> TensorDataset:
    lines = [line for file in sorted(folder.rglob("*.csv")) for line in file.read_text().split()]
    rows = torch.tensor([[float(number) for number in line.split(",")] for line in lines])
    return TensorDataset(rows[:, :-1], rows[:, -1:])


def main() -> None:
    # Everything it needs is in the environment: RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT.
    has_gpu = torch.cuda.is_available()
    dist.init_process_group("nccl" if has_gpu else "gloo")
    device = torch.device("cuda:0" if has_gpu else "cpu")
    data = load(Path(os.environ["MILL_DATA_POINTS"]))
    model = DistributedDataParallel(torch.nn.Linear(data.tensors[0].shape[1], 1).to(device))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    sampler = DistributedSampler(data)
    for epoch in range(EPOCHS):
        sampler.set_epoch(epoch)
        for features, wanted in DataLoader(data, batch_size=32, sampler=sampler):
            loss = torch.nn.functional.mse_loss(model(features.to(device)), wanted.to(device))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        dist.all_reduce(loss, op=dist.ReduceOp.SUM)
        print(f"rank {dist.get_rank()} epoch {epoch} loss {loss.item() / dist.get_world_size():.6f}", flush=True)
    if dist.get_rank() == 0:
        torch.save(model.module.state_dict(), Path(os.environ["MILL_OUTPUT"], "model.pt"))
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
