import { expect, it } from "vitest";
import { EMPTY_SESSION, sessionCommand, sessionRequest } from "./sessionDraft";

const FULL = {
  ...EMPTY_SESSION,
  on: "gpu-small",
  cpu: 2,
  memoryGb: 1.5,
  gpus: 0.5,
  install: true,
  inputs: ["xray@main"],
};

it("asks for what was chosen, and says the same on the command line", () => {
  expect(sessionRequest(FULL)).toEqual({
    kind: "lab",
    on: "gpu-small",
    cpu: 2,
    memory_bytes: 1_500_000_000,
    gpu_hundredths: 50,
    image: null,
    install: true,
    inputs: ["xray@main"],
    workspaces: [],
    idle_seconds: 28_800,
  });
  expect(sessionCommand("my notes", FULL)).toBe(
    "mill workspace open 'my notes' --lab --on gpu-small -c 2 -m 1.5GB -g 0.5 --install -d xray@main",
  );
});

it("installs nothing into an image, and no code-server", () => {
  expect(sessionRequest({ ...FULL, image: "jupyter/base" }).install).toBe(false);
  expect(sessionRequest({ ...FULL, kind: "code" }).install).toBe(false);
  expect(sessionCommand("notes", { ...EMPTY_SESSION, kind: "shell" })).toBe(
    "mill workspace open notes --shell",
  );
});
