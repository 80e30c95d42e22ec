"""Links between places, what was measured over them, who sees which volume, and the use of volumes over time."""

from __future__ import annotations

from sqlalchemy import JSON, BigInteger, Column, Double, ForeignKey, Integer, String, Table, Text

from millpond.db.tables.base import UtcTime, metadata, time_column


def _of_volume() -> Column[str]:
    return Column("volume_id", String(32), ForeignKey("volume.id", ondelete="CASCADE"), primary_key=True)


# One row per pair. An end is a site's id, or `lake`; the lake comes first, sites in the order of their ids.
link = Table(
    "link",
    metadata,
    Column("a_id", String(32), primary_key=True),
    Column("b_id", String(32), primary_key=True),
    Column("bits_per_second", BigInteger, nullable=True),
    Column("latency_ms", Double, nullable=True),
    Column("price_per_gb", Double, nullable=True),
    time_column("set_at"),
    # Windows and rates ({"windows": [{"bits_per_second": …, "start": 480, "end": 1080, "zone": "Europe/Berlin"}]}).
    Column("rate_limit", JSON(none_as_null=True), nullable=True),
)

# What fills brought, from the lake (`lake`) or from volumes of another site (its id).
bandwidth = Table(
    "bandwidth",
    metadata,
    _of_volume(),
    Column("source_id", String(32), primary_key=True),
    Column("bytes_per_second", Double, nullable=False),
    Column("fills", Integer, nullable=False),
    time_column("measured_at"),
)

# What each agent last found at a volume's path: of its own site, and of sites that are linked to it.
volume_sight = Table(
    "volume_sight",
    metadata,
    Column("agent_id", String(32), ForeignKey("agent.id", ondelete="CASCADE"), primary_key=True),
    _of_volume(),
    Column("problem", Text, nullable=True),
    time_column("seen_at"),
)

# Whether each agent can read the lake from the stores that its site has: `lake`, `endpoint`, or the id of a replica.
store_sight = Table(
    "store_sight",
    metadata,
    Column("agent_id", String(32), ForeignKey("agent.id", ondelete="CASCADE"), primary_key=True),
    Column("store_id", String(32), primary_key=True),
    Column("problem", Text, nullable=True),
    time_column("seen_at"),
)

# Counts of one hour. Kept for good: an hour without use has no row.
cache_use = Table(
    "cache_use",
    metadata,
    _of_volume(),
    Column("project_id", String(32), ForeignKey("project.id", ondelete="CASCADE"), primary_key=True),
    Column("hour", UtcTime, primary_key=True),
    Column("hits", BigInteger, nullable=False),
    Column("misses", BigInteger, nullable=False),
    Column("saved_bytes", BigInteger, nullable=False),
    Column("saved_seconds", Double, nullable=False),
    Column("fills", BigInteger, nullable=False),
    Column("filled_bytes", BigInteger, nullable=False),
    Column("fill_seconds", Double, nullable=False),
)

# How full a volume was: every minute for a day, every hour for 90 days (`step_seconds`).
volume_sample = Table(
    "volume_sample",
    metadata,
    _of_volume(),
    Column("step_seconds", Integer, primary_key=True),
    Column("at", UtcTime, primary_key=True),
    Column("capacity_bytes", BigInteger, nullable=False),
    Column("used_bytes", BigInteger, nullable=False),
    Column("reserved_bytes", BigInteger, nullable=False),
    Column("free_bytes", BigInteger, nullable=False),
    Column("foreign_bytes", BigInteger, nullable=False),
)

# What the fill of a cached commit has brought so far: its throughput, and in the end a measure of the bandwidth.
fill_rate = Table(
    "fill_rate",
    metadata,
    Column("cached_id", String(32), ForeignKey("cached_commit.id", ondelete="CASCADE"), primary_key=True),
    Column("source_id", String(32), nullable=False),
    Column("fetched_bytes", BigInteger, nullable=False),
    Column("seconds", Double, nullable=False),
    Column("files", BigInteger, nullable=False, server_default="0"),
    time_column("at", nullable=True),
    # A list of kind, id and bytes for each source of the attempt.
    Column("given", JSON, nullable=True),
)

# What fills brought, by UTC day (`2026-11-18`). An end is a site's id, `lake` or `outside`. Kept when a site or a
# project goes.
egress = Table(
    "egress",
    metadata,
    Column("day", String(10), primary_key=True),
    Column("project_id", String(32), primary_key=True),
    Column("site_id", String(32), primary_key=True),
    Column("source_id", String(32), primary_key=True),
    Column("bytes", BigInteger, nullable=False),
    Column("money", Double, nullable=False),
)

# What of the reports on a fill was counted in `egress`, so that nothing is counted twice.
egress_counted = Table(
    "egress_counted",
    metadata,
    Column("cached_id", String(32), ForeignKey("cached_commit.id", ondelete="CASCADE"), primary_key=True),
    Column("attempt", BigInteger, nullable=False),
    Column("session", String(32), nullable=False),
    Column("given", JSON, nullable=False),  # [kind, id, bytes] of each source
)

# What may come over links with a price in a month, for a project or for all ("").
egress_budget = Table(
    "egress_budget",
    metadata,
    Column("project_id", String(32), primary_key=True),
    Column("bytes", BigInteger, nullable=True),
    Column("money", Double, nullable=True),
    Column("warn_percent", Integer, nullable=False),
    Column("set_by", String(63), nullable=False),
    time_column("set_at"),
)
