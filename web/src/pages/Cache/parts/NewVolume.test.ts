import { expect, it } from "vitest";
import { commandLineOf } from "./NewVolume";

const DRAFT = {
  name: "fast",
  path: "/mnt/fast disk",
  site: "local",
  capacityGb: "",
  tier: "standard",
  throughput: "",
  price: "",
};

it("writes the command that adds the same volume", () => {
  expect(commandLineOf(DRAFT)).toBe("mill volume add fast '/mnt/fast disk'");
  const premium = { ...DRAFT, site: "oslo", capacityGb: 500, tier: "premium", throughput: 4, price: 2.5 };
  expect(commandLineOf(premium)).toBe(
    "mill volume add fast '/mnt/fast disk' --site oslo --capacity 500GB --tier premium --tier-throughput 4 --tier-price 2.5",
  );
});
