"""Migrations behind 0054 only add what older programs can do without: two versions may use one database at a time."""

from __future__ import annotations

import importlib
import re
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
import sqlalchemy as sa

from millpond.db import migrate

# Of the audit log, which every program since 0.2 only adds to.
REFUSES = re.compile(r"CREATE (TRIGGER \w+ BEFORE [A-Z ]+ ON audit |FUNCTION audit_refuse\(\))")
VERSIONS = Path(migrate.__file__).parent / "migrations" / "versions"


class Recorder:
    """Stands in for `alembic.op`: notes what a migration asks for, and refuses what an older program would notice."""

    def __init__(self, database: str = "sqlite") -> None:
        self.database = database
        self.made: set[str] = set()
        self.problems: list[str] = []

    def f(self, name: str) -> str:
        return name

    def create_table(self, name: str, *_: Any, **__: Any) -> None:
        self.made.add(name)

    def create_index(self, name: str, table: str, *_: Any, unique: bool = False, **__: Any) -> None:
        if unique and table not in self.made:
            self.problems.append(f"{name}: rows that an older program writes to {table} may be refused")

    def add_column(self, table: str, column: sa.Column[Any]) -> None:
        if table not in self.made and not column.nullable and column.server_default is None:
            self.problems.append(
                f"{table}.{column.name}: an older program leaves it out; make it nullable or give a default"
            )

    def get_context(self) -> Any:
        return SimpleNamespace(dialect=SimpleNamespace(name=self.database))

    def execute(self, statement: str) -> None:
        """Triggers are let through that refuse what no program since 0.2 does."""
        if not REFUSES.match(statement):
            self.problems.append(f"op.execute: {statement[:80]}")

    def __getattr__(self, name: str) -> Any:
        def refused(*_: Any, **__: Any) -> None:
            self.problems.append(f"op.{name}: only adding tables, indexes and columns leaves older programs working")

        return refused


def problems_of(module: ModuleType, monkeypatch: pytest.MonkeyPatch, database: str = "sqlite") -> list[str]:
    recorder = Recorder(database)
    monkeypatch.setattr(module, "op", recorder)
    module.upgrade()
    return recorder.problems


def new_migrations() -> list[str]:
    files = sorted(VERSIONS.glob("[0-9]*.py"))
    return [file.stem for file in files if file.stem.partition("_")[0] > migrate.FIRST_SHARED]


@pytest.mark.parametrize("name", new_migrations())
def test_it_only_adds(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    module = importlib.import_module(f"millpond.db.migrations.versions.{name}")
    assert problems_of(module, monkeypatch) == []
    assert problems_of(module, monkeypatch, "postgresql") == []


def test_what_an_older_program_would_notice_is_found() -> None:
    op = Recorder()

    def upgrade() -> None:
        op.create_table("new", sa.Column("id", sa.Integer, nullable=False))
        op.create_index("fine", "new", ["id"], unique=True)
        op.add_column("new", sa.Column("name", sa.Text, nullable=False))
        op.add_column("job", sa.Column("fine", sa.Text, nullable=True))
        op.add_column("job", sa.Column("also_fine", sa.Text, nullable=False, server_default=""))
        op.add_column("job", sa.Column("lacking", sa.Text, nullable=False))
        op.create_index("narrow", "job", ["name"], unique=True)
        op.drop_column("job", "name")
        op.batch_alter_table("job")
        op.execute("UPDATE job SET name = ''")

    upgrade()
    assert [problem.partition(":")[0] for problem in op.problems] == [
        "job.lacking", "narrow", "op.drop_column", "op.batch_alter_table", "op.execute",
    ]  # fmt: skip
