import { expect, it } from "vitest";
import { aComputeAt, aLink, aTopology, aVolumeAt } from "../../../testing/topology";
import { type Box, layoutOf } from "./layout";
import { narrowLayoutOf } from "./narrow";

const overlap = (one: Box, other: Box) =>
  one.x < other.x + other.width &&
  other.x < one.x + one.width &&
  one.y < other.y + other.height &&
  other.y < one.y + one.height;

const inside = (box: Box, whole: Box) =>
  box.x >= whole.x &&
  box.y >= whole.y &&
  box.x + box.width <= whole.x + whole.width &&
  box.y + box.height <= whole.y + whole.height;

const THREE = aTopology(["berlin", "cloud", "oslo"], {
  volumes: [aVolumeAt("berlin", "fast"), aVolumeAt("berlin", "slow"), aVolumeAt("cloud", "disk")],
  computes: [aComputeAt("berlin", "gpu", ["fast"]), aComputeAt("oslo", "edge", ["fast"])],
  links: [aLink("berlin", "cloud"), aLink("berlin", "oslo"), aLink("cloud", "oslo"), aLink("lake", "berlin")],
});

it.each([layoutOf, narrowLayoutOf])("keeps places apart, and what stands at a site inside it", (layout) => {
  const { sites, lake, width, height } = layout(THREE);
  const all = [lake, ...sites];
  const pairs = all.flatMap((one, index) => all.slice(index + 1).map((other) => [one, other] as const));
  expect(pairs.filter(([one, other]) => overlap(one, other))).toEqual([]);
  for (const site of sites) {
    expect(inside(site, { x: 0, y: 0, width, height })).toBe(true);
    for (const item of [...site.volumes, ...site.computes]) expect(inside(item, site)).toBe(true);
  }
});

it("joins a volume with the computes of its own site that it serves", () => {
  const { sites } = layoutOf(THREE);
  expect(sites.map((site) => site.serves.length)).toEqual([1, 0, 0]);
});

it("draws a way from the lake to every site, known or not", () => {
  const ways = layoutOf(THREE).lakeWays;
  expect(ways.map(({ site, link }) => [site, link !== null])).toEqual([
    ["berlin", true],
    ["cloud", false],
    ["oslo", false],
  ]);
});

it("gives links that run beside each other lanes of their own, and reuses those that are free", () => {
  const [berlinCloud, berlinOslo, cloudOslo] = layoutOf(THREE).siteWays.map((way) => way.lane);
  expect(berlinOslo).not.toBe(berlinCloud);
  expect(cloudOslo).toBe(berlinCloud);
});

it("has room for the lake alone", () => {
  const { sites, lake, height } = layoutOf(aTopology([]));
  expect(sites).toEqual([]);
  expect(lake.y + lake.height).toBeLessThan(height);
});

it("fits a telephone, also with links between its sites", () => {
  expect(narrowLayoutOf(THREE).width).toBeLessThanOrEqual(326);
});
