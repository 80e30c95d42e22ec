import { expect, it } from "vitest";
import { aVolume } from "../../../testing/builders";
import { changesOf, commandLineOf, draftOf } from "./volumeDraft";

const VOLUME = aVolume({ capacity_bytes: 1_234_567_890_123, reserve_bytes: 0, idle_seconds: 86_400 });

it("asks for nothing but what was changed, and writes the command that does the same", () => {
  const draft = draftOf(VOLUME);
  expect(changesOf(VOLUME, draft)).toEqual({});
  const asked = {
    ...draft,
    capacityGb: 2000,
    reserveGb: 50,
    idleHours: 8,
    low: 60,
    tier: "premium",
    price: 2.5,
  };
  expect(changesOf(VOLUME, asked)).toEqual({
    capacity_bytes: 2e12,
    reserve_bytes: 5e10,
    idle_seconds: 28_800,
    low_percent: 60,
    tier: "premium",
    tier_price: 2.5,
  });
  expect(commandLineOf(VOLUME, asked)).toBe(
    `mill volume set ${VOLUME.name} --capacity 2000GB --reserve 50GB --idle 8h --low 60 --tier premium --tier-price 2.5`,
  );
  expect(changesOf(VOLUME, { ...draft, capacityGb: "" }), "an empty field changes nothing").toEqual({});
});
