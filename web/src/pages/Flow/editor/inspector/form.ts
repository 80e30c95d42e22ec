/** What every part of the form of a step needs. */
import type { LibraryComponent } from "../../../../api/shapes";
import type { FlowGraph, FlowStep } from "../../../../lib/flow/graph";
import type { StepOption } from "../paletteItems";

export interface Places {
  templates: readonly string[];
  queues: readonly string[];
}

export interface StepForm {
  step: FlowStep;
  graph: FlowGraph;
  library: readonly LibraryComponent[];
  places: Places;
  datasets: readonly string[];
  isEditable: boolean;
  /** What is about to be set: its part is open. */
  option?: StepOption;
  /** Path below the step, and its new value; undefined removes it. */
  set: (path: readonly string[], value: unknown) => void;
  /** Several changes of the text as one step of undo. */
  change: (kind: string, edit: (text: string) => string) => void;
}
