"""Each integration with its real library; those that are not installed here are skipped by name."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import millpond
from millpond.client import run as run_module
from millpond.client.credentials import save_token
from tests.unit.client.fake_server import FakeServer
from tests.unit.client.run_server import DEADLINE, Runs

# Training libraries warn of one another's changes, which are not ours to mend.
pytestmark = pytest.mark.filterwarnings("default")


@pytest.fixture
def runs(server: FakeServer, home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Runs]:
    monkeypatch.setattr(run_module, "EXIT_SECONDS", DEADLINE)
    found = Runs()
    found.install(server)
    save_token(home, server.url, "mill_token")
    yield found
    millpond.finish()


def library(name: str) -> Any:
    return pytest.importorskip(name, reason=f"{name} is no dependency of the tests: install it to test its integration")


def two_classes() -> tuple[Any, Any]:
    np = library("numpy")
    X = np.random.default_rng(0).normal(size=(80, 4)).astype("float32")
    return X, (X[:, 0] > 0).astype("int64")


def test_importing_millpond_imports_no_training_library() -> None:
    code = "import sys, millpond; millpond.init; print([n for n in ('sklearn', 'torch', 'keras') if n in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_a_classifier_is_logged_with_params_scores_and_confusion_matrix(runs: Runs) -> None:
    library("sklearn")
    from sklearn.ensemble import RandomForestClassifier  # noqa: PLC0415

    from millpond.integrations.sklearn import log_estimator  # noqa: PLC0415

    X, y = two_classes()
    model = RandomForestClassifier(n_estimators=7, random_state=0).fit(X[:60], y[:60])
    scores = log_estimator(model, X[60:], y[60:], experiment="trees")
    millpond.finish()
    assert scores["test_accuracy"] == model.score(X[60:], y[60:])
    assert {"test_f1_macro", "test_roc_auc", "test_log_loss"} <= scores.keys()
    assert runs.points("test_accuracy") == [(0, scores["test_accuracy"])]
    assert runs.params()["n_estimators"] == 7
    assert runs.tags()["estimator"] == "RandomForestClassifier"
    assert [one["experiment"] for one in runs.created.values()] == ["trees"]
    assert {path.split("/")[0] for path in runs.artifacts} == {"confusion", "tables"}


def test_a_search_and_a_regressor_are_logged(runs: Runs) -> None:
    library("sklearn")
    from sklearn.linear_model import Ridge  # noqa: PLC0415
    from sklearn.model_selection import GridSearchCV  # noqa: PLC0415
    from sklearn.pipeline import make_pipeline  # noqa: PLC0415
    from sklearn.preprocessing import StandardScaler  # noqa: PLC0415

    from millpond.integrations.sklearn import log_estimator  # noqa: PLC0415

    X, _ = two_classes()
    pipeline = make_pipeline(StandardScaler(), Ridge())
    model = GridSearchCV(pipeline, {"ridge__alpha": [0.01, 100.0]}, cv=2).fit(X, 3 * X[:, 1])
    scores = log_estimator(model, X, 3 * X[:, 1], prefix="train")
    millpond.finish()
    assert scores["train_r2"] > 0.99
    assert runs.params()["best.ridge__alpha"] == 0.01
    assert runs.points("best_cv_score") == [(0, model.best_score_)]
    assert any(path.startswith("tables/cv_results") for path in runs.artifacts)


def test_what_is_no_estimator_is_said_and_raises_nothing(runs: Runs, capsys: pytest.CaptureFixture[str]) -> None:
    library("sklearn")
    from millpond.integrations.sklearn import log_estimator  # noqa: PLC0415

    assert log_estimator(object(), [[1]], [1]) == {}
    assert "the estimator object could not be logged" in capsys.readouterr().err


def test_lightning_logs_hyperparameters_and_metrics(runs: Runs, tmp_path: Path) -> None:
    pl = library("lightning.pytorch")
    import torch  # noqa: PLC0415

    from millpond.integrations.lightning import MillpondLogger  # noqa: PLC0415

    class Line(pl.LightningModule):  # type: ignore[misc, name-defined]
        def __init__(self, lr: float = 0.1) -> None:
            super().__init__()
            self.save_hyperparameters()
            self.layer = torch.nn.Linear(4, 1)

        def training_step(self, batch: Any, _: int) -> Any:
            loss = self.layer(batch[0]).square().mean()
            self.log("loss", loss)
            return loss

        def test_step(self, batch: Any, _: int) -> None:
            self.log("test_loss", self.layer(batch[0]).square().mean())

        def configure_optimizers(self) -> Any:
            return torch.optim.SGD(self.parameters(), self.hparams["lr"])

    data = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.ones(16, 4)), batch_size=4)
    trainer = pl.Trainer(
        max_epochs=2, logger=MillpondLogger("line", checkpoints=True), log_every_n_steps=1, accelerator="cpu",
        default_root_dir=tmp_path, enable_progress_bar=False, enable_model_summary=False,
    )  # fmt: skip
    model = Line()
    trainer.fit(model, data)
    trainer.test(model, data, verbose=False)
    millpond.finish()
    assert [one["name"] for one in runs.created.values()] == ["line"]
    assert runs.params()["lr"] == 0.1
    assert [step for step, _ in runs.points("loss")] == list(range(8))
    assert len(runs.points("test_loss")) == 1
    assert "checkpoints/best.ckpt" in runs.artifacts


def test_transformers_logs_arguments_and_metrics(runs: Runs, tmp_path: Path) -> None:
    transformers = library("transformers")
    library("accelerate")
    import torch  # noqa: PLC0415

    from millpond.integrations.huggingface import MillpondCallback  # noqa: PLC0415

    config = transformers.BertConfig(
        vocab_size=20, hidden_size=8, num_hidden_layers=1, num_attention_heads=1, intermediate_size=8
    )
    data = [{"input_ids": torch.tensor([1, 2, 3]), "labels": torch.tensor(n % 2)} for n in range(8)]
    arguments = transformers.TrainingArguments(
        output_dir=str(tmp_path), num_train_epochs=1, per_device_train_batch_size=2, logging_steps=1, report_to=[],
        save_strategy="no", use_cpu=True, disable_tqdm=True, learning_rate=0.01,
    )  # fmt: skip
    trainer = transformers.Trainer(
        model=transformers.BertForSequenceClassification(config), args=arguments, train_dataset=data, eval_dataset=data,
        callbacks=[MillpondCallback("bert")],
    )  # fmt: skip
    trainer.train()
    trainer.evaluate()
    millpond.finish()
    assert len(runs.created) == 1
    assert runs.params()["learning_rate"] == 0.01
    assert runs.tags()["model"] == "bert"
    assert [step for step, _ in runs.points("loss")] == [1, 2, 3, 4]
    assert [step for step, _ in runs.points("eval_loss")] == [4]


def test_keras_logs_epochs_and_evaluation(runs: Runs) -> None:
    keras = library("keras")
    from millpond.integrations.keras import MillpondCallback  # noqa: PLC0415

    X, y = two_classes()
    model = keras.Sequential([keras.layers.Input((4,)), keras.layers.Dense(1, activation="sigmoid")])
    model.compile("sgd", "binary_crossentropy", metrics=["accuracy"])
    callback = MillpondCallback("dense")
    model.fit(X, y, epochs=3, validation_split=0.2, verbose=0, callbacks=[callback])
    model.evaluate(X, y, verbose=0, callbacks=[callback])
    millpond.finish()
    assert [step for step, _ in runs.points("val_loss")] == [0, 1, 2]
    assert len(runs.points("test_loss")) == 1
    assert runs.params()["model_parameters"] == 5
    assert runs.params()["optimizer.learning_rate"] == pytest.approx(0.01)


def test_xgboost_logs_rounds(runs: Runs) -> None:
    xgboost = library("xgboost")
    from millpond.integrations.xgboost import MillpondCallback  # noqa: PLC0415

    X, y = two_classes()
    data = xgboost.DMatrix(X, y)
    params = {"objective": "binary:logistic", "max_depth": 2}
    xgboost.train(params, data, 4, evals=[(data, "train")], verbose_eval=False, callbacks=[MillpondCallback("boost")])
    millpond.finish()
    assert [step for step, _ in runs.points("train/logloss")] == [0, 1, 2, 3]
    assert runs.params()["max_depth"] == "2"
    xgboost.cv(params, data, 2, nfold=2, callbacks=[MillpondCallback("folds")])
    millpond.finish()
    assert [step for step, _ in runs.points("test/logloss")] == [0, 1]


def test_lightgbm_logs_rounds(runs: Runs) -> None:
    lightgbm = library("lightgbm")
    from millpond.integrations.lightgbm import MillpondCallback  # noqa: PLC0415

    X, y = two_classes()
    data = lightgbm.Dataset(X, y)
    params = {"objective": "binary", "verbose": -1, "num_leaves": 4, "num_threads": 1}
    lightgbm.train(params, data, 3, valid_sets=[data], valid_names=["seen"], callbacks=[MillpondCallback("leaves")])
    lightgbm.cv(params, data, 2, nfold=2, callbacks=[MillpondCallback()])
    millpond.finish()
    assert [step for step, _ in runs.points("seen/binary_logloss")] == [0, 1, 2]
    assert runs.params()["num_leaves"] == 4
    assert [step for step, _ in runs.points("valid/binary_logloss")] == [0, 1]
