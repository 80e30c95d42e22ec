import { expect, it } from "vitest";
import { aProject } from "../../../testing/builders";
import { commandLineOf, NO_SETTINGS, requestOf, settingsOf } from "./settings";

const VISION = aProject({
  quota: 4,
  own_weight: null,
  limit: 8,
  over_quota: false,
  train_affinity: { gpu: "a100" },
  interactive_time: 43_200,
});

it("sends what was read", () => {
  const { quota, weight, limit, over_quota, train_affinity, interactive_time } = requestOf(
    settingsOf(VISION),
  );
  expect({ quota, weight, limit, over_quota, train_affinity, interactive_time }).toEqual({
    quota: 4,
    weight: null,
    limit: 8,
    over_quota: false,
    train_affinity: { gpu: "a100" },
    interactive_time: 43_200,
  });
});

it("writes the command that creates the same project", () => {
  const draft = { ...NO_SETTINGS, quota: 4, trainAffinity: ["gpu=a100"], interactiveTime: "12h" };
  expect(commandLineOf("create", "vision", draft)).toBe(
    "mill project create vision --quota 4 --train-affinity gpu=a100 --interactive-time 12h",
  );
});

it("writes only what changed, and how to remove a setting", () => {
  const before = settingsOf(VISION);
  expect(commandLineOf("update", "vision", before, before)).toBe("mill project update vision");
  const draft = { ...before, limit: "", overQuota: true, trainAffinity: [], interactiveTime: "" };
  expect(commandLineOf("update", "vision", draft, before)).toBe(
    "mill project update vision --limit none --over-quota --train-affinity none --interactive-time 0",
  );
});
