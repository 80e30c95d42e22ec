"""Rows become files in parts; the address of the database comes from a secret, and is never said."""

from __future__ import annotations

from pathlib import Path

import pytest

from millpond.testing.components import run, try_run

pandas = pytest.importorskip("pandas", reason="needs pandas: pip install 'millpond[library]'")

HERE = Path(__file__).resolve().parent
DATABASE = {"database": HERE / "data"}


def test_rows_are_written_in_parts(tmp_path: Path) -> None:
    params = {
        "file": "shop.sqlite",
        "query": "SELECT * FROM orders WHERE price > :least",
        "bind": {"least": 2},
        "chunk_rows": 3,
    }
    ran = run(HERE.parent, work=tmp_path, inputs=DATABASE, params=params)
    files = sorted(ran.path("table").iterdir())
    assert ran.outputs["rows"] == 8 and [path.name for path in files] == [f"part-0000{n}.parquet" for n in range(3)]
    assert pandas.concat(map(pandas.read_parquet, files))["price"].min() > 2


def test_the_address_is_a_secret(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOP_DB", f"sqlite:///{HERE / 'data' / 'shop.sqlite'}")
    params = {"url": "SHOP_DB", "query": "SELECT count(*) AS n FROM orders", "format": "csv"}
    ran = run(HERE.parent, work=tmp_path / "w", params=params)
    assert (ran.path("table") / "part-00000.csv").read_text() == "n\n10\n"
    monkeypatch.setenv("SHOP_DB", "postgresql+psycopg://ada:hunter2@127.0.0.1:1/shop?connect_timeout=1")
    refused = try_run(HERE.parent, work=tmp_path / "w2", params=params)
    assert "The query failed" in refused.log and "hunter2" not in refused.log and "Traceback" not in refused.log


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"file": "shop.sqlite", "query": "SELECT * FROM missing_table"}, "no such table"),
        ({"file": "shop.sqlite", "query": "SELECT * FROM orders WHERE price > 99"}, "has no rows"),
        ({"query": "SELECT 1"}, "Give either url"),
    ],
)
def test_what_goes_wrong_is_said(tmp_path: Path, params: dict[str, str], words: str) -> None:
    ran = try_run(HERE.parent, work=tmp_path, inputs=DATABASE, params=params)
    assert words in ran.log and "Traceback" not in ran.log
