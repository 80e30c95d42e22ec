"""The trained network as a model that can be served: pixels from 0 to 1 in, what the output layer says out."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import model_folder
import step
import torch
from images import Reading
from torch import Tensor, nn

INPUT, OUTPUT = "input__0", "output__0"
ACTIVATIONS = {"softmax": nn.Softmax(dim=1), "sigmoid": nn.Sigmoid(), "linear": nn.Identity()}
_TOLERANCE = 1e-3


class Served(nn.Module):
    def __init__(self, network: nn.Module, activation: str) -> None:
        super().__init__()
        self.network = network
        self.activation = ACTIVATIONS[activation]

    def forward(self, input__0: Tensor) -> Tensor:
        return self.activation(self.network(input__0))


def check_name(file: str) -> None:
    if Path(file).suffix not in model_folder.BACKENDS or Path(file).name != file:
        raise step.Problem(f"output_model must be a file name that ends in .pt or .onnx, not {file!r}.")


def save_model(network: nn.Module, classes: tuple[str, ...], reading: Reading, *, activation: str, file: str) -> None:
    """Write the output `model`, and check that what was saved answers as the network does."""
    folder = step.output("model")
    (folder / "1").mkdir(exist_ok=True)
    served = Served(network.cpu().eval(), activation).eval()
    sample = torch.rand(2, reading.channels, reading.height, reading.width, generator=torch.Generator().manual_seed(0))
    path = folder / "1" / file
    with warnings.catch_warnings(), torch.no_grad():
        # TorchScript is what Triton's PyTorch backend reads, whatever comes after it.
        warnings.simplefilter("ignore")
        traced = torch.jit.trace(served, sample)
        if path.suffix == ".onnx":
            names = {"input_names": [INPUT], "output_names": [OUTPUT]}
            axes = {INPUT: {0: "batch"}, OUTPUT: {0: "batch"}}
            torch.onnx.export(served, (sample,), path, dynamo=False, dynamic_axes=axes, **names)
        else:
            traced.save(path)
            difference = float((torch.jit.load(path)(sample) - served(sample)).abs().max())
            if difference > _TOLERANCE:
                raise step.Problem(f"The saved model differs from the trained one by {difference:.3g}.")
    model_folder.write_model_files(folder, file, signature(classes, reading))


def signature(classes: tuple[str, ...], reading: Reading) -> dict[str, Any]:
    shape = (reading.channels, reading.height, reading.width)
    return {
        "task": "image-classification",
        "inputs": [model_folder.tensor(INPUT, "FP32", *shape)],
        "outputs": [model_folder.tensor(OUTPUT, "FP32", len(classes))],
        "classes": list(classes),
        "image": {"height": reading.height, "width": reading.width, "color": reading.color, "values": [0, 1]},
    }
