"""`python -m millpond_serve.batch`: one shard of a batch prediction, as a step of a flow runs it.

The model and the data are inputs of the step; whole pieces lie in its checkpoint, and go to its output at the end.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path

from ..config import ModelConfig
from ..core import ModelServer
from ..errors import ServeError
from ..repository import ModelFolder
from ..request import InferRequest
from ..tensors import Tensor
from .merge import step_input
from .pieces import cut, skipped
from .predicting import BatchJob, Predict, Progress, run
from .reading import Array

_NAME = "model"


def main() -> None:
    try:
        done = predict_shard()
    except ServeError as error:
        sys.exit(f"Prediction failed: {error.message}")
    _log(f"{done.samples} samples predicted, {len(done.errors)} files skipped.")


def predict_shard() -> Progress:
    """Predict what this step is asked for; its environment says what and where (docs/flows.md)."""
    params = json.loads(Path(os.environ["MILL_PARAMS"]).read_text())
    folder, model = step_input("data"), step_input("model")
    kept = Path(os.environ["MILL_CHECKPOINT"]) / "pieces"
    server = ModelServer(models={_NAME: ModelFolder(_NAME, model)})
    for error in server.load_all().values():
        raise error
    config = server.repository.find(_NAME, "").config
    job = BatchJob(folder, kept, config, params["columns"], _labels(model, config), params["max_errors"])
    pieces = cut(folder, params["shard"], params["shards"])
    others = skipped(folder)
    if not cut(folder):
        found = f"{len(others)} files, like {others[0]}" if others else "no files"
        raise ServeError(400, f"the dataset has no tables, arrays or images: it has {found}")
    if params["shard"] == 0 and others:
        _log(f"{len(others)} files are no data and are left out, like {others[0]}.")
    _log(f"{len(pieces)} pieces to predict.")
    done = run(job, pieces, _asking(server, config), lambda so_far: _log(f"{so_far.pieces} of {len(pieces)} pieces."))
    server.close()
    _hand_over(kept, done)
    return done


def _asking(server: ModelServer, config: ModelConfig) -> Predict:
    """How samples become predictions: a request for each batch, without the batch's dimension where there is none."""

    def predict(inputs: Mapping[str, Array]) -> Mapping[str, Array]:
        alone = config.max_batch_size == 0 and not _is_free(config)
        tensors = tuple(
            Tensor(name, config.inputs[name].datatype, array[0] if alone else array) for name, array in inputs.items()
        )
        answer = server.infer_blocking(InferRequest(_NAME, tensors))
        return {one.name: one.array[None] if alone else one.array for one in answer.outputs}

    return predict


def _is_free(config: ModelConfig) -> bool:
    """True if the model's own first dimension counts samples, though its configuration knows no batches."""
    return all(one.dims and one.dims[0] == -1 for one in config.inputs.values())


def _labels(model: Path, config: ModelConfig) -> dict[str, list[str]]:
    found = {}
    for one in config.outputs.values():
        file = model / one.label_file if one.label_file else None
        if file is not None and file.is_file():
            found[one.name] = file.read_text("utf-8").splitlines()
    return found


def _hand_over(kept: Path, done: Progress) -> None:
    output = Path(os.environ["MILL_OUTPUT"]) / "predictions"
    output.mkdir(parents=True, exist_ok=True)
    for path in sorted(kept.glob("part-*.parquet")):
        shutil.copyfile(path, output / path.name)
    # Names with an underscore are passed over by those who read a folder of Parquet.
    told = {"samples": done.samples, "errors": [{"source": path, "error": why} for path, why in done.errors]}
    (output / f"_shard-{os.environ.get('MILL_INDEX', '0')}.json").write_text(json.dumps(told, indent=2))
    Path(os.environ["MILL_VALUES"]).write_text(json.dumps({"samples": done.samples}))


def _log(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
