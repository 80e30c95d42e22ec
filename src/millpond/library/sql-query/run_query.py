"""Runs one query and writes its rows as files, a part at a time. The database is only read."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pandas as pd
import step
from sqlalchemy import Connection, create_engine, text
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, SQLAlchemyError


def main() -> None:
    params, target = step.params(), step.output("table")
    url = address(params)
    try:
        engine = create_engine(url)
        with engine.connect().execution_options(stream_results=True) as connection:
            if url.get_backend_name() == "postgresql":
                connection.execute(text("SET TRANSACTION READ ONLY"))
            rows = write(connection, params, target)
        engine.dispose()
    except (SQLAlchemyError, pd.errors.DatabaseError, ImportError) as error:
        # The message of a driver may hold the query, never the password.
        raise step.Problem(f"The query failed: {str(error).splitlines()[0]}") from error
    if not rows and not params.allow_empty:
        raise step.Problem("The query has no rows. Set allow_empty to accept that.")
    step.log("log_metric", "rows", rows)
    step.save_values(rows=rows)
    step.say(f"{rows:,} rows")


def address(params: SimpleNamespace) -> URL:
    folder = step.given("database")
    if bool(params.url) == bool(params.file):
        raise step.Problem("Give either url, the name of a secret, or file, a SQLite file of the input database.")
    if params.file:
        path = (folder or Path()) / params.file
        if folder is None or not path.is_file():
            raise step.Problem(f"The input database has no file {params.file!r}.")
        return make_url(f"sqlite:///file:{path}?mode=ro&immutable=1&uri=true")
    try:
        return make_url(step.secret(params.url))
    except ArgumentError:
        raise step.Problem(f"Secret {params.url} does not hold the address of a database.") from None


def write(connection: Connection, params: SimpleNamespace, target: Path) -> int:
    """One file per part of the result; at least one, so that the columns are known."""
    rows = 0
    parts = pd.read_sql_query(text(params.query), connection, params=params.bind or {}, chunksize=params.chunk_rows)
    for number, part in enumerate(parts):
        path = target / f"part-{number:05d}.{params.format}"
        if params.format == "csv":
            part.to_csv(path, index=False)
        else:
            part.to_parquet(path, index=False)
        rows += len(part)
    return rows


if __name__ == "__main__":
    step.run(main)
