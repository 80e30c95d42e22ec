import { expect, it } from "vitest";
import { anElastic } from "../../../testing/builders";
import { commandLineOf, draftOf, NEW_ELASTIC, requestOf } from "./elasticDraft";

const BURST = anElastic({
  site: "cloud",
  options: { region: "eu-central-1" },
  cpus: 4,
  memory_bytes: 16e9,
  gpus: 1,
  gpu_type: "A10G",
  gpu_memory_bytes: 24e9,
  labels: { zone: "a" },
  driver: "podman",
  price_per_hour: 1.2,
  minimum: 1,
  maximum: 4,
  wait_seconds: 0,
  idle_seconds: 300,
  start_seconds: 90,
  trust_all: true,
  description: "Spot machines",
});

it("sends what was read", () => {
  const request = requestOf(draftOf(BURST));
  expect(BURST).toMatchObject(request);
  expect(Object.keys(request)).toHaveLength(18);
});

it("writes the command that creates the same elastic compute", () => {
  expect(commandLineOf("create", draftOf(BURST))).toBe(
    "mill elastic create burst --provisioner aws --site cloud --gpus 1 --cpus 4 --memory 16GB --gpu-type A10G " +
      "--gpu-memory 24GB --driver podman --price-per-hour 1.2 --min 1 --max 4 --wait 0s --idle 5m --start 90s " +
      "--description 'Spot machines' -o region=eu-central-1 --label zone=a --trust-all",
  );
  expect(commandLineOf("create", NEW_ELASTIC)).toBe("mill elastic create NAME --provisioner NAME");
});

it("writes only what changed", () => {
  const before = draftOf(BURST);
  expect(commandLineOf("update", { ...before, idle: "300s" }, before)).toBe("mill elastic update burst");
  const draft = {
    ...before,
    maximum: 0,
    minimum: 0,
    memoryGb: "",
    gpuType: "",
    options: ["region=us-east-1"],
    trustAll: false,
  };
  expect(commandLineOf("update", draft, before)).toBe(
    "mill elastic update burst --memory 0GB --gpu-type '' --min 0 --max 0 -o region=us-east-1 --no-trust-all",
  );
});

it("has no command that removes an option", () => {
  const before = draftOf(BURST);
  expect(commandLineOf("update", { ...before, options: [] }, before)).toBeNull();
});
