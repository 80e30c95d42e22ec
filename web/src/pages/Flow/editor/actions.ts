/** What can be done with the steps of a flow: each is one change of its text. */
import { useMemo, useRef } from "react";
import type { LibraryComponent } from "../../../api/shapes";
import { type FlowEdge, type FlowGraph, type FlowStep, readGraph } from "../../../lib/flow/graph";
import { deleteItem, setIn } from "../../../lib/flow/patch";
import { addStep, connect, disconnect, freeName, placeSteps, removeStep } from "../../../lib/flow/steps";
import type { Editing } from "./Canvas";
import type { FlowText } from "./history";
import { freePlace, layoutOf, nodeHeight, positionsOf } from "./layout";
import { portsOf } from "./library";
import { type PaletteItem, type StepOption, stepFor } from "./paletteItems";

interface Given {
  flow: FlowText;
  graph: FlowGraph;
  library: readonly LibraryComponent[];
  selected: string | null;
  onSelect: (step: string | null) => void;
  onRefuse: (why: string) => void;
  /** Show the part of a step's form where this is set. */
  onOption: (option: StepOption, step: string) => void;
}

export interface FlowActions {
  add: (item: PaletteItem, at?: [number, number]) => void;
  arrange: () => void;
  copy: (step: FlowStep) => void;
  remove: (steps: readonly string[]) => void;
  canvas: Editing;
}

/** The same functions for the life of the editor, so that the canvas is not drawn again for each letter typed. */
export function useFlowActions(given: Given): FlowActions {
  const now = useRef(given);
  now.current = given;
  return useMemo(() => actionsOf(now), []);
}

function actionsOf(now: { readonly current: Given }): FlowActions {
  const names = () => now.current.graph.steps.map((one) => one.name);
  const edit: FlowText["edit"] = (kind, change) => now.current.flow.edit(kind, change);
  const select = (step: string | null) => now.current.onSelect(step);

  const tall = (name: string) => {
    const found = now.current.graph.steps.find((one) => one.name === name);
    const ports = found ? portsOf(found, now.current.library) : null;
    return nodeHeight(Math.max(ports?.inputs.length ?? 0, ports?.outputs.length ?? 0));
  };
  /** The others stay where they were drawn, also those whose place the file did not say. */
  const insert = (
    kind: string,
    name: string,
    step: Record<string, unknown>,
    at?: [number, number],
    near?: string | null,
  ) => {
    const places = positionsOf(now.current.graph, tall);
    const place = at ?? freePlace(places, near ?? null);
    edit(kind, (before) => placeSteps(addStep(before, name, step), new Map([...places, [name, place]])));
    select(name);
  };
  const showOption = (option: StepOption, step: string | null) => {
    const found = now.current.graph.steps.find((one) => one.name === step);
    const why = !found
      ? "Drop it on a step, or choose one first."
      : found.kind === "dataset" || (found.kind === "approval" && option === "list")
        ? `${option === "list" ? "A list" : "A condition"} does not belong to ${found.kind === "dataset" ? "a dataset" : "an approval"}.`
        : null;
    if (why) return now.current.onRefuse(why);
    now.current.onOption(option, step as string);
  };
  const add: FlowActions["add"] = (item, at) => {
    if (item.kind === "option") return showOption(item.option, now.current.selected);
    const made = stepFor(item);
    insert("add", freeName(made.name, names()), made.step, at, now.current.selected);
  };
  const remove = (steps: readonly string[]) => {
    edit("remove", (before) => steps.reduce(removeStep, before));
    select(null);
  };
  return {
    add,
    remove,
    arrange: () => {
      const arranged = layoutOf(now.current.graph, tall);
      edit("arrange", (before) => placeSteps(before, arranged));
    },
    copy: (step) => {
      insert("copy", freeName(step.name.replace(/-\d+$/, ""), names()), step.value, undefined, step.name);
    },
    canvas: {
      onMove: (places) => edit("move", (before) => placeSteps(before, places)),
      onConnect: ({ from, output, to, input }, all) =>
        edit("connect", (before) =>
          connect(before, { step: from, output: output || undefined, all }, { step: to, input }),
        ),
      onOrder: (from, to) => {
        const after = now.current.graph.edges.filter((one) => one.to === to && one.kind === "order");
        const all = [...new Set([...after.map((one) => one.from), from])];
        edit("order", (before) => setIn(before, ["steps", to, "after"], all));
      },
      onDisconnect: (edges) => edit("disconnect", (before) => edges.reduce(withoutEdge, before)),
      onRemove: remove,
      onDrop: add,
      onOption: showOption,
      onRefuse: (why) => now.current.onRefuse(why),
    },
  };
}

function withoutEdge(text: string, edge: FlowEdge): string {
  if (edge.kind === "data" && edge.input) return disconnect(text, { step: edge.to, input: edge.input });
  if (edge.kind !== "order") return text;
  const after = readGraph(text).steps.find((step) => step.name === edge.to)?.value.after;
  const index = Array.isArray(after) ? after.indexOf(edge.from) : -1;
  return index < 0 ? text : deleteItem(text, ["steps", edge.to, "after"], index);
}
