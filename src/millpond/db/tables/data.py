"""Datasets, commits and refs, and what the lake holds of them."""

from __future__ import annotations

from sqlalchemy import (
    JSON,
    BigInteger,
    Column,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    String,
    Table,
    Text,
    UniqueConstraint,
    text,
)

from millpond.db.tables.base import Bytes, id_column, metadata, ref_column, time_column

dataset = Table(
    "dataset",
    metadata,
    id_column(),
    ref_column("project_id", "project.id"),
    # Models have long names. SQLite, which does not look at lengths, keeps what the first tables said.
    Column("name", String(255).with_variant(String(63), "sqlite"), nullable=False),
    Column("kind", String(10), nullable=False),
    Column("description", Text, nullable=False),
    time_column("created_at"),
    Column("created_by", String(63), nullable=False),
    time_column("active_at"),
    time_column("deleted_at", nullable=True),
    # The number of the next dataset record in the lake.
    Column("next_record", BigInteger, nullable=False),
    # Which commits are kept ({"keep_last": 5, "keep_days": 30}); null: all that a ref reaches.
    Column("retention", JSON(none_as_null=True), nullable=True),
    # After how long unused its cached commits go; null: as each volume says.
    Column("cache_idle_seconds", BigInteger, nullable=True),
    # How it differs from the lake; nothing is written to it until that is reconciled.
    Column("conflict", Text, nullable=True),
    Index("uq_dataset_name_living", "project_id", "name", unique=True,
          sqlite_where=text("deleted_at IS NULL"), postgresql_where=text("deleted_at IS NULL")),
)  # fmt: skip

commit = Table(
    "commit_",  # `commit` is a word of SQL
    metadata,
    Column("id", String(64), primary_key=True),
    ref_column("dataset_id", "dataset.id"),
    Column("tree", String(64), nullable=False),
    Column("parents", JSON, nullable=False),
    Column("author", String(63), nullable=False),
    time_column("time", index=True),
    Column("message", Text, nullable=False),
    Column("files", BigInteger, nullable=False),
    Column("bytes", BigInteger, nullable=False),
    Column("lineage", JSON, nullable=False),
    # Since when nothing names it: it goes some days later, unless something names it again.
    time_column("set_aside_at", nullable=True),
)

ref = Table(
    "ref",
    metadata,
    Column("dataset_id", String(32), ForeignKey("dataset.id", ondelete="CASCADE"), primary_key=True),
    Column("name", String(127), primary_key=True),
    Column("type", String(10), nullable=False),
    Column("commit_id", String(64), ForeignKey("commit_.id"), nullable=False, index=True),
    time_column("moved_at"),
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
    time_column("reserved_at"),
    UniqueConstraint("dataset_id", "ref_name"),
)

upload = Table(
    "upload",
    metadata,
    id_column(),
    ref_column("project_id", "project.id", cascade=True),
    Column("owner", String(80), nullable=False),  # user:<id> or placement:<id>
    time_column("created_at"),
    time_column("used_at"),
)

pack = Table(
    "pack",
    metadata,
    Column("id", String(32), primary_key=True),
    ref_column("project_id", "project.id", cascade=True),
    ref_column("upload_id", "upload.id", nullable=True, index=True),
    Column("owner", String(80), nullable=False),
    Column("state", String(10), nullable=False),
    Column("bytes", BigInteger, nullable=False),
    Column("blobs", Integer, nullable=False),
    time_column("promised_at"),
    # When the server has read the whole pack and checked every digest; until then only its owner may build on it.
    time_column("verified_at", nullable=True),
    time_column("condemned_at", nullable=True),
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
    # What a leaf holds by directory (lake/folders.py): lists of directories read this instead of the leaf.
    # Null for index pages, and for leaves that came before there was this column until somebody lists them.
    Column("folders", LargeBinary, nullable=True),
    # How many files and directories that is on a disk; null for pages that came before this was counted.
    Column("inodes", BigInteger, nullable=True),
    # What of `allocated` is directories: each commit has its own.
    Column("directory_bytes", BigInteger, nullable=True),
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
    time_column("promised_at", index=True),
    sqlite_with_rowid=False,
)

# Objects of the lake that nothing names any more; a key that ends with `/` stands for everything below it.
doomed_object = Table(
    "doomed_object",
    metadata,
    Column("key", String(512), primary_key=True),
    Column("project_id", String(32), nullable=False, index=True),  # outlives its project
    time_column("doomed_at"),
)
