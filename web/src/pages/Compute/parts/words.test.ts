import { expect, it } from "vitest";
import { aCompute } from "../../../testing/builders";
import { agentCommand, capabilityWords, healthWords, tokenFileCommand } from "./words";

it("writes the line that starts an agent", () => {
  const line = agentCommand({ server: "https://mill.example", site: "berlin", name: "", driver: "process" });
  expect(line).toBe("mill agent --server https://mill.example --token-file join-token --site berlin");
});

it("names the node and the engine where they are chosen", () => {
  const line = agentCommand({ server: "http://a:1", site: "new york", name: "gpu7", driver: "slurm" });
  expect(line).toContain("--site 'new york' --node gpu7 --driver slurm");
});

it("says what a driver can do", () => {
  const can = {
    containers: true,
    default_image: "python:3.12",
    limits_enforced: true,
    gpu_fractions: "none" as const,
    job_options: {},
    queues: false,
    services: false,
    routers: false,
    serving_problem: "",
  };
  const words = capabilityWords({
    ...can,
    gangs: false,
    mpi: true,
    ports: false,
    exec: false,
    shared_trust: false,
  });
  expect(words).toBe(
    "runs images, python:3.12 by default · limits enforced · whole GPUs only · no distributed jobs · MPI · no endpoints · no terminals · no ports · projects isolated",
  );
});

it("keeps the secret for its owner", () => {
  expect(tokenFileCommand("mill_join_x")).toBe("(umask 077; printf '%s\\n' mill_join_x > join-token)");
});

it("tells a drain that goes on from one that has come to its end", () => {
  expect(healthWords(aCompute({ health: "draining", cordoned_by: "maria" }))).toContain(
    "Running jobs finish",
  );
  expect(healthWords(aCompute({ health: "cordoned", cordoned_by: "maria" }))).toContain("No jobs run here");
});
