/** A job that is being written: what is sent, and the command line that does the same. */
import type { Job, JobCreate, SearchCreate } from "../../../api/shapes";
import { labelsOf, writeLabels } from "../../../lib/labels";
import { shellLine, shellQuote } from "../../../lib/names";
import { wordsOf } from "../../Search/parts/searchDraft";
import {
  momentsOf,
  NO_SNAPSHOTS,
  type SnapshotChoice,
  snapshotsOf,
  workspaceOf,
  writeMoments,
  writeWorkspace,
} from "./jobWorkspaces";
import {
  commandWith,
  isGrid,
  listsValues,
  namedOf,
  type Pair,
  paramsOf,
  paramValues,
  takenOut,
} from "./params";

/** Seconds, as the server has it. */
const DEFAULT_GRACE = 30;

export interface Draft {
  project: string;
  name: string;
  /** As the command line takes them: `dataset`, `dataset@ref`, `project/dataset@ref`. */
  inputs: string[];
  command: string;
  env: readonly Pair[];
  /** Of the run: the experiment it belongs to; "" for the usual one. */
  experiment: string;
  /** Each is a part of the command. Several values with commas between make a grid of jobs. */
  params: readonly Pair[];
  /** Parameters that the script finds in its environment alone. */
  keptParams: Readonly<Record<string, unknown>>;
  /** Values with commas in the command make a grid, too. */
  commandGrid: boolean;
  /** How many jobs of a grid run at once. */
  parallel: number | string;
  cpu: number | string;
  memoryGb: number | string;
  /** Of each process, where there are several. */
  gpus: number | string;
  /** How many start together; "" for a plain command. */
  processes: number | string;
  /** mpirun starts them. */
  mpi: boolean;
  /** Only where a part of a GPU is kept to. */
  enforced: boolean;
  /** The container image; "" as the compute does without. */
  image: string;
  /** The template or queue it runs on, which fills in what is left empty. */
  on: string | null;
  /** The one compute it may run on. */
  compute: string | null;
  /** Which nodes: their GPUs, and labels as the command line takes them, `KEY=VALUE`. */
  gpuType: string;
  minGpuMemoryGb: number | string;
  nodeSelector: string[];
  priority: number | string;
  /** Null by kind: training jobs are, interactive ones are not. */
  preemptible: "yes" | "no" | null;
  /** Seconds to save a checkpoint in before it is stopped; "" is the default. */
  graceSeconds: number | string;
  timeoutMinutes: number | string;
  retries: number | string;
  retryOn: string[];
  /** As the command line takes them: `job`, `job:any`. */
  after: string[];
  /** For people to work in; the ports they open, and after how long without anybody it is stopped (0: never). */
  interactive: boolean;
  ports: string[];
  idleSeconds: number;
  /** As the command line takes them: `NAME`, `VARIABLE=NAME`. */
  secrets: string[];
  /** Asked of the driver that runs it, as the command line takes them: `KEY=VALUE`. */
  options: string[];
  /** Shared directories, as the command line takes them: `NAME:PATH`, `NAME:PATH:ro`. */
  mounts: string[];
  /** As the command line takes them: `NAME:PATH`, `NAME:PATH:ro`. */
  workspaces: string[];
  /** When snapshots of them are taken for the run. */
  snapshots: SnapshotChoice;
  /** Does not limit the size of /dev/shm. */
  largeShm: boolean;
  /** Commits of `.code` that an earlier job ran with: its files, and what its environment is built from. */
  code: string | null;
  environment: string | null;
}

export function emptyDraft(project: string): Draft {
  return {
    project,
    name: "",
    inputs: [],
    command: "",
    env: [],
    experiment: "",
    params: [],
    keptParams: {},
    commandGrid: false,
    parallel: 4,
    cpu: "",
    memoryGb: "",
    gpus: "",
    processes: "",
    mpi: false,
    enforced: false,
    image: "",
    on: null,
    compute: null,
    gpuType: "",
    minGpuMemoryGb: "",
    nodeSelector: [],
    priority: "",
    preemptible: null,
    graceSeconds: "",
    timeoutMinutes: "",
    retries: "",
    retryOn: [],
    after: [],
    interactive: false,
    ports: [],
    idleSeconds: 0,
    secrets: [],
    options: [],
    mounts: [],
    workspaces: [],
    snapshots: NO_SNAPSHOTS,
    largeShm: false,
    code: null,
    environment: null,
  };
}

/** The same once more, with the very commits the job had. What its template filled in is left to the template again. */
export function draftOf(job: Job): Draft {
  const spec = unfilled(job);
  const taken = takenOut(job.command, job.spec.params ?? {});
  return {
    project: job.project,
    name: job.name,
    inputs: job.inputs.map((input) => `${input.dataset}@${input.commit_id}`),
    command: typed(taken.command),
    env: Object.entries(spec.env).map(([key, value]) => ({ key, value })),
    experiment: job.spec.experiment ?? "",
    params: taken.params,
    keptParams: taken.kept,
    commandGrid: false,
    parallel: 4,
    cpu: spec.cpu || "",
    memoryGb: spec.memory_bytes / 1e9 || "",
    gpus: spec.gpu_hundredths / 100 || "",
    processes: job.processes || "",
    mpi: job.launcher === "mpi",
    enforced: job.gpu_enforced,
    image: spec.image ?? "",
    on: job.on,
    compute: spec.compute,
    gpuType: spec.gpu_type ?? "",
    minGpuMemoryGb: spec.min_gpu_memory_bytes / 1e9 || "",
    nodeSelector: writeLabels(spec.node_selector),
    priority: job.priority || "",
    preemptible: job.preemptible === null ? null : job.preemptible ? "yes" : "no",
    graceSeconds: job.grace_seconds === DEFAULT_GRACE ? "" : job.grace_seconds,
    timeoutMinutes: job.timeout_seconds / 60 || "",
    retries: job.retries || "",
    retryOn: job.retry_on,
    after: [],
    interactive: job.kind === "interactive",
    ports: (job.ports ?? []).map(String),
    idleSeconds: job.idle_seconds ?? 0,
    secrets: secretsOf(job),
    options: writeLabels(spec.options),
    mounts: job.mounts.map(writeMount),
    workspaces: job.workspaces.map(writeWorkspace),
    snapshots: snapshotsOf(job.snapshots),
    largeShm: job.large_shm,
    code: job.code_commit,
    environment: job.environment_source,
  };
}

/** What a template can fill in, as the job asked for it itself. */
function unfilled(job: Job) {
  const { filled } = job;
  const own = <Value, None>(key: string, value: Value, none: None) => (key in filled ? none : value);
  const ownPairs = (key: string, pairs: Readonly<Record<string, string>>) => {
    const given = (filled[key] ?? {}) as Readonly<Record<string, string>>;
    return Object.fromEntries(Object.entries(pairs).filter(([name]) => !(name in given)));
  };
  return {
    compute: own("compute", job.wanted_compute, null),
    cpu: own("cpu", job.cpu, 0),
    memory_bytes: own("memory_bytes", job.memory_bytes, 0),
    gpu_hundredths: own("gpu_hundredths", job.gpu_hundredths, 0),
    gpu_type: own("gpu_type", job.gpu_type, null),
    min_gpu_memory_bytes: own("min_gpu_memory_bytes", job.min_gpu_memory_bytes, 0),
    image: own("image", job.image, null),
    node_selector: ownPairs("node_selector", job.node_selector),
    options: ownPairs("options", job.options),
    env: ownPairs("env", job.env),
  };
}

/** What it is given of the project's secrets: `NAME`, `VARIABLE=NAME`. */
export function secretsOf(job: Job): string[] {
  return Object.entries(job.secrets ?? {}).map(([key, name]) => (key === name ? name : `${key}=${name}`));
}

/** What it asks of its driver: `KEY=VALUE`. */
export function optionsOf(job: Job): string[] {
  return writeLabels(job.options);
}

/** As somebody would have typed it into the form. */
function typed(command: string[]): string {
  const [program, option, script] = command;
  const forShell = program === "sh" && option === "-c" && command.length === 3;
  return forShell ? (script ?? "") : shellLine(command);
}

function isMpi(draft: Draft): boolean {
  return draft.mpi && Number(draft.processes) > 0;
}

export function requestOf(draft: Draft): JobCreate {
  return {
    name: draft.name.trim() || null,
    command: commandWith(draft.command, draft.params),
    inputs: draft.inputs,
    env: envOf(draft),
    experiment: draft.experiment.trim() || null,
    params: { ...draft.keptParams, ...paramsOf(draft.params) },
    processes: Number(draft.processes),
    launcher: isMpi(draft) ? "mpi" : "torch",
    cpu: Number(draft.cpu),
    memory_bytes: Math.round(Number(draft.memoryGb) * 1e9),
    gpu_hundredths: Math.round(Number(draft.gpus) * 100),
    gpu_enforced: draft.enforced,
    image: draft.image.trim() || null,
    code_commit: draft.code,
    on: draft.on,
    compute: draft.compute,
    gpu_type: draft.gpuType.trim() || null,
    min_gpu_memory_bytes: Math.round(Number(draft.minGpuMemoryGb) * 1e9),
    node_selector: labelsOf(draft.nodeSelector),
    priority: Number(draft.priority),
    preemptible: draft.preemptible && draft.preemptible === "yes",
    grace_seconds: draft.graceSeconds === "" ? DEFAULT_GRACE : Number(draft.graceSeconds),
    timeout_seconds: Math.round(Number(draft.timeoutMinutes) * 60),
    retries: Number(draft.retries),
    retry_on: Number(draft.retries) > 0 ? draft.retryOn : [],
    backoff_seconds: 5,
    after: draft.after,
    environment: draft.environment,
    kind: draft.interactive || draft.ports.length > 0 ? "interactive" : "training",
    ports: draft.ports.map(Number),
    idle_seconds: draft.idleSeconds,
    secrets: Object.fromEntries(draft.secrets.map(secretOf)),
    options: labelsOf(draft.options),
    mounts: draft.mounts.map(mountOf),
    workspaces: draft.workspaces.map(workspaceOf),
    snapshots: draft.workspaces.length > 0 ? momentsOf(draft.snapshots) : null,
    large_shm: draft.largeShm,
    tags: {},
  };
}

function envOf({ env }: Draft): Record<string, string> {
  // Blanks in a value are part of it.
  return Object.fromEntries(env.filter(({ key }) => key.trim()).map(({ key, value }) => [key.trim(), value]));
}

/** True if it is not one job but one for each combination of values. */
export function makesGrid({ params, commandGrid, command }: Draft): boolean {
  return isGrid(params) || (commandGrid && listsValues(command));
}

/** A grid of jobs: a search over all combinations. */
export function gridOf(draft: Draft): SearchCreate {
  const named = namedOf(draft.params);
  const { name, ...job } = requestOf({ ...draft, params: [] });
  const names = named.map(({ key }) => key);
  return {
    name: name ?? undefined,
    job: { ...(job as SearchCreate["job"]), command: wordsOf(draft.command, names) ?? [] },
    parameters: named.map(({ key, value }) => ({
      name: key,
      values: paramValues(value),
      log: false,
      when: {},
    })),
    command_grid: draft.commandGrid && listsValues(draft.command),
    method: "grid",
    parallel: Number(draft.parallel) || 1,
  };
}

/** The variable and the secret's name, which is the variable's without one. */
function secretOf(written: string): [string, string] {
  const at = written.lastIndexOf("=");
  return at < 0 ? [written, written] : [written.slice(0, at), written.slice(at + 1)];
}

type Mount = NonNullable<JobCreate["mounts"]>[number];

function writeMount({ mount, target, read_only }: Mount): string {
  return `${mount}:${target}${read_only ? ":ro" : ""}`;
}

function mountOf(written: string): Mount {
  const [mount = "", target = "", access] = written.split(":");
  return { mount, target, read_only: access === "ro", site_id: "" };
}

/** For forms: what is wrong with the first wrong one, null if none is. */
export function mountsProblem(written: readonly string[]): string | null {
  const wrong = written.find((mount) => !/^[^:]+:\/[^:]*(:ro|:rw)?$/.test(mount));
  return wrong === undefined ? null : `Write ${wrong} as NAME:/path or NAME:/path:ro.`;
}

/** `0.1, 0.01` as one word. */
function withoutBlanks({ key, value }: Pair): Pair {
  return { key, value: value.replace(/\s*,\s*/g, ",") };
}

/** In the folder that holds the code, if the job has any. */
export function commandLineOf(draft: Draft, onlyProject: boolean): string {
  const parts = [
    isMpi(draft) ? "mill submit-mpi" : "mill submit",
    draft.name.trim() && shellQuote(draft.name.trim()),
    !onlyProject && `--project ${shellQuote(draft.project)}`,
    ...draft.inputs.map((input) => `--data ${shellQuote(input)}`),
    draft.experiment.trim() && `--experiment ${shellQuote(draft.experiment.trim())}`,
    ...Object.entries(envOf(draft)).map(([key, value]) => `-e ${shellQuote(`${key}=${value}`)}`),
    makesGrid(draft) && "--grid",
    Number(draft.cpu) > 0 && `--cpu ${draft.cpu}`,
    Number(draft.memoryGb) > 0 && `--memory ${draft.memoryGb}GB`,
    Number(draft.processes) > 0 && `--processes ${draft.processes}`,
    Number(draft.gpus) > 0 && `${Number(draft.processes) > 0 ? "--gpu-per-process" : "-g"} ${draft.gpus}`,
    draft.enforced && "--enforced",
    draft.image.trim() && `-i ${shellQuote(draft.image.trim())}`,
    draft.on && `--on ${shellQuote(draft.on)}`,
    draft.gpuType.trim() && `--gpu-type ${shellQuote(draft.gpuType.trim())}`,
    Number(draft.minGpuMemoryGb) > 0 && `--min-gpu-memory ${draft.minGpuMemoryGb}GB`,
    ...draft.nodeSelector.map((label) => `--node-selector ${shellQuote(label)}`),
    draft.compute && `--compute ${shellQuote(draft.compute)}`,
    ...draft.options.map((option) => `--option ${shellQuote(option)}`),
    ...draft.mounts.map((mount) => `--pvc ${shellQuote(mount)}`),
    ...draft.workspaces.map((workspace) => `--workspace ${shellQuote(workspace)}`),
    draft.workspaces.length > 0 &&
      writeMoments(draft.snapshots) &&
      `--snapshot ${writeMoments(draft.snapshots)}`,
    draft.largeShm && "--large-shm",
    Number(draft.priority) !== 0 && `--priority ${draft.priority}`,
    draft.preemptible && (draft.preemptible === "yes" ? "--preemptible" : "--no-preemptible"),
    draft.graceSeconds !== "" && `--grace ${draft.graceSeconds}s`,
    Number(draft.timeoutMinutes) > 0 && `--timeout ${draft.timeoutMinutes}m`,
    Number(draft.retries) > 0 && `--retries ${draft.retries}`,
    ...(Number(draft.retries) > 0 ? draft.retryOn.map((kind) => `--retry-on ${kind}`) : []),
    draft.interactive && draft.ports.length === 0 && "--interactive",
    ...draft.ports.map((port) => `--port ${port}`),
    draft.idleSeconds > 0 && `--idle ${draft.idleSeconds}s`,
    ...draft.secrets.map((secret) => `--secret ${shellQuote(secret)}`),
    ...draft.after.map((job) => `--after ${shellQuote(job)}`),
    draft.code === null && "--no-code",
    "--",
    shellLine(commandWith(draft.command, draft.params.map(withoutBlanks))) || "COMMAND",
  ];
  return parts.filter(Boolean).join(" ");
}
