import { expect, it } from "vitest";
import { filesPlace, rememberedPlace } from "./places";

const COMMIT = "a".repeat(64);

it("reads where files of a step lie", () => {
  expect(filesPlace(`default/.outputs@${COMMIT}:model`)).toEqual({
    project: "default",
    dataset: ".outputs",
    commit: COMMIT,
    path: "model",
  });
  expect(filesPlace(`default/xray@${COMMIT}`)?.path).toBe("");
  expect(filesPlace("default/xray@main")).toBeNull();
  expect(filesPlace(3)).toBeNull();
});

it("reads which run something is remembered from", () => {
  expect(rememberedPlace("words#2/show[0]")).toEqual({ run: "words#2", step: "show" });
  expect(rememberedPlace("words#12/join")).toEqual({ run: "words#12", step: "join" });
});
