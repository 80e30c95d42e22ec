import { expect, test } from "vitest";
import type { LineageNode } from "../../api/shapes";
import { expand, merge } from "./merge";

function aNode(id: string, part: Partial<LineageNode> = {}): LineageNode {
  const rest = { project: "default", is_gone: false, more_up: false, more_down: false };
  return { key: `run:${id}`, kind: "run", id, level: 0, ...rest, ...part };
}

const FIRST = {
  root: "run:a",
  nodes: [aNode("a"), aNode("b", { level: 1, more_down: true, more_up: true })],
  edges: [{ source: "run:a", target: "run:b", role: "made" as const }],
  is_cut: false,
};

test("an answer about a node adds its neighbours a step further, and settles whether there are more", () => {
  const about = {
    root: "run:b",
    nodes: [aNode("b", { more_down: false }), aNode("c", { level: 1 }), aNode("a", { level: -1 })],
    edges: [
      { source: "run:b", target: "run:c", role: "made" as const },
      { source: "run:a", target: "run:b", role: "made" as const },
    ],
    is_cut: false,
  };
  const found = merge([
    { graph: FIRST, expansion: null },
    { graph: about, expansion: { key: "run:b", root: { run: "b" }, side: "down", width: 20 } },
  ]);
  expect(found.root).toBe("run:a");
  expect(found.nodes.map((node) => [node.id, node.level, node.more_down, node.more_up])).toEqual([
    ["a", 0, false, false],
    ["b", 1, false, true],
    ["c", 2, false, false],
  ]);
  expect(found.edges).toHaveLength(2);
});

test("asking once more asks for more, up to a bound", () => {
  const node = aNode("b");
  let asked = expand(expand([], node, "down"), node, "down");
  expect(asked).toEqual([{ key: "run:b", root: { run: "b" }, side: "down", width: 100 }]);
  asked = expand(expand(expand(asked, node, "down"), node, "down"), node, "up");
  expect(asked.map((one) => one.width)).toEqual([500, 20]);
});
