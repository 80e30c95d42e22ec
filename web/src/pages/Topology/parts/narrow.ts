/** The drawing on a telephone: the lake above, sites below each other along one trunk, and in each the volumes above the
 * computes that they serve. */
import type { Topology } from "../../../api/shapes";
import {
  type Box,
  ITEM,
  itemsAt,
  type LakeWay,
  type Layout,
  linkTo,
  middle,
  type PlacedSite,
  servesIt,
  waysBetween,
} from "./layout";

const EDGE = 4;
const TRUNK = EDGE + 12;
const LEFT = EDGE + 26;
const LAKE = { x: EDGE, y: EDGE, width: 110, height: 40 } as const;
/** Above each site, for what is said of its way from the lake. */
const WORDS = 52;
const SITE_HEAD = 36;
const PADDING = 12;
/** Beside the boxes of a site, for the lines between them. */
const MARGIN = 16;
const LANE = 14;
const SITE_WIDTH = ITEM.width + 2 * PADDING + MARGIN;

export function narrowLayoutOf(topology: Topology): Layout {
  const sites = placeSites(topology);
  const last = sites.at(-1);
  const right = LEFT + SITE_WIDTH;
  const { ways: siteWays, lanes } = waysBetween(topology.links, sites, right, LANE);
  return {
    width: right + EDGE + lanes * LANE,
    height: last ? last.y + last.height + EDGE : LAKE.y + LAKE.height + EDGE,
    lake: LAKE,
    sites,
    lakeWays: sites.map((site) => wayFromLake(topology, site)),
    siteWays,
    narrow: true,
  };
}

function placeSites(topology: Topology): PlacedSite[] {
  let y = LAKE.y + LAKE.height + WORDS;
  return topology.sites.map(({ name }) => {
    const site = placeSite(topology, name, y);
    y += site.height + WORDS;
    return site;
  });
}

function placeSite(topology: Topology, name: string, y: number): PlacedSite {
  const step = ITEM.height + ITEM.gap;
  const here = { x: LEFT + PADDING, y: y + SITE_HEAD };
  const volumes = itemsAt(
    topology.volumes.filter(({ volume }) => volume.site === name),
    here,
  );
  const computes = itemsAt(
    topology.computes.filter((compute) => compute.site === name),
    { x: here.x, y: here.y + volumes.length * step },
  );
  const rows = Math.max(volumes.length + computes.length, 1);
  const height = SITE_HEAD + rows * step - ITEM.gap + PADDING;
  const serves = computes.flatMap((compute) =>
    volumes.filter((volume) => servesIt(volume.item, compute.item)).map((volume) => between(volume, compute)),
  );
  return { name, x: LEFT, y, width: SITE_WIDTH, height, volumes, computes, serves };
}

function between(volume: Box, compute: Box) {
  const x = volume.x + volume.width;
  return { x1: x, y1: middle(volume), x2: x, y2: middle(compute) };
}

function wayFromLake(topology: Topology, site: PlacedSite): LakeWay {
  return {
    site: site.name,
    link: linkTo(site.name, topology.links),
    x1: TRUNK,
    y1: LAKE.y + LAKE.height,
    x2: site.x,
    y2: site.y + SITE_HEAD / 2,
  };
}
