/** A model and a version of it, as the server answers; a test says what matters to it. */
import type { Model, ModelVersion } from "../api/shapes";

const AT = "2026-01-02T10:00:00+00:00";

export function aVersion(part: Partial<ModelVersion> = {}): ModelVersion {
  return {
    project: "default",
    model: "chest-xray",
    version: 3,
    state: "ready",
    description: "",
    stage: "None",
    aliases: [],
    tags: {},
    metrics: { accuracy: 0.93 },
    params: { lr: "0.01" },
    signature: null,
    signature_columns: {},
    flavors: [],
    source: "runs:/3fa2c1d0/model",
    run: null,
    job: null,
    step: null,
    code: null,
    inputs: [],
    dataset: ".models.chest-xray",
    commit: "c".repeat(64),
    files: 2,
    bytes: 32_400_000,
    created_at: AT,
    created_by: "mary",
    changed_at: AT,
    deleted_at: null,
    ...part,
  };
}

export function aModel(part: Partial<Model> = {}): Model {
  const newest = aVersion();
  return {
    id: "m1",
    project: "default",
    name: "chest-xray",
    dataset: ".models.chest-xray",
    description: "",
    tags: {},
    aliases: {},
    versions: newest.version,
    newest,
    created_at: AT,
    created_by: "mary",
    changed_at: AT,
    deleted_at: null,
    ...part,
  };
}
