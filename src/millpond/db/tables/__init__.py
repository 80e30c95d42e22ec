"""The tables, by area. Migrations build exactly these."""

from millpond.db.tables.base import metadata
from millpond.db.tables.cache import (
    cache_policy,
    cached,
    eviction,
    lease,
    refusal,
    site,
    tree_difference,
    volume,
    volume_limit,
    volume_share,
)
from millpond.db.tables.computes import account, agent, compute, compute_test, join_token, node, trust, tunnel
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
from millpond.db.tables.elastic import elastic_compute, elastic_node
from millpond.db.tables.flow_triggers import flow_backfill, flow_backfill_part, flow_firing, flow_trigger
from millpond.db.tables.flows import flow, flow_memo, flow_run, flow_step, flow_version
from millpond.db.tables.imports import connection, source, source_object
from millpond.db.tables.lineage import lineage_edge
from millpond.db.tables.logs import log_chunk
from millpond.db.tables.models import model, model_version
from millpond.db.tables.mounts import mount
from millpond.db.tables.people import audit, member, project, server, session, token, user
from millpond.db.tables.runs import (
    experiment,
    logged_model,
    metric,
    metric_batch,
    metric_chunk,
    run,
    run_param,
    run_record,
    run_tag,
    run_writer,
)
from millpond.db.tables.saved_views import saved_view
from millpond.db.tables.scheduling import gpu_share_sample, job_event, nomination, reservation
from millpond.db.tables.searches import search, trial
from millpond.db.tables.secrets import secret
from millpond.db.tables.templates import queue, template
from millpond.db.tables.topology import bandwidth, cache_use, fill_rate, link, volume_sample, volume_sight
from millpond.db.tables.work import (
    job,
    loose_artifact,
    placement,
    staged_artifact,
    usage,
)

__all__ = [
    "account",
    "agent",
    "audit",
    "bandwidth",
    "blob",
    "cache_policy",
    "cache_use",
    "cached",
    "commit",
    "compute",
    "compute_test",
    "connection",
    "dataset",
    "doomed_object",
    "elastic_compute",
    "elastic_node",
    "eviction",
    "experiment",
    "fill_rate",
    "flow",
    "flow_backfill",
    "flow_backfill_part",
    "flow_firing",
    "flow_memo",
    "flow_run",
    "flow_step",
    "flow_trigger",
    "flow_version",
    "gpu_share_sample",
    "job",
    "job_event",
    "join_token",
    "lease",
    "lineage_edge",
    "link",
    "log_chunk",
    "logged_model",
    "loose_artifact",
    "member",
    "metadata",
    "metric",
    "metric_batch",
    "metric_chunk",
    "model",
    "model_version",
    "mount",
    "node",
    "nomination",
    "pack",
    "page",
    "page_pack",
    "placement",
    "project",
    "promised_page",
    "queue",
    "record",
    "ref",
    "refusal",
    "reservation",
    "run",
    "run_param",
    "run_record",
    "run_tag",
    "run_writer",
    "saved_view",
    "search",
    "secret",
    "server",
    "session",
    "site",
    "source",
    "source_object",
    "staged_artifact",
    "template",
    "token",
    "tree_difference",
    "trial",
    "trust",
    "tunnel",
    "upload",
    "usage",
    "user",
    "volume",
    "volume_limit",
    "volume_sample",
    "volume_share",
    "volume_sight",
]
