/** A search that is being written: what is sent, and the file that does the same. */
import { stringify } from "yaml";
import type { Schemas, Search, SearchCreate, SearchObjective, SearchParameter } from "../../../api/shapes";
import { shellLine } from "../../../lib/names";
import { commandWords } from "../../../lib/shell";

type Method = Schemas["Method"];

export interface ParameterDraft {
  name: string;
  kind: "values" | "range";
  /** With commas between. */
  values: string;
  min: number | string;
  max: number | string;
  log: boolean;
  whole: boolean;
  /** What the form does not show: the step of a range, on what it depends. */
  kept: Partial<SearchParameter>;
}

export interface ObjectiveDraft {
  metric: string;
  direction: SearchObjective["direction"];
  kept: Partial<SearchObjective>;
}

export interface SearchDraft {
  name: string;
  command: string;
  inputs: string[];
  gpus: number | string;
  on: string | null;
  parameters: ParameterDraft[];
  method: Method;
  objectives: ObjectiveDraft[];
  prunes: boolean;
  minStep: number | string;
  factor: number | string;
  maxTrials: number | string;
  parallel: number | string;
  /** The search that it is like: its code, data and everything else of its job is taken over. */
  like: Search | null;
}

export const NEW_PARAMETER: ParameterDraft = {
  name: "",
  kind: "values",
  values: "",
  min: "",
  max: "",
  log: false,
  whole: false,
  kept: {},
};

export const NEW_OBJECTIVE: ObjectiveDraft = { metric: "", direction: "minimize", kept: {} };

export const EMPTY_DRAFT: SearchDraft = {
  name: "",
  command: "",
  inputs: [],
  gpus: "",
  on: null,
  parameters: [NEW_PARAMETER],
  method: "tpe",
  objectives: [NEW_OBJECTIVE],
  prunes: false,
  minStep: 1,
  factor: 3,
  maxTrials: "",
  parallel: 2,
  like: null,
};

/** The same once more, to change. */
export function draftOf(search: Search): SearchDraft {
  return {
    ...EMPTY_DRAFT,
    name: search.name,
    command: typed(search.job.command),
    parameters: search.parameters.map(({ name, values, min, max, log, type, ...kept }) => ({
      name,
      kind: values.length > 0 ? "values" : "range",
      values: values.map(String).join(", "),
      min: min ?? "",
      max: max ?? "",
      log,
      whole: type ? type === "int" : [min, max, kept.step ?? 0].every(Number.isInteger),
      kept,
    })),
    method: search.method,
    objectives: search.objectives.map(({ metric, direction, ...kept }) => ({ metric, direction, kept })),
    prunes: search.pruning !== null,
    minStep: search.pruning?.min_step ?? 1,
    factor: search.pruning?.factor ?? 3,
    maxTrials: search.max_trials,
    parallel: search.parallel,
    like: search,
  };
}

/** Placeholders are no patterns of a shell: `{lr}` is written without quotes. */
function typed(command: readonly string[]): string {
  const [shell, flag, text] = command;
  if (command.length === 3 && shell === "sh" && flag === "-c" && text) return text;
  return shellLine(command).replace(/'(\{[\w.-]+\})'/g, "$1");
}

/** The words of the command, in which `{name}` of a parameter stays as it is; null for an open quotation mark. */
export function wordsOf(command: string, names: readonly string[]): string[] | null {
  // Letters that nobody types, and that no shell knows.
  const marks = names.map((name, place) => [`{${name}}`, String.fromCharCode(0xe000 + place)] as const);
  const hidden = marks.reduce((text, [written, mark]) => text.replaceAll(written, mark), command);
  const words = commandWords(hidden);
  return (
    words?.map((word) => marks.reduce((text, [written, mark]) => text.replaceAll(mark, written), word)) ??
    null
  );
}

export function requestOf(draft: SearchDraft): SearchCreate {
  const named = draft.parameters.filter(({ name }) => name.trim() !== "");
  const command =
    wordsOf(
      draft.command,
      named.map(({ name }) => name.trim()),
    ) ?? [];
  const objectives = draft.objectives.filter(({ metric }) => metric.trim() !== "");
  const { like } = draft;
  return {
    name: draft.name.trim() || undefined,
    job: like ? { ...(like.job as SearchCreate["job"]), command } : { command, ...resourcesOf(draft) },
    parameters: named.map(parameterOf) as Schemas["SearchParameter"][],
    // Without a parameter, the values that the command lists by commas are a grid.
    command_grid: named.length === 0,
    method: draft.method,
    objectives: objectives.map(({ metric, direction, kept }) => ({
      reading: "last",
      ...kept,
      metric: metric.trim(),
      direction,
    })),
    pruning: draft.prunes ? { min_step: Number(draft.minStep), factor: Number(draft.factor) } : null,
    max_trials: numberOf(draft.maxTrials),
    parallel: numberOf(draft.parallel),
    ...(like && { max_failed: like.max_failed, max_seconds: like.max_seconds, seed: like.seed }),
  };
}

function resourcesOf({ inputs, gpus, on }: SearchDraft): Partial<SearchCreate["job"]> {
  return {
    ...(inputs.length > 0 && { inputs }),
    ...(Number(gpus) > 0 && { gpu_hundredths: Math.round(Number(gpus) * 100) }),
    ...(on && { on }),
  };
}

function parameterOf({ name, kind, values, min, max, log, whole, kept }: ParameterDraft): SearchParameter {
  if (kind === "values") return { when: kept.when, name: name.trim(), values: valuesOf(values) };
  const type = whole ? "int" : "float";
  return { ...kept, name: name.trim(), min: numberOf(min), max: numberOf(max), log, type };
}

/** Numbers and truths are such; anything else is a text. */
export function valuesOf(text: string): (string | number | boolean)[] {
  return text
    .split(",")
    .map((part) => part.trim())
    .filter((part) => part !== "")
    .map((part) => {
      if (part === "true" || part === "false") return part === "true";
      const number = Number(part);
      // A number that would be written otherwise, like 007, is a text.
      return Number.isFinite(number) && !/^[+-]?0\d/.test(part) ? number : part;
    });
}

function numberOf(value: number | string): number | undefined {
  return value === "" || !Number.isFinite(Number(value)) ? undefined : Number(value);
}

/** `search.yaml` for `mill search run`. */
export function fileOf(draft: SearchDraft): string {
  const body = requestOf(draft);
  const objectives = (body.objectives ?? []).map(({ metric, direction }) => ({ metric, direction }));
  return stringify(
    {
      schema: "millpond.search/1",
      name: body.name,
      job: {
        command: draft.command,
        inputs: draft.inputs.length > 0 ? draft.inputs : undefined,
        gpu: numberOf(draft.gpus),
        on: draft.on ?? undefined,
      },
      method: body.method,
      parameters: Object.fromEntries((body.parameters ?? []).map(asInFile)),
      ...(objectives.length === 1 ? { objective: objectives[0] } : { objectives }),
      pruning: body.pruning ? { method: "asha", ...body.pruning } : undefined,
      max_trials: body.max_trials,
      parallel: body.parallel,
    },
    { keepUndefined: false },
  );
}

function asInFile({ name, values, min, max, log, type }: Schemas["SearchParameter"]) {
  return [
    name,
    values?.length ? values : { min, max, ...(log && { log }), ...(type === "float" && { type }) },
  ] as const;
}
