import { expect, it } from "vitest";
import { commandLineOf, NO_CHANGES, requestOf, withData, withParam } from "./changes";

const LR = { key: "lr", value: 0.1 };

it("asks for nothing else while nothing was changed", () => {
  expect(requestOf(NO_CHANGES)).toEqual({ params: {}, data: [] });
  expect(commandLineOf("r1", "vision", NO_CHANGES)).toBe("mill rerun r1 --project vision");
});

it("sets parameters, and forgets one that was set back", () => {
  const changed = withParam(NO_CHANGES, LR, "0.01");
  expect(requestOf(changed).params).toEqual({ lr: "0.01" });
  expect(withParam(changed, LR, "0.1").params).toEqual({});
});

it("writes the command line that does the same", () => {
  const changed = {
    ...withData(withParam(NO_CHANGES, LR, "a b"), "vision/xray", "v2"),
    on: "gpu-real",
    name: "again",
    experiment: "x ray",
  };
  expect(commandLineOf("r1", "vision", changed)).toBe(
    "mill rerun r1 --project vision --set 'lr=a b' --data vision/xray@v2 --on gpu-real --name again --experiment 'x ray'",
  );
  expect(withData(changed, "vision/xray", null).data).toEqual({});
});
