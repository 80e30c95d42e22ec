import { expect, it, vi } from "vitest";
import { batching } from "./batching";

it("sends what is asked at the same moment together, and splits the answer", async () => {
  const send = vi.fn(async (_: string, keys: string[]) => keys.map((key) => key.toUpperCase()));
  const ask = batching(
    send,
    (found, keys) => found.filter((one) => keys.includes(one.toLowerCase())),
    () => 3,
  );
  const answers = await Promise.all([ask("a", ["x", "y"]), ask("a", ["y", "z"]), ask("b", ["x"])]);
  expect(answers).toEqual([["X", "Y"], ["Y", "Z"], ["X"]]);
  expect(send.mock.calls).toEqual([
    ["a", ["x", "y"]],
    ["a", ["y", "z"]],
    ["b", ["x"]],
  ]);
  await Promise.all([ask("a", ["x"]), ask("a", ["y"]), ask("a", ["z"])]);
  expect(send.mock.lastCall).toEqual(["a", ["x", "y", "z"]]);
});

it("lets all of a part fail together", async () => {
  const ask = batching(
    async (): Promise<string[]> => {
      throw new Error("away");
    },
    (found) => found,
    () => 10,
  );
  const answers = await Promise.allSettled([ask("a", ["x"]), ask("a", ["y"])]);
  expect(answers.map((answer) => answer.status)).toEqual(["rejected", "rejected"]);
});
