import { expect, it } from "vitest";
import { parse } from "yaml";
import { readGraph, wouldCircle } from "./graph";
import {
  addStep,
  connect,
  disconnect,
  freeName,
  moveStep,
  removeStep,
  renameOutput,
  renameParam,
  renameStep,
} from "./steps";
import { fits } from "./types";

const FLOW = `steps:
  data: {dataset: xray@main}
  data2: {dataset: other@main}
  split:
    component: split@1            # keep me
    inputs: {data: "\${steps.data}"}
  train:
    component: resnet50@1
    inputs:
      images: \${steps.split.outputs.train}
    params: {note: "from \${steps.split.outputs.rows}"}
    after: [split, data2]
    when: \${steps.split.outputs.rows > 3 and steps.data2.outputs.x == 1}
publish:
  - {output: "\${steps.split.outputs.train}", to: a@main}
ui: {data: [0, 0], split: [200, 10]}
`;

it("reads steps, positions and every kind of edge", () => {
  const graph = readGraph(FLOW);
  expect(graph.steps.map((step) => [step.name, step.kind, step.position])).toEqual([
    ["data", "dataset", [0, 0]],
    ["data2", "dataset", undefined],
    ["split", "component", [200, 10]],
    ["train", "component", undefined],
  ]);
  expect(graph.edges.map((edge) => [edge.from, edge.output, edge.to, edge.input, edge.kind])).toEqual([
    ["data", undefined, "split", "data", "data"],
    ["split", "train", "train", "images", "data"],
    ["split", "rows", "train", undefined, "value"],
    ["split", "rows", "train", undefined, "condition"],
    ["data2", "x", "train", undefined, "condition"],
    ["split", undefined, "train", undefined, "order"],
    ["data2", undefined, "train", undefined, "order"],
  ]);
  expect(wouldCircle(graph, "train", "data")).toBe(true);
  expect(wouldCircle(graph, "data", "train")).toBe(false);
});

it("says why a text is no YAML, and shows no graph", () => {
  const graph = readGraph("steps: {a: [");
  expect(graph.steps).toEqual([]);
  expect(graph.error).toBeTruthy();
});

it("renames a step wherever it is named, and nothing that only begins so", () => {
  const after = renameStep(FLOW, "data", "images");
  expect(parse(after)).toEqual(
    parse(
      FLOW.replace("  data: {", "  images: {")
        .replace('"${steps.data}"', '"${steps.images}"')
        .replace("{data: [0", "{images: [0"),
    ),
  );
  const split = parse(renameStep(FLOW, "split", "parts"));
  expect(split.steps.train).toEqual({
    component: "resnet50@1",
    inputs: { images: "${steps.parts.outputs.train}" },
    params: { note: "from ${steps.parts.outputs.rows}" },
    after: ["parts", "data2"],
    when: "${steps.parts.outputs.rows > 3 and steps.data2.outputs.x == 1}",
  });
  expect(split.publish[0].output).toBe("${steps.parts.outputs.train}");
  expect(split.ui).toEqual({ data: [0, 0], parts: [200, 10] });
  expect(renameStep(FLOW, "split", "parts")).toContain("# keep me");
});

it("removes a step with everything that others took from it", () => {
  const after = parse(removeStep(FLOW, "split"));
  expect(after).toEqual({
    steps: {
      data: { dataset: "xray@main" },
      data2: { dataset: "other@main" },
      train: { component: "resnet50@1", after: ["data2"] },
    },
    ui: { data: [0, 0] },
  });
});

it("adds, moves, connects and disconnects steps", () => {
  let text = addStep(FLOW, "check", { component: "evaluate@1" }, [10.4, 20]);
  text = connect(text, { step: "train", output: "model", all: true }, { step: "check", input: "models" });
  text = connect(text, { step: "data" }, { step: "check", input: "gold" });
  text = moveStep(text, "check", [30, 40]);
  expect(parse(text).steps.check.inputs).toEqual({
    models: "${steps.train[*].outputs.model}",
    gold: "${steps.data}",
  });
  expect(parse(text).ui.check).toEqual([30, 40]);
  text = disconnect(text, { step: "check", input: "gold" });
  expect(parse(text).steps.check.inputs).toEqual({ models: "${steps.train[*].outputs.model}" });
});

it("makes names that are free and valid", () => {
  expect(freeName("ResNet 50", [])).toBe("resnet-50");
  expect(freeName("split", ["split", "split-2"])).toBe("split-3");
  expect(freeName("äöü", [])).toBe("step");
});

it.each([
  ["image-folder", "directory", true],
  ["directory", "image-folder", false],
  ["int", "float", true],
  ["float", "int", false],
  ["bool", "json", true],
  ["model", "json", false],
])("%s fits %s: %s", (given, wanted, answer) => expect(fits(given, wanted)).toBe(answer));

it("renames outputs and parameters wherever they are used", () => {
  const text = `params:
  n: {type: int}
  nn: {type: int}
steps:
  list:
    command: [make, "\${params.n}", "\${params.nn}"]
    outputs: {items: {type: list}, items2: {type: list}}   # two
  use:
    command: [use]
    each: {one: "\${steps.list.outputs.items}", other: "\${steps.list.outputs.items2}"}
    when: \${params.n > 1}
`;
  expect(renameOutput(text, "list", "items", "rows")).toBe(
    text.replace("{items:", "{rows:").replace("outputs.items}", "outputs.rows}"),
  );
  expect(renameParam(text, "n", "count")).toBe(
    text
      .replace("  n: {", "  count: {")
      .replace("params.n}", "params.count}")
      .replace("params.n >", "params.count >"),
  );
});

it("sees values in messages of approvals and in commands as what a step waits for", () => {
  const graph = readGraph(`steps:
  a: {command: [make], outputs: {n: {type: int}}}
  b: {approval: {message: "Is \${steps.a.outputs.n} right?"}}
  c: {command: [echo, "\${steps.a.outputs.n}"]}
`);
  expect(graph.edges.map((edge) => [edge.from, edge.output, edge.to, edge.kind])).toEqual([
    ["a", "n", "b", "value"],
    ["a", "n", "c", "value"],
  ]);
});
