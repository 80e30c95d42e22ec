"""The tables, by area. Migrations build exactly these."""

from millpond.db.tables.base import metadata
from millpond.db.tables.cache import cached, eviction, lease, site, volume
from millpond.db.tables.data import (
    blob,
    commit,
    dataset,
    doomed_object,
    pack,
    page,
    page_pack,
    promised_page,
    record,
    ref,
    upload,
)
from millpond.db.tables.imports import connection, source, source_object
from millpond.db.tables.people import audit, member, project, server, session, token, user
from millpond.db.tables.work import agent, artifact, job, metric, metric_point, node, placement, run, run_writer, usage

__all__ = [
    "agent",
    "artifact",
    "audit",
    "blob",
    "cached",
    "commit",
    "connection",
    "dataset",
    "doomed_object",
    "eviction",
    "job",
    "lease",
    "member",
    "metadata",
    "metric",
    "metric_point",
    "node",
    "pack",
    "page",
    "page_pack",
    "placement",
    "project",
    "promised_page",
    "record",
    "ref",
    "run",
    "run_writer",
    "server",
    "session",
    "site",
    "source",
    "source_object",
    "token",
    "upload",
    "usage",
    "user",
    "volume",
]
