import { expect, it } from "vitest";
import { rankWords } from "./Ranks";

const RANK = { rank: 0, state: "ended", node: "n1", exit_code: null, signal: null } as const;

it("says how a process stands, and where", () => {
  expect(rankWords(undefined)).toBe("not begun");
  expect(rankWords({ ...RANK, state: "waiting", node: "" })).toBe("waiting");
  expect(rankWords({ ...RANK, state: "running" })).toBe("running on n1");
  expect(rankWords({ ...RANK, exit_code: 3 })).toBe("exit status 3 on n1");
  expect(rankWords({ ...RANK, signal: 15 })).toBe("signal 15 on n1");
  expect(rankWords(RANK)).toBe("ended on n1");
});
