/** A search and a trial of it, as the server answers; a test says what matters to it. */
import type { JobSpec, Search, Trial } from "../api/shapes";

const AT = "2026-01-02T10:00:00+00:00";

export function aTrial(part: Partial<Trial> = {}): Trial {
  return {
    number: 0,
    state: "succeeded",
    params: { lr: 0.1 },
    values: [0.5],
    newest: {},
    job: "j0",
    run: "r0",
    job_state: "succeeded",
    problem: null,
    created_at: AT,
    started_at: AT,
    ended_at: AT,
    ...part,
  };
}

export function aSearch(part: Partial<Search> = {}): Search {
  return {
    id: "s1",
    project: "default",
    name: "lr-sweep",
    state: "running",
    reasons: ["Waiting for 1 trial to end."],
    method: "tpe",
    parameters: [{ name: "lr", min: 1e-5, max: 0.1, log: true, values: [], when: {} }],
    objectives: [{ metric: "val_loss", direction: "minimize", reading: "last", target: null }],
    pruning: null,
    max_trials: 20,
    parallel: 2,
    max_failed: null,
    seed: 0,
    max_seconds: 0,
    job: { command: ["python", "train.py", "--lr", "{lr}"], code_commit: "c".repeat(64) } as JobSpec,
    trials: 1,
    counts: { succeeded: 1 },
    best: [aTrial()],
    created_by: "mary",
    created_at: AT,
    ended_at: null,
    ...part,
  };
}
