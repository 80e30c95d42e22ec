"""Splits the rows of a table: the same rows, parameters and seed always give the same parts."""

from __future__ import annotations

import pandas as pd
import parts
import step
import table_files


def main() -> None:
    params, data = step.params(), step.given("data")
    assert data is not None
    rows = table_files.read_table(data)
    for column in (params.stratify, params.group):
        if column and column not in rows.columns:
            raise step.Problem(f"The table has no column {column!r}. Its columns: {', '.join(map(str, rows.columns))}")
    sizes = {"val": params.val_size, "test": params.test_size}
    if sum(sizes.values()) >= 1:
        raise step.Problem("val_size and test_size leave nothing to train with: their sum must be below 1.")
    strata = rows[params.stratify].astype(str) if params.stratify else pd.Series("", index=rows.index)
    groups = rows[params.group].astype(str) if params.group else pd.Series(rows.index.astype(str), index=rows.index)
    items = [parts.Item(str(number), strata[number], f"group {groups[number]}") for number in rows.index]
    chosen = parts.split(items, sizes, seed=params.seed)
    for name, numbers in chosen.items():
        found = rows.loc[sorted(int(number) for number in numbers)]
        found.to_parquet(step.output(name) / f"{name}.parquet", index=False)
        step.say(f"{name}: {len(found)} rows")
        step.log("log_metric", f"{name}_rows", len(found))
    step.save_values(**{f"{name}_rows": len(chosen.get(name, ())) for name in ("train", "val", "test")})


if __name__ == "__main__":
    step.run(main)
