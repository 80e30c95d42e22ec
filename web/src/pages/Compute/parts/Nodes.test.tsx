import { expect, it } from "vitest";
import type { Node } from "../../../api/shapes";
import { aCompute } from "../../../testing/builders";
import { showPage } from "../../../testing/page";
import { Nodes } from "./Nodes";

const aNode = (part: Partial<Node>): Node => ({
  name: "n1",
  cpus: 8,
  cpu_used: 0,
  memory_bytes: 64_000_000_000,
  memory_used_bytes: 0,
  gpus: 0,
  gpu_model: "",
  gpu_memory_bytes: 0,
  gpu_used_hundredths: 0,
  running: 0,
  declared: false,
  labels: {},
  ...part,
});

it("says why a node takes no jobs", async () => {
  const nodes = [
    aNode({ name: "n1" }),
    aNode({ name: "n2", closed: "drained by mary: new disk" }),
    aNode({ name: "n3", left_at: "2026-11-15T12:00:00+00:00" }),
  ];
  const page = await showPage(<Nodes compute={aCompute({ nodes })} />);
  expect(page.getByRole("row", { name: /^n1/ }).textContent).not.toContain("closed");
  expect(page.getByRole("row", { name: /^n2/ }).textContent).toContain("closed: drained by mary: new disk");
  expect(page.getByRole("row", { name: /^n3/ }).textContent).toContain("left; its jobs still run");
});
