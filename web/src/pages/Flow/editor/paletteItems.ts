/** What can be dragged onto the canvas, and the step that it becomes. */
import type { LibraryComponent } from "../../../api/shapes";
import { CATEGORIES } from "../../Library/categories";

export type PaletteItem =
  | { kind: "dataset"; dataset: string }
  | { kind: "component"; name: string; version: string }
  | { kind: "command" }
  | { kind: "approval" }
  /** Nothing by itself: dropped on a step, or clicked while one is chosen. */
  | { kind: "option"; option: StepOption };

export type StepOption = "condition" | "list";

const TYPE = "application/x-millpond-step";

export function writeDrag(transfer: DataTransfer, item: PaletteItem): void {
  transfer.setData(TYPE, JSON.stringify(item));
  transfer.effectAllowed = "copy";
}

export function readDrop(transfer: DataTransfer): PaletteItem | null {
  const text = transfer.getData(TYPE);
  return text ? (JSON.parse(text) as PaletteItem) : null;
}

/** The step as it is written first, and a name for it. */
export function stepFor(item: Exclude<PaletteItem, { kind: "option" }>): {
  name: string;
  step: Record<string, unknown>;
} {
  switch (item.kind) {
    case "dataset":
      return {
        name: item.dataset.split("/").at(-1)?.split("@")[0] || "data",
        step: { dataset: item.dataset.includes("@") ? item.dataset : `${item.dataset}@main`, cached: "near" },
      };
    case "component":
      return { name: item.name, step: { component: `${item.name}@${item.version.split(".")[0]}` } };
    case "command":
      return {
        name: "step",
        step: {
          command: ["sh", "-c", "date > $MILL_OUTPUT/result/date.txt"],
          outputs: { result: { type: "directory" } },
        },
      };
    case "approval":
      return { name: "approve", step: { approval: { role: "admin", message: "Go on?" } } };
  }
}

/** Components by category, in the order in which a flow uses them. */
export function byCategory(library: readonly LibraryComponent[]): [string, LibraryComponent[]][] {
  const groups = new Map<string, LibraryComponent[]>();
  const newest = library.filter(
    (one, index) => library.findIndex((other) => other.name === one.name) === index,
  );
  for (const one of newest) groups.set(one.category, [...(groups.get(one.category) ?? []), one]);
  const place = (category: string) => CATEGORIES.indexOf(category) + 1 || 99;
  return [...groups].sort(([a], [b]) => place(a) - place(b));
}
