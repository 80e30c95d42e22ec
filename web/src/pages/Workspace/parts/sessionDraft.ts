/** A session that is being asked for: what is sent, and the command line that does the same. */
import type { SessionDraft, SessionKind } from "../../../api/workspaceSessions";
import { shellQuote } from "../../../lib/names";

export const SESSION_KINDS: readonly { value: SessionKind; label: string }[] = [
  { value: "lab", label: "JupyterLab" },
  { value: "code", label: "code-server" },
  { value: "shell", label: "Shell" },
];

export interface SessionForm {
  kind: SessionKind;
  on: string | null;
  cpu: number | string;
  memoryGb: number | string;
  gpus: number | string;
  image: string;
  install: boolean;
  inputs: string[];
}

export const EMPTY_SESSION: SessionForm = {
  kind: "lab",
  on: null,
  cpu: "",
  memoryGb: "",
  gpus: "",
  image: "",
  install: false,
  inputs: [],
};

const IDLE_SECONDS = 8 * 3600;

const installs = ({ kind, image, install }: SessionForm) => install && kind === "lab" && !image.trim();

export function sessionRequest(form: SessionForm): SessionDraft {
  return {
    kind: form.kind,
    on: form.on,
    cpu: Number(form.cpu),
    memory_bytes: Math.round(Number(form.memoryGb) * 1e9),
    gpu_hundredths: Math.round(Number(form.gpus) * 100),
    image: form.image.trim() || null,
    install: installs(form),
    inputs: form.inputs,
    workspaces: [],
    idle_seconds: IDLE_SECONDS,
  };
}

export function sessionCommand(workspace: string, form: SessionForm): string {
  const parts = [
    `mill workspace open ${shellQuote(workspace)} --${form.kind}`,
    form.on && `--on ${shellQuote(form.on)}`,
    Number(form.cpu) > 0 && `-c ${form.cpu}`,
    Number(form.memoryGb) > 0 && `-m ${form.memoryGb}GB`,
    Number(form.gpus) > 0 && `-g ${form.gpus}`,
    form.image.trim() && `-i ${shellQuote(form.image.trim())}`,
    installs(form) && "--install",
    ...form.inputs.map((input) => `-d ${shellQuote(input)}`),
  ];
  return parts.filter(Boolean).join(" ");
}
