import { expect, it } from "vitest";
import { agentCommand, tokenFileCommand } from "./words";

it("writes the line that starts an agent", () => {
  const line = agentCommand({ server: "https://mill.example", site: "berlin", name: "", driver: "process" });
  expect(line).toBe("mill agent --server https://mill.example --token-file join-token --site berlin");
});

it("names the node and the engine where they are chosen", () => {
  const line = agentCommand({ server: "http://a:1", site: "new york", name: "gpu7", driver: "slurm" });
  expect(line).toContain("--site 'new york' --node gpu7 --driver slurm");
});

it("keeps the secret for its owner", () => {
  expect(tokenFileCommand("mill_join_x")).toBe("(umask 077; printf '%s\\n' mill_join_x > join-token)");
});
