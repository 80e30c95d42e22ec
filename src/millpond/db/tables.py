"""All tables. Migrations in db/migrations build exactly these; a test compares the two on both databases."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    Column,
    DateTime,
    Dialect,
    Double,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    TypeDecorator,
    UniqueConstraint,
    text,
)

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s_%(referred_table_name)s",
        "pk": "pk_%(table_name)s",
    }
)


class UtcTime(TypeDecorator[datetime]):
    """A moment. Stored in UTC; SQLite forgets the offset, so it is put back."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> Any:
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError("a time without an offset")
        return value.astimezone(UTC)

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


class Bytes(LargeBinary):
    """Bytes that go to the driver as they are: both drivers take them, and a wrapper for each is felt in bulk."""

    def bind_processor(self, dialect: Dialect) -> None:
        return None


# SQLite gives row ids only to INTEGER columns.
BigId = BigInteger().with_variant(Integer(), "sqlite")


def _id() -> Column[str]:
    return Column("id", String(32), primary_key=True)


def _ref(column: str, target: str, *, nullable: bool = False, cascade: bool = False, index: bool = True) -> Column[str]:
    ondelete = "CASCADE" if cascade else None
    return Column(column, String(32), ForeignKey(target, ondelete=ondelete), nullable=nullable, index=index)


def _time(name: str, *, nullable: bool = False, index: bool = False) -> Column[datetime]:
    return Column(name, UtcTime, nullable=nullable, index=index)


# One row: who this database is, which secret signs URLs and sessions, which lake it belongs to.
server = Table(
    "server",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("database_id", String(32), nullable=False),
    Column("lake_id", String(32), nullable=True),
    Column("secret", LargeBinary, nullable=False),
    _time("created_at"),
    # Who removes objects from the lake just now, and until when nobody else may.
    Column("collector", String(32), nullable=True),
    _time("collector_until", nullable=True),
)

# People ------------------------------------------------------------------------------------------

user = Table(
    "user_account",  # `user` is a reserved word in PostgreSQL
    metadata,
    _id(),
    Column("name", String(63), nullable=False, unique=True),
    Column("full_name", String(200), nullable=False),
    Column("password_hash", String(200), nullable=False),
    Column("is_admin", Boolean, nullable=False),
    _time("created_at"),
    _time("disabled_at", nullable=True),
)

project = Table(
    "project",
    metadata,
    _id(),
    Column("name", String(63), nullable=False, unique=True),
    Column("description", Text, nullable=False),
    _time("created_at"),
    # Raised by everything that may keep more of the lake than before: a collection that read another one begins anew.
    Column("sequence", BigInteger, nullable=False, server_default=text("0")),
)

member = Table(
    "member",
    metadata,
    Column("project_id", String(32), ForeignKey("project.id", ondelete="CASCADE"), primary_key=True),
    Column("user_id", String(32), ForeignKey("user_account.id", ondelete="CASCADE"), primary_key=True, index=True),
    Column("role", String(10), nullable=False),
)

token = Table(
    "token",
    metadata,
    _id(),
    Column("kind", String(10), nullable=False),
    Column("name", String(200), nullable=False),
    Column("hash", LargeBinary(32), nullable=False, unique=True),
    _ref("user_id", "user_account.id", nullable=True, cascade=True),
    _ref("agent_id", "agent.id", nullable=True, cascade=True),
    _ref("placement_id", "placement.id", nullable=True, cascade=True),
    _time("created_at"),
    _time("expires_at", nullable=True),
    _time("last_used_at", nullable=True),
)

session = Table(
    "session",
    metadata,
    Column("hash", LargeBinary(32), primary_key=True),
    Column("csrf", String(64), nullable=False),
    _ref("user_id", "user_account.id", cascade=True),
    _time("created_at"),
    _time("expires_at", index=True),
)

audit = Table(
    "audit",
    metadata,
    Column("id", BigId, primary_key=True, autoincrement=True),
    _time("at", index=True),
    Column("actor", String(100), nullable=False),
    Column("action", String(63), nullable=False),
    Column("subject", String(300), nullable=False),
    Column("project_id", String(32), nullable=True, index=True),  # outlives its project
    Column("details", JSON, nullable=False),
)

# Data --------------------------------------------------------------------------------------------

dataset = Table(
    "dataset",
    metadata,
    _id(),
    _ref("project_id", "project.id"),
    Column("name", String(63), nullable=False),
    Column("kind", String(10), nullable=False),
    Column("description", Text, nullable=False),
    _time("created_at"),
    Column("created_by", String(63), nullable=False),
    _time("active_at"),
    _time("deleted_at", nullable=True),
    # The number of the next dataset record in the lake.
    Column("next_record", BigInteger, nullable=False),
    # Which commits are kept ({"keep_last": 5, "keep_days": 30}); null: all that a ref reaches.
    Column("retention", JSON(none_as_null=True), nullable=True),
    Index("uq_dataset_name_living", "project_id", "name", unique=True,
          sqlite_where=text("deleted_at IS NULL"), postgresql_where=text("deleted_at IS NULL")),
)  # fmt: skip

commit = Table(
    "commit_",  # `commit` is a word of SQL
    metadata,
    Column("id", String(64), primary_key=True),
    _ref("dataset_id", "dataset.id"),
    Column("tree", String(64), nullable=False),
    Column("parents", JSON, nullable=False),
    Column("author", String(63), nullable=False),
    _time("time", index=True),
    Column("message", Text, nullable=False),
    Column("files", BigInteger, nullable=False),
    Column("bytes", BigInteger, nullable=False),
    Column("lineage", JSON, nullable=False),
    # Since when nothing names it: it goes some days later, unless something names it again.
    _time("set_aside_at", nullable=True),
)

ref = Table(
    "ref",
    metadata,
    Column("dataset_id", String(32), ForeignKey("dataset.id", ondelete="CASCADE"), primary_key=True),
    Column("name", String(127), primary_key=True),
    Column("type", String(10), nullable=False),
    Column("commit_id", String(64), ForeignKey("commit_.id"), nullable=False, index=True),
    _time("moved_at"),
)

# Dataset records reserved but not yet known to be in the lake: finished by whichever server comes next.
record = Table(
    "record",
    metadata,
    Column("dataset_id", String(32), ForeignKey("dataset.id", ondelete="CASCADE"), primary_key=True),
    Column("n", BigInteger, primary_key=True),
    Column("body", Text, nullable=False),
    # The ref this record moves, locked until it is visible: one move at a time.
    Column("ref_name", String(127), nullable=True),
    _time("reserved_at"),
    UniqueConstraint("dataset_id", "ref_name"),
)

upload = Table(
    "upload",
    metadata,
    _id(),
    _ref("project_id", "project.id", cascade=True),
    Column("owner", String(80), nullable=False),  # user:<id> or placement:<id>
    _time("created_at"),
    _time("used_at"),
)

pack = Table(
    "pack",
    metadata,
    Column("id", String(32), primary_key=True),
    _ref("project_id", "project.id", cascade=True),
    _ref("upload_id", "upload.id", nullable=True, index=True),
    Column("owner", String(80), nullable=False),
    Column("state", String(10), nullable=False),
    Column("bytes", BigInteger, nullable=False),
    Column("blobs", Integer, nullable=False),
    _time("promised_at"),
    # When the server has read the whole pack and checked every digest; until then only its owner may build on it.
    _time("verified_at", nullable=True),
    _time("condemned_at", nullable=True),
    # What is wrong with it: a pack that is not what it says is never made live again.
    Column("problem", Text, nullable=True),
)

blob = Table(
    "blob",
    metadata,
    Column("project_id", String(32), ForeignKey("project.id", ondelete="CASCADE"), primary_key=True),
    Column("digest", Bytes(32), primary_key=True),
    Column("pack_id", String(32), ForeignKey("pack.id", ondelete="CASCADE"), primary_key=True, index=True),
    Column("offset", BigInteger, nullable=False),
    Column("stored", BigInteger, nullable=False),
    Column("raw", BigInteger, nullable=False),
    Column("encoding", Integer, nullable=False),
    sqlite_with_rowid=False,
)

page = Table(
    "page",
    metadata,
    Column("project_id", String(32), ForeignKey("project.id", ondelete="CASCADE"), primary_key=True),
    Column("id", Bytes(32), primary_key=True),
    Column("level", Integer, nullable=False),
    # What lies below, checked when the page came: commits that share it are checked and measured without reading it.
    Column("entries", BigInteger, nullable=False),
    Column("files", BigInteger, nullable=False),
    Column("bytes", BigInteger, nullable=False),
    # What a file system allocates for it (docs/design/002): admission needs it before the first byte.
    Column("allocated", BigInteger, nullable=False),
    Column("first_path", LargeBinary, nullable=False),
    Column("last_path", LargeBinary, nullable=False),
    # Names of the connections that external entries below it lie behind, with spaces between them.
    Column("external", Text, nullable=False, server_default=text("''")),
    sqlite_with_rowid=False,
)

page_pack = Table(
    "page_pack",
    metadata,
    Column("project_id", String(32), ForeignKey("project.id", ondelete="CASCADE"), primary_key=True),
    Column("page_id", Bytes(32), primary_key=True),
    Column("pack_id", String(32), ForeignKey("pack.id", ondelete="CASCADE"), primary_key=True, index=True),
    sqlite_with_rowid=False,
)

# Pages that may lie in the lake although no accepted commit has them: a URL was given, or their commits are gone.
promised_page = Table(
    "promised_page",
    metadata,
    Column("project_id", String(32), ForeignKey("project.id", ondelete="CASCADE"), primary_key=True),
    Column("id", Bytes(32), primary_key=True),
    # Another one each time the page comes anew: whoever saw the object before it was removed can tell.
    Column("token", String(32), nullable=False),
    _time("promised_at", index=True),
    sqlite_with_rowid=False,
)

# Objects of the lake that nothing names any more; a key that ends with `/` stands for everything below it.
doomed_object = Table(
    "doomed_object",
    metadata,
    Column("key", String(512), primary_key=True),
    Column("project_id", String(32), nullable=False, index=True),  # outlives its project
    _time("doomed_at"),
)

# Cache -------------------------------------------------------------------------------------------

site = Table(
    "site",
    metadata,
    _id(),
    Column("name", String(63), nullable=False, unique=True),
    _time("created_at"),
)

volume = Table(
    "volume",
    metadata,
    _id(),
    Column("name", String(63), nullable=False, unique=True),
    _ref("site_id", "site.id"),
    Column("path", Text, nullable=False),
    Column("capacity_bytes", BigInteger, nullable=False),
    Column("reserve_bytes", BigInteger, nullable=False),
    Column("idle_seconds", BigInteger, nullable=False),
    Column("high_percent", Integer, nullable=False),
    Column("low_percent", Integer, nullable=False),
    _time("created_at"),
    Column("disk_free_bytes", BigInteger, nullable=True),
    Column("problem", Text, nullable=True),
    _time("seen_at", nullable=True),
    # The next attempt number of a fill or eviction on this volume.
    Column("next_attempt", BigInteger, nullable=False),
    UniqueConstraint("site_id", "path"),
)

cached = Table(
    "cached_commit",
    metadata,
    _id(),
    _ref("volume_id", "volume.id"),
    _ref("project_id", "project.id"),
    _ref("dataset_id", "dataset.id"),
    Column("commit_id", String(64), ForeignKey("commit_.id"), nullable=False),
    Column("state", String(10), nullable=False),
    Column("attempt", BigInteger, nullable=False),
    Column("reserved_bytes", BigInteger, nullable=False),
    Column("bytes", BigInteger, nullable=False),
    Column("files", BigInteger, nullable=False),
    Column("done_bytes", BigInteger, nullable=False),
    Column("done_files", BigInteger, nullable=False),
    Column("requested_by", String(63), nullable=False),
    _time("requested_at"),
    _time("ready_at", nullable=True),
    _time("used_at"),
    Column("idle_seconds", BigInteger, nullable=True),
    Column("pinned", Boolean, nullable=False),
    Column("reason", Text, nullable=False),
    Column("problem", Text, nullable=True),
    # Once and only once: one row per commit and volume, whoever asks.
    UniqueConstraint("volume_id", "commit_id"),
)

lease = Table(
    "lease",
    metadata,
    _id(),
    _ref("cached_id", "cached_commit.id", cascade=True),
    _ref("job_id", "job.id", nullable=True, cascade=True),
    _ref("user_id", "user_account.id", nullable=True, cascade=True),
    _time("created_at"),
    _time("expires_at", nullable=True),
)

eviction = Table(
    "eviction",
    metadata,
    _id(),
    _ref("volume_id", "volume.id", cascade=True),
    _ref("project_id", "project.id", cascade=True),
    Column("dataset_id", String(32), nullable=False),
    Column("commit_id", String(64), nullable=False),
    Column("bytes", BigInteger, nullable=False),
    Column("reason", Text, nullable=False),
    _time("at", index=True),
)

# Work --------------------------------------------------------------------------------------------

agent = Table(
    "agent",
    metadata,
    _id(),
    Column("name", String(63), nullable=False, unique=True),
    _ref("site_id", "site.id"),
    Column("driver", String(20), nullable=False),
    Column("version", String(40), nullable=False),
    _time("created_at"),
    _time("seen_at", nullable=True),
    Column("instance", String(64), nullable=True),
)

node = Table(
    "node",
    metadata,
    Column("agent_id", String(32), ForeignKey("agent.id", ondelete="CASCADE"), primary_key=True),
    Column("name", String(200), primary_key=True),
    Column("cpus", Integer, nullable=False),
    Column("memory_bytes", BigInteger, nullable=False),
    Column("gpus", Integer, nullable=False),
    Column("gpu_model", String(200), nullable=False),
    Column("declared", Boolean, nullable=False),
    Column("labels", JSON, nullable=False),
)

job = Table(
    "job",
    metadata,
    _id(),
    _ref("project_id", "project.id"),
    Column("name", String(63), nullable=False),
    Column("number", Integer, nullable=False),
    Column("kind", String(20), nullable=False),
    Column("command", JSON, nullable=False),
    Column("env", JSON, nullable=False),
    Column("cpu", Integer, nullable=False),
    Column("memory_bytes", BigInteger, nullable=False),
    Column("gpu_hundredths", Integer, nullable=False),
    Column("image", String(300), nullable=True),
    Column("code_commit", String(64), ForeignKey("commit_.id"), nullable=True),
    Column("inputs", JSON, nullable=False),
    Column("state", String(20), nullable=False),
    Column("reasons", JSON, nullable=False),
    _ref("run_id", "run.id"),
    Column("created_by", String(63), nullable=False),
    _time("stop_requested_at", nullable=True),
    _time("queued_at", index=True),
    _time("placed_at", nullable=True),
    _time("filled_at", nullable=True),
    _time("started_at", nullable=True),
    _time("exited_at", nullable=True),
    _time("ended_at", nullable=True),
    _time("deleted_at", nullable=True),
    Column("exit_code", Integer, nullable=True),
    Column("signal", Integer, nullable=True),
    Column("problem", Text, nullable=True),
    Column("output_commit", String(64), ForeignKey("commit_.id"), nullable=True),
    Column("placement_id", String(32), nullable=True),  # the current one
    Column("compute", String(63), nullable=True),
    Column("node", String(200), nullable=True),
    UniqueConstraint("project_id", "name", "number"),
    Index("ix_job_state", "state"),
    # A name is unique in its project among jobs that have not ended.
    Index("uq_job_name_living", "project_id", "name", unique=True,
          sqlite_where=text("ended_at IS NULL"), postgresql_where=text("ended_at IS NULL")),
)  # fmt: skip

placement = Table(
    "placement",
    metadata,
    _id(),
    _ref("job_id", "job.id", cascade=True),
    _ref("agent_id", "agent.id"),
    Column("node", String(200), nullable=False),
    Column("state", String(20), nullable=False),
    Column("valid_seconds", Integer, nullable=False),
    Column("gpu_indices", JSON, nullable=False),
    _time("created_at"),
    _time("renewed_at"),
    _time("ended_at", nullable=True),
)

run = Table(
    "run",
    metadata,
    _id(),
    _ref("project_id", "project.id"),
    Column("experiment", String(200), nullable=False),
    Column("name", String(200), nullable=False),
    Column("job_id", String(32), nullable=True, index=True),
    Column("state", String(20), nullable=False),
    Column("params", JSON, nullable=False),
    Column("tags", JSON, nullable=False),
    Column("created_by", String(63), nullable=False),
    _time("started_at", index=True),
    _time("ended_at", nullable=True),
    _time("seen_at"),
    _time("deleted_at", nullable=True),
)

# How far each client's batches have been taken: a batch sent twice counts once.
run_writer = Table(
    "run_writer",
    metadata,
    Column("run_id", String(32), ForeignKey("run.id", ondelete="CASCADE"), primary_key=True),
    Column("writer", String(64), primary_key=True),
    Column("sequence", BigInteger, nullable=False),
)

metric = Table(
    "metric",
    metadata,
    Column("id", BigId, primary_key=True, autoincrement=True),
    _ref("run_id", "run.id", cascade=True, index=False),
    Column("key", String(250), nullable=False),
    Column("newest", Double, nullable=True),
    Column("newest_step", BigInteger, nullable=False),
    Column("points", BigInteger, nullable=False),
    UniqueConstraint("run_id", "key"),
)

metric_point = Table(
    "metric_point",
    metadata,
    Column("id", BigId, primary_key=True, autoincrement=True),
    Column("metric_id", BigId, ForeignKey("metric.id", ondelete="CASCADE"), nullable=False),
    Column("step", BigInteger, nullable=False),
    Column("value", Double, nullable=True),
    _time("at"),
    Index("ix_metric_point_metric_id_step", "metric_id", "step"),
)

artifact = Table(
    "artifact",
    metadata,
    Column("run_id", String(32), ForeignKey("run.id", ondelete="CASCADE"), primary_key=True),
    Column("path", String(1000), primary_key=True),
    Column("size", BigInteger, nullable=False),
    Column("key", Text, nullable=False),  # in the lake
    _time("created_at"),
)

usage = Table(
    "usage_sample",
    metadata,
    Column("job_id", String(32), ForeignKey("job.id", ondelete="CASCADE"), primary_key=True),
    Column("at", UtcTime, primary_key=True),
    Column("cpu_percent", Double, nullable=False),
    Column("memory_bytes", BigInteger, nullable=False),
    Column("read_bytes", BigInteger, nullable=False),
    Column("write_bytes", BigInteger, nullable=False),
    Column("gpu_percent", Double, nullable=True),
    Column("gpu_memory_bytes", BigInteger, nullable=True),
)

# Imports -----------------------------------------------------------------------------------------

connection = Table(
    "connection",
    metadata,
    _id(),
    _ref("project_id", "project.id", cascade=True, index=False),
    Column("name", String(63), nullable=False),
    Column("root", Text, nullable=False),
    Column("endpoint", Text, nullable=True),
    Column("region", String(63), nullable=False),
    # Sealed with a key that is not in the database.
    Column("credentials", LargeBinary, nullable=True),
    _time("created_at"),
    Column("created_by", String(63), nullable=False),
    UniqueConstraint("project_id", "name"),
)

source = Table(
    "source",
    metadata,
    _id(),
    _ref("project_id", "project.id", cascade=True, index=False),
    Column("name", String(63), nullable=False),
    _ref("dataset_id", "dataset.id", cascade=True),
    _ref("connection_id", "connection.id"),
    # In whose name it commits: a source whose user has lost the role, or is gone, does nothing.
    Column("user_id", String(32), ForeignKey("user_account.id", ondelete="SET NULL"), nullable=True, index=True),
    Column("uri", Text, nullable=False),
    Column("listing", Boolean, nullable=False),
    Column("path", LargeBinary, nullable=False),
    Column("branch", String(127), nullable=False),
    Column("copies", Boolean, nullable=False),
    Column("every_seconds", Integer, nullable=False),
    _time("created_at"),
    _time("paused_at", nullable=True),
    _time("next_at", index=True),
    # The server that runs it just now, and until when nobody else may.
    Column("runner", String(32), nullable=True),
    _time("runner_until", nullable=True),
    _time("started_at", nullable=True),
    _time("ended_at", nullable=True),
    # What the last run did, and why the last one failed; how many failed since one succeeded.
    Column("result", JSON, nullable=True),
    Column("problem", Text, nullable=True),
    Column("failures", Integer, nullable=False),
    UniqueConstraint("project_id", "name"),
)

# What a source has put into its dataset: objects that are still so are not looked at again.
source_object = Table(
    "source_object",
    metadata,
    Column("source_id", String(32), ForeignKey("source.id", ondelete="CASCADE"), primary_key=True),
    Column("path", LargeBinary, primary_key=True),
    Column("etag", Text, nullable=True),
    Column("size", BigInteger, nullable=False),
    # Of the entry that stands for it.
    Column("digest", LargeBinary(32), nullable=False),
    sqlite_with_rowid=False,
)
