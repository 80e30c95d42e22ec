"""Sites, volumes, the commits cached there and who holds them."""

from __future__ import annotations

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    Column,
    Double,
    ForeignKey,
    Integer,
    String,
    Table,
    Text,
    UniqueConstraint,
    text,
)

from millpond.db.tables.base import BigId, id_column, metadata, ref_column, time_column

site = Table(
    "site",
    metadata,
    id_column(),
    Column("name", String(63), nullable=False, unique=True),
    time_column("created_at"),
    # Where agents of other sites reach the one that serves its volumes.
    Column("address", String(300), nullable=True),
    # As of a link: for all that comes there and goes from there.
    Column("rate_limit", JSON(none_as_null=True), nullable=True),
    # Where routers of endpoints listen there, and the files on their machine that they serve TLS with.
    Column("serving_host", String(200), nullable=True),
    Column("serving_tls_cert", String(1000), nullable=True),
    Column("serving_tls_key", String(1000), nullable=True),
    # How long placements last without word from the server; null: as the settings say.
    Column("placement_seconds", Integer, nullable=True),
    # Where agents and jobs of the site reach the lake.
    Column("lake_endpoint", String(300), nullable=True),
)

volume = Table(
    "volume",
    metadata,
    id_column(),
    Column("name", String(63), nullable=False, unique=True),
    ref_column("site_id", "site.id"),
    Column("path", Text, nullable=False),
    Column("capacity_bytes", BigInteger, nullable=False),
    Column("reserve_bytes", BigInteger, nullable=False),
    Column("idle_seconds", BigInteger, nullable=False),
    Column("high_percent", Integer, nullable=False),
    Column("low_percent", Integer, nullable=False),
    time_column("created_at"),
    Column("disk_free_bytes", BigInteger, nullable=True),
    Column("problem", Text, nullable=True),
    time_column("seen_at", nullable=True),
    # The next attempt number of a fill or eviction on this volume.
    Column("next_attempt", BigInteger, nullable=False),
    # The one agent that fills, evicts and verifies there. It may be gone: then another is appointed.
    Column("filler_id", String(32), nullable=True),
    # What the probe found the file system able to do ({"link": true, "case": true, …}).
    Column("features", JSON(none_as_null=True), nullable=True),
    # A class of service, with its throughput and price relative to the standard one.
    Column("tier", String(63), nullable=False, server_default=text("'standard'")),
    Column("tier_throughput", Double, nullable=False, server_default=text("1.0")),
    Column("tier_price", Double, nullable=False, server_default=text("1.0")),
    Column("disk_total_bytes", BigInteger, nullable=True),
    # Null where the file system has no limit, or nobody has looked.
    Column("inodes_total", BigInteger, nullable=True),
    Column("inodes_free", BigInteger, nullable=True),
    # Of evicted commits, what could not be removed yet.
    Column("leftover_bytes", BigInteger, nullable=False, server_default=text("0")),
    # The plug-in that gives it its tier, with its argument (`command:ontap`); null: agents do.
    Column("tier_by", String(300), nullable=True),
    # What keeps it to its tier, as its agent or the plug-in has said last.
    Column("tier_enforced", JSON(none_as_null=True), nullable=True),
    # What the plug-in was asked for last, and when.
    Column("tier_set", JSON(none_as_null=True), nullable=True),
    UniqueConstraint("site_id", "path"),
)

# As administrators have set them; those that are there from the beginning have no row until then.
tier = Table(
    "tier",
    metadata,
    Column("name", String(63), primary_key=True),
    Column("throughput", Double, nullable=False),
    Column("price", Double, nullable=False),
    # Null: so many times what the standard one has.
    Column("bytes_per_second", BigInteger, nullable=True),
)

# What one project may take of a volume; without a row, all of it.
volume_limit = Table(
    "volume_limit",
    metadata,
    Column("volume_id", String(32), ForeignKey("volume.id", ondelete="CASCADE"), primary_key=True),
    Column("project_id", String(32), ForeignKey("project.id", ondelete="CASCADE"), primary_key=True),
    Column("bytes", BigInteger, nullable=False),
)

# What was measured after the last fill or eviction: the space of each distinct set of commits that share files by
# hard link. A project's shares on a volume are replaced as a whole.
volume_share = Table(
    "volume_share",
    metadata,
    Column("id", BigId, primary_key=True, autoincrement=True),
    ref_column("volume_id", "volume.id", cascade=True),
    ref_column("project_id", "project.id", cascade=True),
    Column("members", JSON, nullable=False),  # ids of cached commits
    Column("bytes", BigInteger, nullable=False),
    Column("inodes", BigInteger, nullable=False),
)

cached = Table(
    "cached_commit",
    metadata,
    id_column(),
    ref_column("volume_id", "volume.id"),
    ref_column("project_id", "project.id"),
    ref_column("dataset_id", "dataset.id"),
    Column("commit_id", String(64), ForeignKey("commit_.id"), nullable=False),
    Column("state", String(10), nullable=False),
    Column("attempt", BigInteger, nullable=False),
    Column("reserved_bytes", BigInteger, nullable=False),
    Column("bytes", BigInteger, nullable=False),
    Column("files", BigInteger, nullable=False),
    Column("done_bytes", BigInteger, nullable=False),
    Column("done_files", BigInteger, nullable=False),
    Column("requested_by", String(63), nullable=False),
    time_column("requested_at"),
    time_column("ready_at", nullable=True),
    time_column("used_at"),
    Column("idle_seconds", BigInteger, nullable=True),
    Column("pinned", Boolean, nullable=False),
    Column("reason", Text, nullable=False),
    Column("problem", Text, nullable=True),
    # The cached commit it takes unchanged files from, by link; it stays while the fill runs.
    Column("base_id", String(32), nullable=True),
    Column("reserved_inodes", BigInteger, nullable=False, server_default=text("0")),
    # What must come from the lake: the whole commit, or what the base does not have.
    Column("fetch_bytes", BigInteger, nullable=True),
    Column("fetch_files", BigInteger, nullable=True),
    Column("pinned_by", String(63), nullable=True),
    time_column("pinned_at", nullable=True),
    # The number of the verification asked for last, and what came of it ({"number": 2, "state": "done", …}).
    Column("verify", BigInteger, nullable=False, server_default=text("0")),
    Column("verification", JSON(none_as_null=True), nullable=True),
    # While it is on its way out: why, in one word, and who wished it.
    Column("cause", String(10), nullable=True),
    Column("cleared_by", String(63), nullable=True),
    # It was published before the server knew of it: what is there is checked rather than filled.
    Column("found", Boolean, nullable=False, server_default=text("false")),
    # Asked for ahead of need, by a policy or for a job that is queued: nobody waits for it unless it is leased.
    Column("prefetch", Boolean, nullable=False, server_default=text("false")),
    # Once and only once: one row per commit and volume, whoever asks.
    UniqueConstraint("volume_id", "commit_id"),
)

lease = Table(
    "lease",
    metadata,
    id_column(),
    ref_column("cached_id", "cached_commit.id", cascade=True),
    ref_column("job_id", "job.id", nullable=True, cascade=True),
    ref_column("user_id", "user_account.id", nullable=True, cascade=True),
    time_column("created_at"),
    time_column("expires_at", nullable=True),
    # job; hold: somebody asked for it; read: taken by reading, and renewed by it.
    Column("kind", String(10), nullable=False, server_default=text("'job'")),
    Column("reason", Text, nullable=False, server_default=text("''")),
    # Which of somebody's readers has it, by a name of its own choice; null for all other kinds.
    Column("reader", String(32), nullable=True),
)

eviction = Table(
    "eviction",
    metadata,
    id_column(),
    ref_column("volume_id", "volume.id", cascade=True),
    ref_column("project_id", "project.id", cascade=True),
    Column("dataset_id", String(32), nullable=False),
    Column("commit_id", String(64), nullable=False),
    Column("bytes", BigInteger, nullable=False),
    Column("reason", Text, nullable=False),
    time_column("at", index=True),
    # idle, watermark, room, limit, cleared, deleted, lost, volume.
    Column("cause", String(10), nullable=False, server_default=text("''")),
    # Who cleared it; null when it went by itself.
    Column("by", String(63), nullable=True),
)

# The last time a commit was refused on a volume, and why: one row each.
refusal = Table(
    "cache_refusal",
    metadata,
    Column("volume_id", String(32), ForeignKey("volume.id", ondelete="CASCADE"), primary_key=True),
    Column("commit_id", String(64), primary_key=True),
    ref_column("project_id", "project.id", cascade=True),
    Column("by", String(63), nullable=False),
    Column("reason", Text, nullable=False),
    time_column("at"),
)

# "Keep this branch cached on that volume": every commit it moves to is cached by itself.
cache_policy = Table(
    "cache_policy",
    metadata,
    id_column(),
    ref_column("volume_id", "volume.id", cascade=True),
    ref_column("dataset_id", "dataset.id", cascade=True),
    Column("branch", String(127), nullable=False),
    Column("created_by", String(63), nullable=False),
    time_column("created_at"),
    # The commit it asked for last, and why that is not there.
    Column("commit_id", String(64), nullable=True),
    Column("problem", Text, nullable=True),
    time_column("tried_at", nullable=True),
    UniqueConstraint("volume_id", "dataset_id", "branch"),
)

# What a tree has that another one has not, compared once: admission needs it inside a transaction.
tree_difference = Table(
    "tree_difference",
    metadata,
    Column("project_id", String(32), ForeignKey("project.id", ondelete="CASCADE"), primary_key=True),
    Column("base", String(64), primary_key=True),
    Column("tree", String(64), primary_key=True),
    Column("allocated", BigInteger, nullable=False),
    Column("inodes", BigInteger, nullable=False),
    Column("bytes", BigInteger, nullable=False),
    Column("files", BigInteger, nullable=False),
    time_column("at", index=True),
)
