import { expect, it } from "vitest";
import type { FlowRun, FlowStepRun } from "../../api/shapes";
import { componentsOf, dataOf, durationsOf, outputsOf, rowsOf } from "./comparing";

const step = (name: string, given: Partial<FlowStepRun>) =>
  ({ name, index: null, kind: "component", state: "succeeded", reason: "", ...given }) as FlowStepRun;
const run = (steps: FlowStepRun[]) => ({ steps }) as FlowRun;

const A = run([
  step("data", { kind: "dataset", outputs: { data: "p/xray@1" } }),
  step("train", {
    component: "resnet50@1.0.0",
    outputs: { accuracy: 0.8 },
    ready_at: "2026-01-01T00:00:00Z",
    ended_at: "2026-01-01T00:01:00Z",
  }),
]);
const B = run([
  step("data", { kind: "dataset", outputs: { data: "p/xray@2" } }),
  step("train", { index: 0, component: "resnet50@1.1.0", outputs: { accuracy: 0.9 } }),
  step("check", { kind: "command", digest: "0123456789abcdef" }),
]);

it("lays values of two runs beside each other", () => {
  expect(rowsOf({ epochs: 1, seed: 7 }, { epochs: 2, seed: 7, lr: 0.1 })).toEqual([
    { name: "epochs", a: 1, b: 2, isSame: false },
    { name: "seed", a: 7, b: 7, isSame: true },
    { name: "lr", a: undefined, b: 0.1, isSame: false },
  ]);
});

it("finds versions, data, outputs and durations by step", () => {
  expect(componentsOf(B)).toEqual({ train: "resnet50@1.1.0", check: "code 0123456789ab" });
  expect(dataOf(A)).toEqual({ data: "p/xray@1" });
  expect(outputsOf(B)).toEqual({ "train[0].accuracy": 0.9 });
  expect(durationsOf(A, B)).toEqual([{ name: "train", a: 60, b: null }]);
});
