import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { appendItem, deleteIn, deleteItem, inline, renameKey, setAll, setIn } from "./patch";

const FLOW = `schema: millpond.flow/1   # first
name: chest-xray

# What people may change.
params:
  epochs: {type: int, default: 1}   # short

steps:            # in reading order
  xray:
    dataset: xray@main   # the images
    cached: near

  # Keeps classes balanced.
  split:
    component: split@1
    inputs: {data: "\${steps.xray}"}
    params: {val_size: 0.2, seed: 7}
  train:
    component: resnet50@1
    params:
      # Passes over the data.
      epochs: "\${params.epochs}"
      lr: 0.001
publish:
  - {output: "\${steps.split.outputs.train}", to: xray-train@main}
  - {output: "\${steps.split.outputs.val}", to: xray-val@main}
`;

/** Everything but the one line. */
function otherLines(before: string, after: string): [string[], string[]] {
  const kept = new Set(after.split("\n"));
  const had = new Set(before.split("\n"));
  return [
    before.split("\n").filter((line) => !kept.has(line)),
    after.split("\n").filter((line) => !had.has(line)),
  ];
}

describe("setIn", () => {
  it.each([
    [["steps", "xray", "dataset"], "xray@v3", ["    dataset: xray@v3   # the images"]],
    [["params", "epochs", "default"], 5, ["  epochs: {type: int, default: 5}   # short"]],
    [["params", "epochs", "max"], 9, ["  epochs: {type: int, default: 1, max: 9}   # short"]],
    [["steps", "train", "params", "lr"], 0.1, ["      lr: 0.1"]],
    [["steps", "train", "params", "depth"], 18, ["      depth: 18"]],
    [["steps", "train", "queue"], "gpu-then-cloud", ["    queue: gpu-then-cloud"]],
    [
      ["steps", "train", "inputs", "images"],
      "${steps.split.outputs.train}",
      ['    inputs: {images: "${steps.split.outputs.train}"}'],
    ],
    [["steps", "split", "inputs", "data"], "${steps.other}", ['    inputs: {data: "${steps.other}"}']],
    [["description"], "It's: fine", ['description: "It\'s: fine"']],
  ] as [string[], unknown, string[]][])("changes one line for %j", (path, value, lines) => {
    const after = setIn(FLOW, path, value);
    const [gone, come] = otherLines(FLOW, after);
    expect(come).toEqual(lines);
    expect(gone.length).toBeLessThanOrEqual(1);
    expect(path.reduce((one: unknown, key) => (one as Record<string, unknown>)[key], parse(after))).toEqual(
      value,
    );
  });

  it("writes a new step on lines of its own, and the rest of it on one line each", () => {
    const after = setIn(FLOW, ["steps", "pick"], { component: "pick@1", params: { top: 1, by: ["a", "b"] } });
    expect(after).toContain("  pick:\n    component: pick@1\n    params: {top: 1, by: [a, b]}\n");
    expect(after.indexOf("  pick:")).toBeLessThan(after.indexOf("publish:"));
  });

  it("changes only what differs of a mapping", () => {
    const after = setIn(FLOW, ["steps", "train", "params"], { epochs: "${params.epochs}", depth: 18 });
    expect(after).toContain("# Passes over the data.");
    expect(parse(after).steps.train.params).toEqual({ epochs: "${params.epochs}", depth: 18 });
  });

  it("begins an empty file", () => {
    expect(setIn("", ["steps", "a", "dataset"], "x@main")).toBe("steps:\n  a:\n    dataset: x@main\n");
    expect(setIn("# mine\n", ["name"], "x")).toBe("# mine\nname: x\n");
  });

  it("fills a key that has no value, and replaces text over several lines", () => {
    expect(setIn("ui:\nname: x\n", ["ui", "a"], [1, 2])).toBe("ui:\n  a: [1, 2]\nname: x\n");
    expect(parse(setIn("description: |\n  two\n  lines\nname: x\n", ["description"], "one"))).toEqual({
      description: "one",
      name: "x",
    });
  });

  it("keeps what looks like a number or a boolean as text", () => {
    for (const text of [
      "1.0",
      "true",
      "null",
      "on",
      "~",
      "0x1f",
      "a: b",
      "- a",
      "${x}",
      " pad ",
      "",
      "#no",
    ]) {
      expect(parse(setIn(FLOW, ["name"], text)).name).toBe(text);
      expect(parse(setIn(FLOW, ["steps", "split", "params", "seed"], text)).steps.split.params.seed).toBe(
        text,
      );
    }
  });
});

describe("deleteIn", () => {
  it("removes the lines of a key and keeps comments around it", () => {
    const after = deleteIn(FLOW, ["steps", "split"]);
    expect(Object.keys(parse(after).steps)).toEqual(["xray", "train"]);
    expect(after).toContain("# Keeps classes balanced.");
    expect(after).toContain("# Passes over the data.");
  });

  it("removes from the beginning, the middle and the end of one line", () => {
    for (const key of ["val_size", "seed"]) {
      const after = deleteIn(FLOW, ["steps", "split", "params", key]);
      expect(Object.keys(parse(after).steps.split.params)).not.toContain(key);
      expect(Object.keys(parse(after).steps.split.params)).toHaveLength(1);
    }
    expect(deleteIn("a: {x: 1, y: 2, z: 3}\n", ["a", "y"])).toBe("a: {x: 1, z: 3}\n");
  });

  it("removes a mapping with its last key", () => {
    const after = deleteIn(FLOW, ["steps", "split", "inputs", "data"]);
    expect(parse(after).steps.split).toEqual({ component: "split@1", params: { val_size: 0.2, seed: 7 } });
  });

  it("leaves a text alone that has no such key", () => {
    expect(deleteIn(FLOW, ["steps", "none"])).toBe(FLOW);
    expect(deleteIn("", ["steps"])).toBe("");
  });
});

describe("deleteItem", () => {
  it("removes one item of a list, and the list with its last item", () => {
    const after = deleteItem(FLOW, ["publish"], 0);
    expect(parse(after).publish).toEqual([{ output: "${steps.split.outputs.val}", to: "xray-val@main" }]);
    expect(deleteItem(after, ["publish"], 0)).not.toContain("publish");
    expect(deleteItem("a: [x, y, z]\n", ["a"], 1)).toBe("a: [x, z]\n");
  });
});

it("writes values on one line", () => {
  expect(inline({ lr: [0.1, 0.01] })).toBe("{lr: [0.1, 0.01]}");
  expect(inline("${each.lr}")).toBe('"${each.lr}"');
});

it("sets many keys of a mapping at once, and leaves the rest of its lines", () => {
  const block = "steps: {}\nui:\n  # by hand\n  a: [0, 0]   # first\n  b: [1, 1]\n";
  const moved = new Map<string, unknown>([
    ["a", [5, 6]],
    ["c", [7, 8]],
  ]);
  expect(setAll(block, "ui", moved)).toBe(
    "steps: {}\nui:\n  # by hand\n  a: [5, 6]   # first\n  b: [1, 1]\n  c: [7, 8]\n",
  );
  expect(setAll("ui: {a: [0, 0], b: [1, 1]}\n", "ui", moved)).toBe("ui: {a: [5, 6], b: [1, 1], c: [7, 8]}\n");
  expect(setAll("name: x\n", "ui", moved)).toBe("name: x\nui:\n  a: [5, 6]\n  c: [7, 8]\n");
});

it("renames a key where it stands", () => {
  expect(renameKey(FLOW, ["params", "epochs"], "rounds")).toBe(
    FLOW.replace("  epochs: {type: int", "  rounds: {type: int"),
  );
  expect(renameKey(FLOW, ["params", "missing"], "rounds")).toBe(FLOW);
});

it("puts new keys of the flow where people look for them, above the comments of what follows", () => {
  const text =
    "schema: millpond.flow/1\nname: x\n# The work.\nsteps:\n  a: {command: [b]}\nui: {a: [0, 0]}\n";
  expect(setIn(text, ["params", "n"], { type: "int" })).toBe(
    text.replace("# The work.", "params:\n  n: {type: int}\n# The work."),
  );
  expect(setIn(text, ["publish"], [{ to: "x@main" }])).toBe(
    text.replace("ui:", "publish:\n  - {to: x@main}\nui:"),
  );
});

it("writes what goes into an empty mapping on lines of its own", () => {
  expect(setIn("name: x\nsteps: {}\n", ["steps", "a"], { dataset: "d@main" })).toBe(
    "name: x\nsteps:\n  a:\n    dataset: d@main\n",
  );
});

it("changes one item of a list, and adds one, without touching the others", () => {
  expect(setIn(FLOW, ["publish", "1", "to"], "val@main")).toBe(
    FLOW.replace("to: xray-val@main", "to: val@main"),
  );
  expect(appendItem(FLOW, ["publish"], { to: "x@main" })).toBe(`${FLOW}  - {to: x@main}\n`);
  expect(appendItem("name: x\nui: {}\n", ["triggers"], { type: "cron" })).toBe(
    "name: x\ntriggers:\n  - {type: cron}\nui: {}\n",
  );
  const block = "triggers:\n  # nightly\n  - type: cron\n    cron: 0 3 * * *   # at three\nname: x\n";
  expect(setIn(block, ["triggers", "0", "timezone"], "Europe/Berlin")).toBe(
    block.replace("# at three\n", "# at three\n    timezone: Europe/Berlin\n"),
  );
  expect(deleteIn(block, ["triggers", "0", "cron"])).toBe(
    "triggers:\n  # nightly\n  - type: cron\nname: x\n",
  );
  expect(parse(appendItem(block, ["triggers"], { type: "webhook" })).triggers).toHaveLength(2);
  expect(appendItem("triggers: [{type: a}]\n", ["triggers"], { type: "b" })).toBe(
    "triggers: [{type: a}, {type: b}]\n",
  );
});
