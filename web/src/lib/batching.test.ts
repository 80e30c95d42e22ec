import { expect, it, vi } from "vitest";
import { atMost, batching } from "./batching";

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

it("does only so much at once, in order", async () => {
  const inTurn = atMost(2);
  const done: number[] = [];
  let active = 0;
  let most = 0;
  const task = (number: number) => async () => {
    active++;
    most = Math.max(most, active);
    await Promise.resolve();
    active--;
    done.push(number);
    if (number === 2) throw new Error("failed");
  };
  await Promise.allSettled([1, 2, 3, 4].map((number) => inTurn(task(number))));
  expect([most, done]).toEqual([2, [1, 2, 3, 4]]);
});
