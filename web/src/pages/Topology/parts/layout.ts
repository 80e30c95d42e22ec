/** Where everything of the drawing stands: the lake at the left, sites below each other, links between sites at the
 * right. Pure, so that it can be tested without a screen. */
import type { Link, Topology, TopologyCompute, TopologyVolume } from "../../../api/shapes";

export const LAKE = "lake";
const EDGE = 8;
const LAKE_WIDTH = 110;
const LAKE_HEIGHT = 64;
/** Room for what is said of the way from the lake to a site. */
const WAY = 190;
export const ITEM = { width: 214, height: 54, gap: 10 } as const;
const COLUMNS_GAP = 56;
const SITE_HEAD = 36;
const SITE_PADDING = 14;
const SITES_GAP = 28;
const LANE_WIDTH = 150;
export const SITE_WIDTH = 2 * ITEM.width + COLUMNS_GAP + 2 * SITE_PADDING;

export interface Box {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

export interface PlacedSite extends Box {
  readonly name: string;
  readonly volumes: readonly (Box & { readonly item: TopologyVolume })[];
  readonly computes: readonly (Box & { readonly item: TopologyCompute })[];
  /** From a volume to a compute of the same site that it serves. */
  readonly serves: readonly Way[];
}

export interface Way {
  readonly x1: number;
  readonly y1: number;
  readonly x2: number;
  readonly y2: number;
}

/** From the lake to a site; `link` is null while nothing is known of it. */
export interface LakeWay extends Way {
  readonly site: string;
  readonly link: Link | null;
}

/** Between two sites: out to `lane`, along it and back. */
export interface SiteWay extends Way {
  readonly link: Link;
  readonly lane: number;
}

export interface Layout {
  readonly width: number;
  readonly height: number;
  readonly lake: Box;
  readonly sites: readonly PlacedSite[];
  readonly lakeWays: readonly LakeWay[];
  readonly siteWays: readonly SiteWay[];
  /** For a telephone: what is said of ways stands above the sites, or in the lists alone. */
  readonly narrow: boolean;
}

export function layoutOf(topology: Topology): Layout {
  const left = EDGE + LAKE_WIDTH + WAY;
  const sites = placeSites(topology, left);
  const last = sites.at(-1);
  const height = Math.max(LAKE_HEIGHT + 2 * EDGE, last ? last.y + last.height + EDGE : 0);
  const lake = { x: EDGE, y: (height - LAKE_HEIGHT) / 2, width: LAKE_WIDTH, height: LAKE_HEIGHT };
  const right = left + SITE_WIDTH;
  const { ways: siteWays, lanes } = waysBetween(topology.links, sites, right, LANE_WIDTH);
  return {
    width: right + EDGE + lanes * LANE_WIDTH,
    height,
    lake,
    sites,
    lakeWays: sites.map((site) => wayFromLake(lake, site, topology.links)),
    siteWays,
    narrow: false,
  };
}

function placeSites(topology: Topology, x: number): PlacedSite[] {
  let y = EDGE;
  return topology.sites.map(({ name }) => {
    const site = placeSite(topology, name, x, y);
    y += site.height + SITES_GAP;
    return site;
  });
}

function placeSite(topology: Topology, name: string, x: number, y: number): PlacedSite {
  const first = { x: x + SITE_PADDING, y: y + SITE_HEAD };
  const volumes = itemsAt(
    topology.volumes.filter(({ volume }) => volume.site === name),
    first,
  );
  const computes = itemsAt(
    topology.computes.filter((compute) => compute.site === name),
    { ...first, x: first.x + ITEM.width + COLUMNS_GAP },
  );
  const rows = Math.max(volumes.length, computes.length, 1);
  const height = SITE_HEAD + rows * (ITEM.height + ITEM.gap) - ITEM.gap + SITE_PADDING;
  const serves = computes.flatMap((compute) =>
    volumes
      .filter((volume) => servesIt(volume.item, compute.item))
      .map((volume) => ({
        x1: volume.x + volume.width,
        y1: middle(volume),
        x2: compute.x,
        y2: middle(compute),
      })),
  );
  return { name, x, y, width: SITE_WIDTH, height, volumes, computes, serves };
}

/** Boxes below each other. */
export function itemsAt<Item>(items: Item[], { x, y }: { x: number; y: number }): (Box & { item: Item })[] {
  return items.map((item, row) => ({
    item,
    x,
    y: y + row * (ITEM.height + ITEM.gap),
    width: ITEM.width,
    height: ITEM.height,
  }));
}

export function servesIt(volume: TopologyVolume, compute: TopologyCompute): boolean {
  return compute.volumes.some((near) => near.volume === volume.volume.name && near.serves);
}

function wayFromLake(lake: Box, site: PlacedSite, links: Link[]): LakeWay {
  return {
    site: site.name,
    link: linkTo(site.name, links),
    x1: lake.x + lake.width,
    y1: middle(lake),
    x2: site.x,
    y2: middle(site),
  };
}

/** The link between the lake and a site, where anything is known of it. */
export function linkTo(site: string, links: Link[]): Link | null {
  return links.find(({ a, b }) => joins(a, b, LAKE, site)) ?? null;
}

/** Each way takes the innermost lane that is free along its whole height. */
export function waysBetween(
  links: Link[],
  sites: PlacedSite[],
  right: number,
  laneWidth: number,
): { ways: SiteWay[]; lanes: number } {
  const place = new Map(sites.map((site) => [site.name, site]));
  const taken: Way[][] = [];
  const ways: SiteWay[] = [];
  for (const link of links) {
    const [one, other] = [place.get(link.a), place.get(link.b)];
    if (!one || !other) continue;
    const [upper, lower] = one.y < other.y ? [one, other] : [other, one];
    const way = { x1: right, y1: middle(upper) + 8, x2: right, y2: middle(lower) - 8 };
    let lane = taken.findIndex((others) => others.every((used) => way.y1 > used.y2 || way.y2 < used.y1));
    if (lane < 0) lane = taken.push([]) - 1;
    taken[lane]?.push(way);
    ways.push({ ...way, link, lane: right + Math.min(24, laneWidth - 4) + lane * laneWidth });
  }
  return { ways, lanes: taken.length };
}

function joins(a: string, b: string, one: string, other: string): boolean {
  return (a === one && b === other) || (a === other && b === one);
}

export function middle(box: Box): number {
  return box.y + box.height / 2;
}
