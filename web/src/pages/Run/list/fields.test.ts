import { expect, test } from "vitest";
import type { RunKeys } from "../../../api/shapes";
import { complete, completionOf, conditionOf } from "./completion";
import { defaultFields, nextOrder, readField, readFields, writeField, writeFields } from "./fields";

const KEYS: RunKeys = {
  runs: 3,
  params: [
    { key: "lr", runs: 3, differs: true, values: [] },
    { key: "seed", runs: 3, differs: false, values: [] },
    { key: "weird, key", runs: 1, differs: true, values: [] },
  ],
  metrics: [
    { key: "epoch", runs: 3, differs: false, values: [] },
    { key: "loss", runs: 3, differs: false, values: [] },
  ],
  tags: [{ key: "team", runs: 2, differs: true, values: ["vision", "it's"] }],
  experiments: ["baseline"],
  users: ["ada"],
};

test("fields are read back as they were written, whatever their keys", () => {
  for (const key of ["lr", "model/arch", "with blank", "a,b", "a`b", "0.5", "x.y"]) {
    for (const field of [
      { kind: "params", key } as const,
      { kind: "metrics", key, value: "min" } as const,
      { kind: "tags", key } as const,
    ]) {
      expect(readField(writeField(field))).toEqual(field);
      expect(readFields(`state, ${writeFields([field, field])}`)).toHaveLength(3);
    }
  }
  expect(readFields("nothing, params., state")).toEqual([{ kind: "attributes", key: "state" }]);
});

test("columns that nobody chose are parameters that differ and metrics that are no counters", () => {
  const shown = defaultFields(KEYS).map(writeField);
  expect(shown).toEqual([
    "state",
    "started_at",
    "duration",
    "metrics.loss",
    "params.lr",
    "params.`weird, key`",
  ]);
});

test("clicks on a column sort by it, turn round, and stop", () => {
  const loss = { kind: "metrics", key: "loss", value: "last" } as const;
  const lr = { kind: "params", key: "lr" } as const;
  const started = { kind: "attributes", key: "started_at" } as const;
  expect(nextOrder(undefined, loss)).toBe("metrics.loss desc");
  expect(nextOrder("metrics.loss desc", loss)).toBe("metrics.loss");
  expect(nextOrder("metrics.loss", loss)).toBeUndefined();
  expect([nextOrder("metrics.loss", lr), nextOrder("params.lr", lr)]).toEqual([
    "params.lr",
    "params.lr desc",
  ]);
  expect([nextOrder(undefined, started), nextOrder("started_at", started)]).toEqual([
    "started_at",
    undefined,
  ]);
});

function offered(text: string): readonly string[] {
  return completionOf(text, text.length, KEYS).options;
}

test("a condition is completed by names, signs, values and words between", () => {
  expect(offered("l")[0]).toBe("params.lr");
  expect(offered("metrics.")).toContain("min(metrics.loss)");
  expect(offered("metrics.loss ")[0]).toBe(">");
  expect(offered("params.lr ")).toContain("ilike");
  expect(offered("tags.team = ")).toEqual(["'vision'", "'it\\'s'"]);
  expect(offered("tags.team = 'vi")).toEqual(["'vision'"]);
  expect(offered("state = 'failed' ")).toEqual(["and", "or"]);
  expect(offered("metrics.loss > 0.5 and exp")).toEqual(["experiment"]);
  expect(offered("params.`wei")).toEqual(["params.`weird, key`"]);
  expect(offered("state in (")).toContain("'running'");
});

test("an option takes the place of the word at the cursor", () => {
  const text = "los > 3";
  expect(complete(text, completionOf(text, 3, KEYS), "metrics.loss")).toEqual(["metrics.loss > 3", 13]);
});

test("plain words are looked for in names", () => {
  expect(conditionOf(" resnet 50 ")).toBe("name ilike '%resnet 50%'");
  expect(conditionOf("metrics.loss < 1")).toBe("metrics.loss < 1");
  expect(conditionOf("parent is null")).toBe("parent is null");
});
