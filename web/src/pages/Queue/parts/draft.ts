/** A queue while it is edited: what is sent, and the command line that does the same. */
import type { Queue, QueuePut } from "../../../api/shapes";
import { durationProblem, parseDuration, writeDuration } from "../../../lib/duration";
import { shellQuote } from "../../../lib/names";

export interface EntryDraft {
  /** Tells rows apart while they are moved. */
  key: string;
  template: string;
  /** As the command line takes it: `10m`; "" tries the next template at once. */
  patience: string;
}

export interface QueueDraft {
  name: string;
  description: string;
  entries: EntryDraft[];
}

export function draftOf(queue: Queue): QueueDraft {
  return {
    name: queue.name,
    description: queue.description,
    entries: queue.templates.map(({ template, patience_seconds }) =>
      anEntry(template, writeDuration(patience_seconds)),
    ),
  };
}

let made = 0;

export function anEntry(template = "", patience = ""): EntryDraft {
  made += 1;
  return { key: String(made), template, patience };
}

export function requestOf(draft: QueueDraft): QueuePut {
  return {
    description: draft.description.trim(),
    templates: draft.entries.map(({ template, patience }) => ({
      template,
      patience_seconds: parseDuration(patience) ?? 0,
    })),
  };
}

export function commandLineOf(verb: "create" | "update", draft: QueueDraft, before = ""): string {
  const entries = draft.entries.map(({ template, patience }) =>
    shellQuote((template || "TEMPLATE") + (patience.trim() ? `:${patience.trim()}` : "")),
  );
  const description = draft.description !== before ? [`--description ${shellQuote(draft.description)}`] : [];
  return [`mill queue ${verb}`, shellQuote(draft.name || "NAME"), ...entries, ...description].join(" ");
}

/** What is wrong with the rows, null if nothing is. */
export function entriesProblem(entries: readonly EntryDraft[]): string | null {
  if (entries.length === 0) return "Add at least one template.";
  if (entries.some(({ template }) => !template)) return "Choose a template for each row.";
  const names = entries.map(({ template }) => template);
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice) return `${twice} is in the queue twice.`;
  return entries.map(({ patience }) => durationProblem(patience)).find(Boolean) ?? null;
}
