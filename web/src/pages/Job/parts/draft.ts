/** A job that is being written: what is sent, and the command line that does the same. */
import type { Job, JobCreate } from "../../../api/shapes";
import { shellLine, shellQuote } from "../../../lib/names";
import { commandWords } from "../../../lib/shell";

export interface Draft {
  project: string;
  name: string;
  /** As the command line takes them: `dataset`, `dataset@ref`, `project/dataset@ref`. */
  inputs: string[];
  command: string;
  env: Readonly<Record<string, string>>;
  cpu: number | string;
  memoryGb: number | string;
  gpus: number | string;
  /** A commit of `.code` that an earlier job ran with. */
  code: string | null;
}

export function emptyDraft(project: string): Draft {
  return { project, name: "", inputs: [], command: "", env: {}, cpu: "", memoryGb: "", gpus: "", code: null };
}

/** The same once more, with the very commits the job had. */
export function draftOf(job: Job): Draft {
  return {
    project: job.project,
    name: job.name,
    inputs: job.inputs.map((input) => `${input.dataset}@${input.commit_id}`),
    command: typed(job.command),
    env: job.env,
    cpu: job.cpu || "",
    memoryGb: job.memory_bytes / 1e9 || "",
    gpus: job.gpu_hundredths / 100 || "",
    code: job.code_commit,
  };
}

/** As somebody would have typed it into the form. */
function typed(command: string[]): string {
  const [program, option, script] = command;
  const forShell = program === "sh" && option === "-c" && command.length === 3;
  return forShell ? (script ?? "") : shellLine(command);
}

export function requestOf(draft: Draft): JobCreate {
  return {
    name: draft.name.trim() || null,
    command: commandWords(draft.command) ?? [],
    inputs: draft.inputs,
    env: draft.env,
    cpu: Number(draft.cpu),
    memory_bytes: Math.round(Number(draft.memoryGb) * 1e9),
    gpu_hundredths: Math.round(Number(draft.gpus) * 100),
    code_commit: draft.code,
  };
}

/** In the folder that holds the code, if the job has any. */
export function commandLineOf(draft: Draft, onlyProject: boolean): string {
  const parts = [
    "mill submit",
    draft.name.trim() && shellQuote(draft.name.trim()),
    !onlyProject && `--project ${shellQuote(draft.project)}`,
    ...draft.inputs.map((input) => `--data ${shellQuote(input)}`),
    ...Object.entries(draft.env).map(([key, value]) => `-e ${shellQuote(`${key}=${value}`)}`),
    Number(draft.cpu) > 0 && `--cpu ${draft.cpu}`,
    Number(draft.memoryGb) > 0 && `--memory ${draft.memoryGb}GB`,
    Number(draft.gpus) > 0 && `-g ${draft.gpus}`,
    draft.code === null && "--no-code",
    "--",
    shellLine(commandWords(draft.command) ?? []) || "COMMAND",
  ];
  return parts.filter(Boolean).join(" ");
}
