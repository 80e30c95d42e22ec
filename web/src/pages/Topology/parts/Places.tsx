import type { TopologyCompute, TopologyVolume } from "../../../api/shapes";
import { type Box, middle, type PlacedSite, type Way } from "./layout";
import { fillsOf, stockOf, strengthOf } from "./words";

/** Letters that fit into a box of the drawing; whole names stand in the lists. */
const FIT = 26;

export function LakeShape({ box }: { box: Box }) {
  return (
    <g>
      <rect {...rectOf(box)} rx={24} className="topology-lake" />
      <text x={box.x + box.width / 2} y={middle(box) + 5} textAnchor="middle" className="topology-name">
        Lake
      </text>
    </g>
  );
}

export function SiteShape({ site }: { site: PlacedSite }) {
  const empty = site.volumes.length + site.computes.length === 0;
  return (
    <g>
      <rect {...rectOf(site)} rx={10} className="topology-site" />
      <text x={site.x + 14} y={site.y + 24} className="topology-name">
        {shortened(site.name, 40)}
      </text>
      {empty && (
        <text x={site.x + 14} y={site.y + 56} className="topology-words topology-quiet">
          No volumes or computes yet
        </text>
      )}
      {site.serves.map((way) => (
        <path key={`${way.y1} ${way.y2}`} d={pathOf(way)} className="way-near" />
      ))}
      {site.volumes.map((volume) => (
        <VolumeShape key={volume.item.volume.id} box={volume} item={volume.item} />
      ))}
      {site.computes.map((compute) => (
        <ComputeShape key={compute.item.name} box={compute} item={compute.item} />
      ))}
    </g>
  );
}

/** Straight from column to column; around, where the boxes stand below each other. */
function pathOf({ x1, y1, x2, y2 }: Way): string {
  return x1 === x2 ? `M${x1} ${y1} h12 V${y2} H${x2}` : `M${x1} ${y1} L${x2} ${y2}`;
}

function VolumeShape({ box, item }: { box: Box; item: TopologyVolume }) {
  const { volume } = item;
  const share = volume.capacity_bytes > 0 ? Math.min(1, volume.used_bytes / volume.capacity_bytes) : 0;
  const bar = box.width - 20;
  return (
    <g>
      <title>{`Volume ${volume.name}, ${volume.tier}: ${stockOf(item)}`}</title>
      <rect {...rectOf(box)} rx={6} className="topology-item" data-away={!volume.connected || undefined} />
      <text x={box.x + 10} y={box.y + 19} className="topology-words topology-strong">
        {shortened(volume.name, FIT)}
      </text>
      <text x={box.x + 10} y={box.y + 35} className="topology-words topology-quiet">
        {fillsOf(item) ?? stockOf(item)}
      </text>
      <rect x={box.x + 10} y={box.y + 42} width={bar} height={5} rx={2} className="topology-bar" />
      <rect x={box.x + 10} y={box.y + 42} width={bar * share} height={5} rx={2} className="topology-used" />
    </g>
  );
}

function ComputeShape({ box, item }: { box: Box; item: TopologyCompute }) {
  return (
    <g>
      <title>{`Compute ${item.name}: ${strengthOf(item)}`}</title>
      <rect {...rectOf(box)} rx={6} className="topology-item" data-away={!item.connected || undefined} />
      <text x={box.x + 10} y={box.y + 23} className="topology-words topology-strong">
        {shortened(item.name, FIT)}
      </text>
      <text x={box.x + 10} y={box.y + 41} className="topology-words topology-quiet">
        {strengthOf(item)}
      </text>
    </g>
  );
}

function rectOf({ x, y, width, height }: Box) {
  return { x, y, width, height };
}

function shortened(name: string, letters: number): string {
  return name.length > letters ? `${name.slice(0, letters - 1)}…` : name;
}
