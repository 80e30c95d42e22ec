import { expect, it } from "vitest";
import type { LibraryComponent } from "../../../api/shapes";
import { readGraph } from "../../../lib/flow/graph";
import { inputFor, inputName, whyNot, whyNotAfter } from "./connecting";

const port = (name: string, type: string, required = true) => ({ name, type, required, help: "" });
const component = (
  name: string,
  inputs: LibraryComponent["inputs"],
  outputs: LibraryComponent["outputs"],
) => ({
  name,
  version: "1.0.0",
  title: name,
  category: "transform",
  description: "",
  origin: "built-in",
  checkpoint: false,
  remember: true,
  params: [],
  inputs,
  outputs,
});
const LIBRARY: LibraryComponent[] = [
  component("split", [port("data", "directory")], [port("train", "image-folder"), port("count", "int")]),
  component(
    "train",
    [port("images", "image-folder"), port("start", "model", false)],
    [port("model", "model")],
  ),
];
const GRAPH = readGraph(`steps:
  data: {dataset: xray@main}
  split: {component: split@1, inputs: {data: "\${steps.data}"}}
  train: {component: train@1, inputs: {images: "\${steps.split.outputs.train}"}}
  run: {command: [a], inputs: {train: "\${steps.split.outputs.train}"}}
  ask: {approval: {}}
`);

it.each([
  ["data", "", "train", "images", null],
  ["split", "train", "train", "images", null],
  ["split", "train", "run", "more", null],
  ["split", "train", "train", "start", "train takes a model as start; train of split is an image-folder."],
  ["split", "count", "run", "count", /^count is a value \(int\), not files\./],
  ["train", "model", "split", "data", /circle/],
  ["train", "model", "train", "start", /its own output/],
  ["train", "model", "ask", "x", "This step has no such port."],
])("%s.%s → %s.%s: %s", (from, output, to, input, why) => {
  const said = whyNot(GRAPH, LIBRARY, { from, output, to, input });
  if (why === null) expect(said).toBeNull();
  else expect(said).toMatch(why);
});

it("orders steps that do not wait for each other already", () => {
  expect(whyNotAfter(GRAPH, "ask", "run")).toBeNull();
  expect(whyNotAfter(GRAPH, "train", "split")).toMatch(/circle/);
  expect(whyNotAfter(GRAPH, "split", "data")).toBe("A dataset waits for nothing.");
});

it("finds the input that something dropped on a step goes to", () => {
  expect(inputFor(GRAPH, LIBRARY, { from: "train", output: "model", to: "run" })).toBe("model");
  expect(inputFor(GRAPH, LIBRARY, { from: "split", output: "train", to: "run" })).toBe("train_2");
  expect(inputFor(GRAPH, LIBRARY, { from: "data", output: "", to: "train" })).toBe("start");
  expect(inputName({ from: "my-data", output: "" })).toBe("my_data");
});
