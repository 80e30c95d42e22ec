"""A compute is not its agent: computes get a table, nodes stay when they leave, placements name their compute.

What was an agent becomes a compute and its agent, both under the id it had.
"""

from __future__ import annotations

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0014"

_CLOCK = sa.DateTime(timezone=True)
# Tables whose foreign key to `agent` stays, and whether rows go with their agent.
_OF_AGENT = {"token": "CASCADE", "tunnel": "CASCADE", "volume_sight": "CASCADE", "placement": None}


def upgrade() -> None:
    is_sqlite = op.get_bind().dialect.name == "sqlite"
    if is_sqlite and op.get_bind().scalar(sa.text("PRAGMA foreign_keys")):
        raise RuntimeError("Foreign keys must be off: dropping a table would delete the rows that refer to it.")
    create_compute()
    if not is_sqlite:  # SQLite's go by the table's name, and find the new one
        for table in _OF_AGENT:
            op.drop_constraint(f"fk_{table}_agent_id_agent", table, type_="foreignkey")
    for table in ("node", "compute_test", "trust", "agent"):
        op.execute(f"CREATE TABLE {table}_before AS SELECT * FROM {table}")
        op.drop_table(table)
    create_agent()
    create_node()
    create_compute_test()
    create_trust()
    for table in ("node", "compute_test", "trust", "agent"):
        op.drop_table(f"{table}_before")
    if not is_sqlite:
        for table, ondelete in _OF_AGENT.items():
            name = f"fk_{table}_agent_id_agent"
            op.create_foreign_key(name, table, "agent", ["agent_id"], ["id"], ondelete=ondelete)
    add_compute_to_placement()
    op.add_column("join_token", sa.Column("compute_id", sa.String(length=32), nullable=True))


def create_compute() -> None:
    op.create_table(
        "compute",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("name", sa.String(length=63), nullable=False),
        sa.Column("site_id", sa.String(length=32), nullable=False),
        sa.Column("driver", sa.String(length=20), nullable=False),
        sa.Column("agent_id", sa.String(length=32), nullable=True),
        sa.Column("capabilities", sa.JSON(), nullable=True),
        sa.Column("trusts_all", sa.Boolean(), nullable=False, server_default=sa.text("false")),
        sa.Column("created_at", _CLOCK, nullable=False),
        sa.Column("cordoned_at", _CLOCK, nullable=True),
        sa.Column("cordoned_by", sa.String(length=63), nullable=True),
        sa.Column("detached_at", _CLOCK, nullable=True),
        sa.ForeignKeyConstraint(["site_id"], ["site.id"], name=op.f("fk_compute_site_id_site")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_compute")),
    )
    op.create_index("ix_compute_site_id", "compute", ["site_id"])
    attached = sa.text("detached_at IS NULL")
    op.create_index(
        "uq_compute_name_attached", "compute", ["name"], unique=True, sqlite_where=attached, postgresql_where=attached
    )
    same = ("name", "site_id", "driver", "capabilities", "trusts_all", "created_at", "cordoned_at", "cordoned_by",
            "detached_at")  # fmt: skip
    copy("compute", "agent", ("id", "agent_id", *same), ("id", "id", *same))


def create_agent() -> None:
    op.create_table(
        "agent",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("compute_id", sa.String(length=32), nullable=False),
        sa.Column("version", sa.String(length=40), nullable=False),
        sa.Column("created_at", _CLOCK, nullable=False),
        sa.Column("seen_at", _CLOCK, nullable=True),
        sa.Column("instance", sa.String(length=64), nullable=True),
        sa.Column("revoked_at", _CLOCK, nullable=True),
        references("agent", "compute"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_agent")),
    )
    op.create_index("ix_agent_compute_id", "agent", ["compute_id"])
    same = ("id", "version", "created_at", "seen_at", "instance", "revoked_at")
    copy("agent", "agent_before", ("compute_id", *same), ("id", *same))


def create_node() -> None:
    op.create_table(
        "node",
        sa.Column("compute_id", sa.String(length=32), nullable=False),
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column("agent_id", sa.String(length=32), nullable=True),
        sa.Column("cpus", sa.Integer(), nullable=False),
        sa.Column("memory_bytes", sa.BigInteger(), nullable=False),
        sa.Column("gpus", sa.Integer(), nullable=False),
        sa.Column("gpu_model", sa.String(length=200), nullable=False),
        sa.Column("declared", sa.Boolean(), nullable=False),
        sa.Column("labels", sa.JSON(), nullable=False),
        sa.Column("added_at", _CLOCK, nullable=False),
        sa.Column("left_at", _CLOCK, nullable=True),
        references("node", "compute"),
        sa.ForeignKeyConstraint(["agent_id"], ["agent.id"], name=op.f("fk_node_agent_id_agent")),
        sa.PrimaryKeyConstraint("compute_id", "name", name=op.f("pk_node")),
    )
    present = sa.text("left_at IS NULL")
    op.create_index("ix_node_present", "node", ["compute_id"], sqlite_where=present, postgresql_where=present)
    same = ("name", "cpus", "memory_bytes", "gpus", "gpu_model", "declared", "labels")
    values = ", ".join(f"node_before.{name}" for name in same)
    op.execute(
        f"INSERT INTO node (compute_id, agent_id, added_at, {', '.join(same)})"
        f" SELECT agent.id, agent.id, agent.created_at, {values}"
        " FROM node_before JOIN agent ON agent.id = node_before.agent_id"
    )


def create_compute_test() -> None:
    op.create_table(
        "compute_test",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("compute_id", sa.String(length=32), nullable=False),
        sa.Column("created_by", sa.String(length=63), nullable=False),
        sa.Column("created_at", _CLOCK, nullable=False),
        sa.Column("ended_at", _CLOCK, nullable=True),
        sa.Column("checks", sa.JSON(), nullable=True),
        references("compute_test", "compute"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_compute_test")),
    )
    op.create_index("ix_compute_test_compute_id", "compute_test", ["compute_id"])
    same = ("id", "created_by", "created_at", "ended_at", "checks")
    copy("compute_test", "compute_test_before", ("compute_id", *same), ("agent_id", *same))


def create_trust() -> None:
    op.create_table(
        "trust",
        sa.Column("compute_id", sa.String(length=32), nullable=False),
        sa.Column("project_id", sa.String(length=32), nullable=False),
        references("trust", "compute"),
        references("trust", "project"),
        sa.PrimaryKeyConstraint("compute_id", "project_id", name=op.f("pk_trust")),
    )
    op.create_index("ix_trust_project_id", "trust", ["project_id"])
    copy("trust", "trust_before", ("compute_id", "project_id"), ("agent_id", "project_id"))


def add_compute_to_placement() -> None:
    with op.batch_alter_table("placement") as table:
        table.add_column(sa.Column("compute_id", sa.String(length=32), nullable=True))
    op.execute("UPDATE placement SET compute_id = agent_id")
    with op.batch_alter_table("placement") as table:
        table.alter_column("compute_id", existing_type=sa.String(length=32), nullable=False)
        table.create_foreign_key(op.f("fk_placement_compute_id_compute"), "compute", ["compute_id"], ["id"])
    living = sa.text("ended_at IS NULL")
    op.create_index(
        "ix_placement_living_compute", "placement", ["compute_id"], sqlite_where=living, postgresql_where=living
    )


def copy(target: str, source: str, into: Sequence[str], values: Sequence[str]) -> None:
    op.execute(f"INSERT INTO {target} ({', '.join(into)}) SELECT {', '.join(values)} FROM {source}")


def references(table: str, noun: str) -> sa.ForeignKeyConstraint:
    name = op.f(f"fk_{table}_{noun}_id_{noun}")
    return sa.ForeignKeyConstraint([f"{noun}_id"], [f"{noun}.id"], name=name, ondelete="CASCADE")
