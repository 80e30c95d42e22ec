import { expect, test } from "vitest";
import { aSearch } from "../../../testing/searches";
import { draftOf, EMPTY_DRAFT, fileOf, NEW_PARAMETER, requestOf, valuesOf, wordsOf } from "./searchDraft";

test("values are numbers, truths or texts", () => {
  expect(valuesOf("16, 1e-3, adam,, true, 007, -2")).toEqual([16, 0.001, "adam", true, "007", -2]);
});

test("placeholders of parameters need no shell, anything else that does gets one", () => {
  expect(wordsOf("python train.py --lr {lr} 'two words'", ["lr"])).toEqual([
    "python",
    "train.py",
    "--lr",
    "{lr}",
    "two words",
  ]);
  expect(wordsOf("python train.py --lr {lr} | tee log", ["lr"])).toEqual([
    "sh",
    "-c",
    "python train.py --lr {lr} | tee log",
  ]);
  expect(wordsOf("python 'train.py", [])).toBeNull();
});

test("what was filled in is what is asked for", () => {
  const asked = requestOf({
    ...EMPTY_DRAFT,
    command: "python train.py --lr {lr}",
    inputs: ["xray"],
    gpus: 0.5,
    parameters: [
      { ...NEW_PARAMETER, name: "lr", kind: "range", min: 1e-5, max: 0.1, log: true },
      { ...NEW_PARAMETER, name: "layers", kind: "range", min: 1, max: 8, whole: true },
      { ...NEW_PARAMETER, name: "opt", values: "adam, sgd" },
      NEW_PARAMETER,
    ],
    objectives: [{ metric: "val_loss", direction: "minimize", kept: {} }],
    prunes: true,
    maxTrials: 12,
  });
  expect(asked).toMatchObject({
    job: { command: ["python", "train.py", "--lr", "{lr}"], inputs: ["xray"], gpu_hundredths: 50 },
    parameters: [
      { name: "lr", min: 1e-5, max: 0.1, log: true, type: "float" },
      { name: "layers", min: 1, max: 8, type: "int" },
      { name: "opt", values: ["adam", "sgd"] },
    ],
    command_grid: false,
    objectives: [{ metric: "val_loss", direction: "minimize" }],
    pruning: { min_step: 1, factor: 3 },
    max_trials: 12,
    parallel: 2,
  });
});

test("without a parameter, the command's own lists are the grid", () => {
  expect(requestOf({ ...EMPTY_DRAFT, command: "python t.py --lr 0.1,0.01" }).command_grid).toBe(true);
});

test("a search from another asks for the same, with all of its job", () => {
  const search = aSearch({ max_failed: 3, seed: 7 });
  const asked = requestOf(draftOf(search));
  expect(asked.job).toEqual(search.job);
  expect(asked).toMatchObject({ name: "lr-sweep", max_failed: 3, seed: 7, max_trials: 20, method: "tpe" });
  expect(asked.parameters).toMatchObject([{ name: "lr", min: 1e-5, max: 0.1, log: true, type: "float" }]);
});

test("the file says the same as the form", () => {
  const text = fileOf({
    ...EMPTY_DRAFT,
    command: "python train.py --lr {lr}",
    parameters: [{ ...NEW_PARAMETER, name: "lr", values: "0.1, 0.01" }],
    objectives: [{ metric: "loss", direction: "maximize", kept: {} }],
  });
  expect(text).toContain("command: python train.py --lr {lr}");
  expect(text).toContain("objective:\n  metric: loss\n  direction: maximize");
});
