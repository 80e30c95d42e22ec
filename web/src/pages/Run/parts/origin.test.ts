import { expect, it } from "vitest";
import { aRun } from "../../../testing/builders";
import { originOf } from "./origin";

it("reads what the SDK recorded", () => {
  const origin = {
    command: ["python", "train.py"],
    git: { commit: "abc", dirty: ["a.py"], diff: "x", is_diff_cut: true },
  };
  const found = originOf(aRun({ origin }));
  expect(found.command).toEqual(["python", "train.py"]);
  expect(found.git).toEqual({
    commit: "abc",
    branch: "",
    url: "",
    dirty: ["a.py"],
    diff: "x",
    isDiffCut: true,
  });
});

it("falls back on the tags of mill submit and of MLflow", () => {
  const submitted = originOf(aRun({ tags: { "git.commit": "c1", "git.dirty_files": '["a.py"]' } }));
  expect(submitted.git).toMatchObject({ commit: "c1", dirty: ["a.py"] });
  expect(originOf(aRun({ tags: { "mlflow.source.git.commit": "c2" } })).git?.commit).toBe("c2");
  expect(originOf(aRun({ tags: { "git.commit": "c1", "git.dirty_files": "no list" } })).git?.dirty).toEqual(
    [],
  );
});

it("takes nothing on trust", () => {
  const odd = { command: "rm -rf /", packages: [1, "a==1", null], python: { version: 3 }, git: "none" };
  const found = originOf(aRun({ origin: odd as never }));
  expect(found).toMatchObject({ command: [], packages: ["a==1"], python: "", git: null });
});
