import { expect, it } from "vitest";
import { anEntry, commandLineOf, draftOf, entriesProblem, requestOf } from "./draft";

const TIME = "2026-11-15T12:00:00+00:00";
const BURST = {
  name: "burst",
  description: "first here, then in the cloud",
  templates: [
    { template: "gpu-real", patience_seconds: 600 },
    { template: "cloud", patience_seconds: 0 },
  ],
  created_at: TIME,
  created_by: "mary",
  changed_at: TIME,
  changed_by: "mary",
};

it("sends what was read, in its order", () => {
  const { templates, description } = BURST;
  expect(requestOf(draftOf(BURST))).toEqual({ templates, description });
});

it("writes the command that does the same", () => {
  const draft = draftOf(BURST);
  expect(commandLineOf("update", draft, BURST.description)).toBe(
    "mill queue update burst gpu-real:10m cloud",
  );
  expect(commandLineOf("create", { name: "", description: "", entries: [anEntry()] })).toBe(
    "mill queue create NAME TEMPLATE",
  );
});

it.each([
  [[], "at least one"],
  [[anEntry()], "Choose a template"],
  [[anEntry("a"), anEntry("a")], "a is in the queue twice"],
  [[anEntry("a", "soon")], "15m"],
])("refuses what cannot be a queue", (entries, said) => expect(entriesProblem(entries)).toContain(said));

it("accepts a queue with patience", () => expect(entriesProblem([anEntry("a", "10m")])).toBeNull());
