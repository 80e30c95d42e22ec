"""Rows are divided by their shares; groups stay together."""

from __future__ import annotations

from pathlib import Path

import pytest

from millpond.testing.components import run

pandas = pytest.importorskip("pandas", reason="needs pandas: pip install 'millpond[library]'")

HERE = Path(__file__).resolve().parent


def test_strata_are_exact_and_groups_stay_together(tmp_path: Path) -> None:
    ran = run(HERE.parent, work=tmp_path / "a", inputs={"data": HERE / "data"}, params={"stratify": "kind"})
    train, test = (pandas.read_parquet(ran.path(part)) for part in ("train", "test"))
    assert test["kind"].value_counts().to_dict() == {"a": 4, "b": 2} and ran.outputs["train_rows"] == len(train) == 24
    assert len(pandas.concat([train, test]).drop_duplicates()) == 30
    ran = run(HERE.parent, work=tmp_path / "b", inputs={"data": HERE / "data"}, params={"group": "customer"})
    train, test = (pandas.read_parquet(ran.path(part)) for part in ("train", "test"))
    assert not set(train["customer"]) & set(test["customer"]) and 4 <= len(test) <= 8
