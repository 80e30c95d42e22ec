/** What the editor does with steps: add, rename, remove, connect. Each is a change of the text. */
import { isScalar, type Scalar, visit } from "yaml";
import { parsed } from "./parsing";
import { deleteIn, deleteItem, renameKey, replaceRanges, setAll, setIn } from "./patch";

type Step = Record<string, unknown>;

/** `resnet50`, or `resnet50-2` where that is taken. */
export function freeName(wanted: string, taken: readonly string[]): string {
  const base =
    wanted
      .toLowerCase()
      .replace(/[^a-z0-9_-]+/g, "-")
      .replace(/^[^a-z0-9]+|-+$/g, "") || "step";
  if (!taken.includes(base)) return base;
  let number = 2;
  while (taken.includes(`${base}-${number}`)) number++;
  return `${base}-${number}`;
}

export function addStep(text: string, name: string, step: Step, at?: readonly [number, number]): string {
  const added = setIn(text, ["steps", name], step);
  return at ? moveStep(added, name, at) : added;
}

export function moveStep(text: string, name: string, [x, y]: readonly [number, number]): string {
  return setIn(text, ["ui", name], [Math.round(x), Math.round(y)]);
}

/** The text with steps at these places; the others stay where they are. */
export function placeSteps(text: string, places: ReadonlyMap<string, readonly [number, number]>): string {
  const rounded = [...places].map(([name, at]) => [name, at.map((one) => Math.round(one) || 0)] as const);
  return setAll(text, "ui", new Map(rounded));
}

/** The text with a step under another name, and everything that refers to it. */
export function renameStep(text: string, from: string, to: string): string {
  const referring = new RegExp(`\\bsteps\\.${from}(?![A-Za-z0-9_-])`, "g");
  const edits: { from: number; to: number; by: string }[] = [];
  const replace = (node: Scalar, by: string) => {
    const [start, end] = node.range ?? [0, 0];
    edits.push({ from: start, to: end, by });
  };
  visit(parsed(text), {
    Pair(_, pair, path) {
      const isNamed = isScalar(pair.key) && pair.key.value === from && path.length === 4;
      const parent = path[2] as { key?: { value?: unknown } } | undefined;
      if (isNamed && ["steps", "ui"].includes(String(parent?.key?.value))) replace(pair.key as Scalar, to);
    },
    Scalar(key, node, path) {
      if (key === "key" || typeof node.value !== "string") return;
      const source = text.slice(...((node.range ?? [0, 0]).slice(0, 2) as [number, number]));
      const renamed = source.replace(referring, `steps.${to}`);
      if (renamed !== source) replace(node, renamed);
      const list = path.at(-2) as { key?: { value?: unknown } } | undefined;
      if (node.value === from && list?.key?.value === "after") replace(node, to);
    },
  });
  return replaceRanges(text, edits);
}

/** The text with an output of a command under another name, and everything that refers to it. */
export function renameOutput(text: string, step: string, from: string, to: string): string {
  const renamed = renameKey(text, ["steps", step, "outputs", from], to);
  return replaceReferences(renamed, `(steps\\.${step}(?:\\[\\*\\])?\\.outputs\\.)${from}`, to);
}

/** The text with a parameter of the flow under another name, and everything that refers to it. */
export function renameParam(text: string, from: string, to: string): string {
  return replaceReferences(renameKey(text, ["params", from], to), `(params\\.)${from}`, to);
}

/** `pattern` has one group, which stays before the new name. Only texts with `${` are looked at. */
function replaceReferences(text: string, pattern: string, to: string): string {
  const referring = new RegExp(`\\b${pattern}(?![A-Za-z0-9_-])`, "g");
  const edits: { from: number; to: number; by: string }[] = [];
  visit(parsed(text), {
    Scalar(key, node) {
      if (key === "key" || typeof node.value !== "string" || !node.value.includes("${")) return;
      const [start, end] = node.range ?? [0, 0];
      const source = text.slice(start, end);
      const by = source.replace(referring, `$1${to}`);
      if (by !== source) edits.push({ from: start, to: end, by });
    },
  });
  return replaceRanges(text, edits);
}

/** The text without a step, and without what other steps took from it. */
export function removeStep(text: string, name: string): string {
  const flow = (parsed(text).toJSON() ?? {}) as { steps?: Record<string, Step>; publish?: unknown[] };
  const refers = (value: unknown) =>
    new RegExp(`\\bsteps\\.${name}(?![A-Za-z0-9_-])`).test(JSON.stringify(value) ?? "");
  let done = text;
  for (const [other, step] of Object.entries(flow.steps ?? {})) {
    if (other === name || !step) continue;
    for (const part of ["inputs", "params"]) {
      const given = step[part];
      for (const [key, value] of Object.entries((given as Step | undefined) ?? {})) {
        if (refers(value)) done = deleteIn(done, ["steps", other, part, key]);
      }
    }
    for (const part of ["when", "each"])
      if (refers(step[part])) done = deleteIn(done, ["steps", other, part]);
    const after = Array.isArray(step.after) ? step.after.indexOf(name) : -1;
    if (after >= 0) done = deleteItem(done, ["steps", other, "after"], after);
  }
  (flow.publish ?? [])
    .map((one, index) => (refers(one) ? index : -1))
    .filter((index) => index >= 0)
    .reverse()
    .forEach((index) => {
      done = deleteItem(done, ["publish"], index);
    });
  return deleteIn(deleteIn(done, ["ui", name]), ["steps", name]);
}

/** Give an output of a step, or a dataset (no output), to an input of another. */
export function connect(
  text: string,
  from: { step: string; output?: string; all?: boolean },
  to: { step: string; input: string },
): string {
  const source = from.output
    ? `steps.${from.step}${from.all ? "[*]" : ""}.outputs.${from.output}`
    : `steps.${from.step}`;
  return setIn(text, ["steps", to.step, "inputs", to.input], `\${${source}}`);
}

export function disconnect(text: string, to: { step: string; input: string }): string {
  return deleteIn(text, ["steps", to.step, "inputs", to.input]);
}
