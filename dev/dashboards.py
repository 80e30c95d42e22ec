"""The Grafana dashboards as tables: a dashboard is rows of panels, a panel a title, a unit and queries.

`dev/make_dashboards.py` writes them down. Queries hold with one server and with several: of what is the same on all
servers they take `max`, what each counts they add up.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Panel:
    """`queries`: an expression and what its series are called, each."""

    title: str
    unit: str
    queries: Sequence[tuple[str, str]]
    kind: str = "timeseries"
    width: int = 12
    text: str = ""
    stacked: bool = False
    # Colours of a stat from a value on, beside green.
    steps: Sequence[tuple[str, float]] = ()


@dataclass(frozen=True, slots=True)
class Row:
    title: str
    panels: Sequence[Panel]


@dataclass(frozen=True, slots=True)
class Dashboard:
    name: str
    title: str
    variables: Sequence[str]
    rows: Sequence[Row]


HERE = 'job=~"$job",namespace=~"$namespace"'
# Series of clusters come from another scrape of the same server.
CLUSTERS = 'job=~"$job(-clusters)?",namespace=~"$namespace"'
SITE = f'{HERE},site=~"$site"'
VERSION = "project_id, endpoint_id, model_id, version"
_NAMES = f'max by (project_id, project) (millpond_project_info{{{HERE},project=~"$project"}})'
PROJECT = f"* on (project_id) group_left (project) {_NAMES}"


def stat(title: str, unit: str, expr: str, *, text: str = "", steps: Sequence[tuple[str, float]] = ()) -> Panel:
    return Panel(title, unit, [(expr, "")], kind="stat", width=4, text=text, steps=steps)


def top(metric: str, by: str, labels: str = HERE) -> str:
    """The value of what is the same on all servers."""
    return f"max by ({by}) ({metric}{{{labels}}})"


def rate(counter: str, by: str, labels: str = HERE) -> str:
    """The rate of a counter, summed over all servers."""
    return f"sum by ({by}) (rate({counter}{{{labels}}}[$__rate_interval]))"


def kept_rate(counter: str, by: str, labels: str = HERE) -> str:
    """The same of what is counted in the database, and told by every server."""
    return f"max by ({by}) (rate({counter}{{{labels}}}[$__rate_interval]))"


def quantile(part: str, histogram: str, by: str = "") -> str:
    labels = f"le, {by}" if by else "le"
    return f"histogram_quantile({part}, {rate(f'{histogram}_bucket', labels)})"


def of_project(metric: str, by: str = "") -> str:
    """By the project's name."""
    return f"max by (project_id{', ' + by if by else ''}) ({metric}{{{HERE}}}) {PROJECT}"


def of_noun(noun: str, expr: str) -> str:
    """By the name of an endpoint, a mirror, a source, with its project's id."""
    return (
        f"{expr} * on (project_id, {noun}_id) group_left ({noun}) "
        f"max by (project_id, {noun}_id, {noun}) (millpond_{noun}_info{{{HERE}}})"
    )


def endpoint(expr: str) -> str:
    return of_noun("endpoint", expr)


def summed(expr: str, by: str = "project_id, endpoint_id") -> str:
    """Over the routers and versions of an endpoint."""
    return f"sum by ({by}) ({expr})"


def served(metric: str) -> str:
    """Of each version at each router."""
    return top(f"millpond_endpoint_{metric}", f"site, router_id, {VERSION}", SITE)


def served_rate(counter: str) -> str:
    return kept_rate(f"millpond_endpoint_{counter}", f"site, router_id, {VERSION}", SITE)


def by_project(title: str, unit: str, metric: str, by: str = "", *, width: int = 12, stacked: bool = False) -> Panel:
    legend = "{{project}} {{" + by + "}}" if by else "{{project}}"
    return Panel(title, unit, [(of_project(f"millpond_project_{metric}", by), legend)], width=width, stacked=stacked)


def by_cluster(title: str, metric: str, by: str) -> Panel:
    found = of_noun("cluster", f"max by (project_id, cluster_id, {by}) ({metric}{{{CLUSTERS}}})")
    return Panel(title, "short", [(found, "{{cluster}} {{" + by + "}}")])


# fmt: off
RED = [("red", 1)]
OVERVIEW = Dashboard("overview", "Millpond", (), [
    Row("Now", [
        stat("Servers", "short", f"count(millpond_server_info{{{HERE}}})"),
        stat("Parts that are not well", "short", f"count(millpond_part_ok{{{HERE}}} == 0) or vector(0)",
             text="Database, lake, disk or clock, of all servers.", steps=RED),
        stat("Computes away", "short", f'max(millpond_computes{{{HERE},state="away"}})', steps=RED),
        stat("Volumes with a problem", "short", f"max(millpond_volumes_with_problem{{{HERE}}})", steps=RED),
        stat("Jobs running", "short", f'max(millpond_jobs{{{HERE},state="running"}})'),
        stat("Age of the newest backup", "s", f"time() - max(millpond_backup_timestamp_seconds{{{HERE}}})"),
    ]),
    Row("Requests", [
        Panel("Requests by status", "reqps", [(rate("millpond_requests_total", "status"), "{{status}}")], stacked=True),
        Panel("Time to answer", "s", [
            (quantile("0.5", "millpond_request_seconds"), "half"),
            (quantile("0.95", "millpond_request_seconds"), "95 %"),
        ], text="Without event streams and long polls."),
        Panel("Slowest routes, 95 %", "s",
              [(f"topk(8, {quantile('0.95', 'millpond_request_seconds', 'method, route')})", "{{method}} {{route}}")]),
        Panel("Open pages and waiting agents", "short", [
            (f"sum(millpond_event_streams{{{HERE}}})", "pages"), (f"sum(millpond_agents_waiting{{{HERE}}})", "agents"),
        ]),
    ]),
    Row("Work", [
        Panel("Jobs by state", "short", [(top("millpond_jobs", "state"), "{{state}}")],
              text="Ended jobs as long as they are not in the bin."),
        Panel("Jobs on computes", "short", [(top("millpond_compute_running_jobs", "compute"), "{{compute}}")],
              stacked=True),
    ]),
    Row("Servers", [
        Panel("Memory", "bytes", [(f"millpond_process_resident_memory_bytes{{{HERE}}}", "{{instance}}")], width=8),
        Panel("Processor", "short",
              [(f"rate(millpond_process_cpu_seconds_total{{{HERE}}}[$__rate_interval])", "{{instance}}")], width=8),
        Panel("Loops: seconds of work in a second", "short",
              [(f"topk(8, {rate('millpond_loop_seconds_total', 'loop')})", "{{loop}}")], width=8),
        Panel("Transactions, 95 %", "s", [
            (quantile("0.95", "millpond_database_transaction_seconds", "kind"), "{{kind}}")], width=8),
        Panel("Database connections in use", "percentunit", [
            (f"millpond_database_connections{{{HERE}}} / millpond_database_connections_max{{{HERE}}}", "{{instance}}")],
              width=8),
        Panel("Failed rounds of loops", "short",
              [(f'sum by (loop) (increase(millpond_loop_rounds_total{{{HERE},outcome="failed"}}[$__rate_interval]))',
                "{{loop}}")], width=8),
    ]),
])

CACHES = Dashboard("caches", "Millpond: caches", ("site",), [
    Row("Now", [
        stat("Cached", "bytes", f"sum({top('millpond_volume_used_bytes', 'volume, site', SITE)})"),
        stat("Free", "bytes", f"sum({top('millpond_volume_free_bytes', 'volume, site', SITE)})"),
        stat("Hits", "percentunit",
             f"max(millpond_cache_hits_total{{{HERE}}}) / (max(millpond_cache_hits_total{{{HERE}}}) + "
             f"max(millpond_cache_misses_total{{{HERE}}}))", text="Since counting began, of the busiest volume."),
        stat("Fills running", "short", f"sum({top('millpond_cache_fills_running', 'volume')})"),
        stat("Saved", "bytes", f"sum({top('millpond_cache_saved_bytes_total', 'volume')})",
             text="Bytes that were not fetched again."),
        stat("Refused commits", "short", f"sum({top('millpond_cache_refused_commits', 'volume')})",
             text="That had no room when they were last asked for.", steps=RED),
    ]),
    Row("Space", [
        Panel("Part of a volume that is used", "percentunit", [
            (f"{top('millpond_volume_used_bytes', 'volume, site', SITE)} / "
             f"{top('millpond_volume_capacity_bytes', 'volume, site', SITE)}", "{{volume}}")]),
        Panel("Free", "bytes", [(top("millpond_volume_free_bytes", "volume, site", SITE), "{{volume}}")]),
        Panel("Cached, pinned and leased commits", "short", [
            (top("millpond_volume_cached_commits", "volume, site", SITE), "{{volume}}"),
            (top("millpond_volume_pinned_commits", "volume, site", SITE), "{{volume}} pinned"),
            (top("millpond_volume_leased_commits", "volume, site", SITE), "{{volume}} leased")]),
        Panel("Evictions in an hour, by cause", "short",
              [("max by (volume, cause) (increase(millpond_cache_evictions_total{" + HERE + "}[1h]))",
                "{{volume}} {{cause}}")], text="Many for room: the volume is too small for what is used at once."),
    ]),
    Row("Use and ways", [
        Panel("Hits and misses", "ops", [
            (kept_rate("millpond_cache_hits_total", "volume"), "{{volume}} hits"),
            (kept_rate("millpond_cache_misses_total", "volume"), "{{volume}} misses")]),
        Panel("Fills", "Bps", [(kept_rate("millpond_cache_fill_bytes_total", "volume"), "{{volume}}")]),
        Panel("Measured bandwidth", "Bps",
              [(top("millpond_bandwidth_bytes_per_second", "volume, source"), "{{source}} → {{volume}}")]),
        Panel("Egress", "Bps", [(kept_rate("millpond_site_egress_bytes_total", "site, source", SITE),
                                 "{{source}} → {{site}}")]),
        Panel("Refused requests in an hour", "short",
              [(f"sum by (reason) (increase(millpond_cache_refusals_total{{{HERE}}}[1h]))", "{{reason}}")]),
        Panel("Calls to the lake, 95 %", "s",
              [(quantile("0.95", "millpond_lake_call_seconds", "operation"), "{{operation}}")]),
    ]),
])

GPUS = (("millpond_gpus", "there"), ("millpond_gpus_quota", "guaranteed"), ("millpond_gpus_allocated", "allocated"),
        ("millpond_gpus_idle", "held, but idle"), ("millpond_gpus_pending", "asked for"))
QUEUE = Dashboard("queue", "Millpond: queue and shares", ("project",), [
    Row("Now", [
        stat("Queued", "short", f'max(millpond_jobs{{{HERE},state="queued"}})'),
        stat("Oldest queued", "s", f"max(millpond_jobs_oldest_queued_seconds{{{HERE}}})"),
        stat("Running", "short", f'max(millpond_jobs{{{HERE},state="running"}})'),
        stat("GPUs", "short", f"sum({top('millpond_gpus', 'pool')})"),
        stat("GPUs allocated", "short", f"sum({top('millpond_gpus_allocated', 'pool')})"),
        stat("GPUs held, but idle", "short", f"sum({top('millpond_gpus_idle', 'pool')})", steps=[("orange", 1)]),
    ]),
    Row("Queue", [
        Panel("What queued jobs wait for", "short", [(top("millpond_jobs_waiting", "rule"), "{{rule}}")], stacked=True,
              text="The rule that `mill why JOB` names."),
        Panel("From submit to start, by part, 95 %", "s", [
            (quantile("0.95", "millpond_job_start_seconds", "part"), "{{part}}")]),
        Panel("Jobs that ended, in an hour", "short",
              [(f"sum by (state) (increase(millpond_jobs_ended_total{{{HERE}}}[1h]))", "{{state}}")], stacked=True),
        Panel("Scheduler", "ops", [
            (f"sum(rate(millpond_scheduler_placed_total{{{HERE}}}[$__rate_interval]))", "placed"),
            (f"sum(rate(millpond_scheduler_preemptions_total{{{HERE}}}[$__rate_interval]))", "preempted"),
            (f"sum(rate(millpond_jobs_requeued_total{{{HERE}}}[$__rate_interval]))", "queued again")]),
        Panel("Time of a plan", "s", [
            (quantile("0.5", "millpond_scheduler_plan_seconds"), "half"),
            (quantile("0.95", "millpond_scheduler_plan_seconds"), "95 %")]),
        Panel("Flow runs", "short", [(top("millpond_flow_runs", "state"), "{{state}}")]),
    ]),
    Row("GPUs", [
        Panel("GPUs by pool", "short", [(top(metric, "pool"), "{{pool}} " + word) for metric, word in GPUS], width=24),
        by_project("Allocated, by project", "short", "gpus_allocated", "pool", width=8, stacked=True),
        by_project("Guaranteed, by project", "short", "gpus_quota", "pool", width=8),
        by_project("Asked for, by project", "short", "gpus_pending", "pool", width=8, stacked=True),
    ]),
    Row("Projects (with a token)", [
        by_project("Living jobs", "short", "jobs", "state"),
        Panel("Quotas used", "percentunit", [
            (f"max by (project_id, quota) (millpond_project_quota_used{{{HERE}}} / "
             f"(millpond_project_quota_limit{{{HERE}}} > 0)) {PROJECT}", "{{project}} {{quota}}")]),
    ]),
])

ENDPOINTS = Dashboard("endpoints", "Millpond: endpoints", ("site",), [
    Row("Now", [Panel("Endpoints by state", "short", [(top("millpond_endpoints", "state"), "{{state}}")], width=24)]),
    Row("Requests (with a token)", [
        Panel("Requests", "reqps", [(endpoint(summed(served_rate("requests_total"))), "{{endpoint}}")]),
        Panel("Errors", "percentunit", [(
            endpoint(f"{summed(served_rate('errors_total'))} / ({summed(served_rate('requests_total'))} > 0)"),
            "{{endpoint}}")]),
        Panel("Latency, 95 %", "s", [(
            endpoint(top("millpond_endpoint_latency_seconds", "project_id, endpoint_id, version",
                         f'{SITE},quantile="0.95"')),
            "{{endpoint}} version {{version}}")]),
        Panel("Worked on and held", "short", [
            (endpoint(summed(served("outstanding"))), "{{endpoint}}"),
            (endpoint(summed(top("millpond_endpoint_held", "project_id, endpoint_id, site, router_id", SITE))),
             "{{endpoint}} held")]),
    ]),
    Row("Replicas (with a token)", [
        Panel("Ready replicas", "short", [
            (endpoint(summed(served("replicas_ready"), "project_id, endpoint_id, version")),
             "{{endpoint}} version {{version}}")], width=8),
        Panel("Rows of a batch, mean", "short", [
            (endpoint(f"{summed(served('batch_rows_total'))} / ({summed(served('batches_total'))} > 0)"),
             "{{endpoint}}")], width=8, text="Since routers started."),
        Panel("Columns that drift", "short", [
            (endpoint(top("millpond_endpoint_drift_alerts", "project_id, endpoint_id")), "{{endpoint}}")], width=8),
    ]),
])

CLUSTER_BOARD = Dashboard("clusters", "Millpond: clusters", (), [
    Row("Now", [Panel("Clusters by state", "short", [(top("millpond_clusters", "state"), "{{state}}")], width=24)]),
    Row("Workers (with a token)", [
        by_cluster("Workers", "millpond_cluster_workers", "state"),
        by_cluster("Workers wanted", "millpond_cluster_workers_wanted", "kind"),
        by_cluster("Dask: tasks by state", "dask_scheduler_tasks", "state"),
        by_cluster("Dask: workers by state", "dask_scheduler_workers", "state"),
    ]),
])

DATA = Dashboard("data", "Millpond: lake, workspaces, mirrors", ("project",), [
    Row("Lake", [
        stat("In the lake", "bytes", f"max(millpond_lake_bytes{{{HERE}}})"),
        stat("To be removed", "bytes", f"max(millpond_lake_condemned_bytes{{{HERE}}})"),
        stat("Commits", "short", f"max(millpond_commits{{{HERE}}})"),
        stat("Workspaces", "bytes", f"sum({top('millpond_workspace_unique_bytes', 'volume')})",
             text="What they alone have on disk."),
        stat("Mirrors failing", "short", f'max(millpond_mirrors{{{HERE},state="failing"}})', steps=RED),
        stat("Sources failing", "short", f'max(millpond_sources{{{HERE},state="failing"}})', steps=RED),
        by_project("In the lake, by project", "bytes", "lake_bytes", stacked=True),
        Panel("Calls to the lake that failed, in an hour", "short",
              [(f"sum by (operation) (increase(millpond_lake_call_errors_total{{{HERE}}}[1h]))", "{{operation}}")]),
        Panel("Replicas of the lake: behind", "s",
              [(top("millpond_lake_replica_behind_seconds", "replica"), "{{replica}}")]),
        Panel("Database", "bytes", [(f"max(millpond_database_bytes{{{HERE}}})", "database")]),
    ]),
    Row("Workspaces, mirrors, sources (with a token)", [
        by_project("Workspaces, by project", "bytes", "workspace_bytes", stacked=True),
        Panel("Workspaces, by volume", "bytes", [
            (top("millpond_workspace_unique_bytes", "volume"), "{{volume}} their own"),
            (top("millpond_workspace_shared_bytes", "volume"), "{{volume}} shared"),
            (top("millpond_workspace_reserved_bytes", "volume"), "{{volume}} reserved")]),
        Panel("Mirrors: behind", "s", [
            (of_noun("mirror", top("millpond_mirror_lag_seconds", "project_id, mirror_id")), "{{mirror}}")]),
        Panel("Sources: since the last run", "s", [
            (of_noun("source", top("millpond_source_last_run_age_seconds", "project_id, source_id")), "{{source}}")]),
    ]),
])

# fmt: on
DASHBOARDS = (OVERVIEW, CACHES, QUEUE, ENDPOINTS, CLUSTER_BOARD, DATA)
