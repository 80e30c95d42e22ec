/** Shapes of the wire with every field filled; a test names only what it is about. */
import type { Commit, Job, Volume } from "../api/shapes";

const TIME = "2026-11-15T12:00:00+00:00";

export function aJob(part: Partial<Job> = {}): Job {
  return {
    id: "j1",
    project: "default",
    name: "train",
    number: 1,
    written: "train",
    kind: "training",
    state: "running",
    reasons: [],
    command: ["python", "train.py"],
    env: {},
    cpu: 1,
    memory_bytes: 0,
    gpu_hundredths: 0,
    image: null,
    code_commit: null,
    inputs: [],
    output_commit: null,
    run_id: "r1",
    created_by: "mary",
    compute: "local",
    node: "here",
    queued_at: TIME,
    placed_at: TIME,
    started_at: TIME,
    ended_at: null,
    deleted_at: null,
    exit_code: null,
    signal: null,
    problem: null,
    ledger: { queue: 1, fill: 2, environment: 0.5, run: 30, save: null, total: 33.5 },
    ...part,
  };
}

export function aCommit(part: Partial<Commit> = {}): Commit {
  return {
    id: "3fa2c1".padEnd(64, "0"),
    dataset: "default/digits",
    dataset_id: "d1",
    project_id: "p1",
    tree: "t",
    parents: [],
    author: "mary",
    time: TIME,
    message: "first version",
    files: 1797,
    bytes: 32_400_000,
    lineage: {},
    refs: ["main"],
    cached_on: [],
    ...part,
  };
}

export function aVolume(part: Partial<Volume> = {}): Volume {
  return {
    id: "v1",
    name: "fast",
    site: "local",
    path: "/mnt/fast",
    capacity_bytes: 1000,
    reserve_bytes: 100,
    used_bytes: 300,
    filling_bytes: 0,
    evicting_bytes: 0,
    free_bytes: 600,
    used_inodes: 0,
    idle_seconds: 86_400,
    high_percent: 90,
    low_percent: 75,
    cached_commits: 1,
    connected: true,
    problem: null,
    created_at: TIME,
    seen_at: TIME,
    tier: "standard",
    tier_throughput: 1,
    tier_price: 1,
    limits: [],
    ...part,
  };
}
