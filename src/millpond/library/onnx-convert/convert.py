"""Converts a TorchScript model to ONNX, and compares both on random inputs before anything is saved."""

from __future__ import annotations

import io
import warnings
from pathlib import Path
from typing import Any

import model_folder
import numpy as np
import onnxruntime
import step
import torch

FILE = "model.onnx"


def main() -> None:
    params, folder = step.params(), step.given("model")
    assert folder is not None
    try:
        signature, file = model_folder.read_signature(folder), model_folder.model_file(folder)
    except ValueError as problem:
        raise step.Problem(str(problem)) from problem
    if file.suffix != ".pt":
        raise step.Problem(f"{file.name} is not TorchScript: only 1/model.pt can be converted.")
    with warnings.catch_warnings():
        # TorchScript is what Triton's PyTorch backend reads, whatever comes after it.
        warnings.simplefilter("ignore")
        model = torch.jit.load(file, map_location="cpu").eval()
        samples = random_inputs(signature, params.samples, params.seed)
        content = converted(model, samples, signature, params.opset)
    difference = compare(model, content, samples, signature)
    if difference > params.tolerance:
        raise step.Problem(f"The ONNX model differs by {difference:.3g}, more than the tolerance {params.tolerance:g}.")
    save(content, signature, step.output("model"))
    step.log("log_metric", "difference", difference)
    step.save_values(difference=difference)
    step.say(f"converted {file.name}: {len(content):,} bytes; greatest difference {difference:.2e}")


def random_inputs(signature: dict[str, Any], count: int, seed: int) -> list[torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return [torch.rand(count, *one["shape"][1:], generator=generator) for one in signature["inputs"]]


def converted(
    model: torch.jit.ScriptModule, samples: list[torch.Tensor], signature: dict[str, Any], opset: int
) -> bytes:
    names = {kind: [one["name"] for one in signature[kind]] for kind in ("inputs", "outputs")}
    axes = {name: {0: "batch"} for all_ in names.values() for name in all_}
    target = io.BytesIO()
    torch.onnx.export(
        model, tuple(samples), target, dynamo=False, opset_version=opset, dynamic_axes=axes,
        input_names=names["inputs"], output_names=names["outputs"],
    )  # fmt: skip
    return target.getvalue()


def compare(
    model: torch.jit.ScriptModule, content: bytes, samples: list[torch.Tensor], signature: dict[str, Any]
) -> float:
    """For the whole batch, and for a single row: the batch must not be fixed in the model."""
    session = onnxruntime.InferenceSession(content, providers=["CPUExecutionProvider"])
    greatest = 0.0
    for rows in (samples, [one[:1] for one in samples]):
        given = {one["name"]: rows[number].numpy() for number, one in enumerate(signature["inputs"])}
        with torch.no_grad():
            answer = model(*rows)
        wanted = answer if isinstance(answer, tuple) else (answer,)
        for one, other in zip(session.run(None, given), wanted, strict=True):
            greatest = max(greatest, float(np.abs(np.asarray(one) - other.detach().numpy()).max()))
    return greatest


def save(content: bytes, signature: dict[str, Any], folder: Path) -> None:
    (folder / "1").mkdir(exist_ok=True)
    (folder / "1" / FILE).write_bytes(content)
    model_folder.write_model_files(folder, FILE, {key: value for key, value in signature.items() if key != "schema"})


if __name__ == "__main__":
    step.run(main)
