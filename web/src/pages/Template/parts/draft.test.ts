import { expect, it } from "vitest";
import { aTemplate } from "../../../testing/builders";
import { commandLineOf, draftOf, NEW_TEMPLATE, requestOf } from "./draft";

const GPU_REAL = aTemplate({
  compute: "dgx",
  gpus: 1,
  cpu: 8,
  memory_bytes: 32e9,
  gpu_type: "A100",
  image: "torch:2",
  env: { A: "1", B: "2" },
  price_per_hour: 2.5,
});

it("sends what was read", () => {
  const { name: _, created_at, created_by, changed_at, changed_by, ...spec } = GPU_REAL;
  expect(requestOf(draftOf(GPU_REAL))).toEqual(spec);
});

it("writes the command that creates the same template", () => {
  expect(
    commandLineOf("create", { ...NEW_TEMPLATE, name: "gpu-real", compute: "dgx", gpus: 1, memoryGb: 32 }),
  ).toBe("mill template create gpu-real --compute dgx --gpu 1 --memory 32GB");
});

it("writes only what changed, and clears what was removed", () => {
  const before = draftOf(GPU_REAL);
  expect(commandLineOf("update", before, before)).toBe("mill template update gpu-real");
  const draft = { ...before, image: "", compute: null, pricePerHour: 3, env: ["B=2"] };
  expect(commandLineOf("update", draft, before)).toBe(
    "mill template update gpu-real --clear compute --clear image --clear env --env B=2 --price-per-hour 3",
  );
});
