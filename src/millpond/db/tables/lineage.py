"""What was made from what. Derived from the lineage of commits and from jobs, which are the truth."""

from __future__ import annotations

from sqlalchemy import Column, Index, String, Table

from millpond.db.tables.base import BigId, metadata

# No foreign keys: a source may be gone, or lie in another lake, and what was made from it still says so.
lineage_edge = Table(
    "lineage_edge",
    metadata,
    Column("id", BigId, primary_key=True, autoincrement=True),
    Column("source_id", String(64), nullable=True),
    # Null for what a job reads: known before it has made anything.
    Column("made_id", String(64), nullable=True),
    Column("role", String(10), nullable=False),
    Column("maker_kind", String(10), nullable=False),
    Column("maker_id", String(200), nullable=False),
    Index("ix_lineage_edge_source_id_id", "source_id", "id"),
    Index("ix_lineage_edge_made_id_id", "made_id", "id"),
    Index("ix_lineage_edge_maker_id_maker_kind", "maker_id", "maker_kind"),
)
