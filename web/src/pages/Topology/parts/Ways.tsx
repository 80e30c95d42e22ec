import type { Link } from "../../../api/shapes";
import type { LakeWay, SiteWay } from "./layout";
import { declaredOf, measuredOf } from "./words";

/** From the lake to every site: that way all bytes come first. */
export function LakeWays({ ways, narrow }: { ways: readonly LakeWay[]; narrow: boolean }) {
  return ways.map((way) => (
    <g key={way.site}>
      <path d={narrow ? alongTrunk(way) : curved(way)} className={lookOf(way.link)} />
      {narrow ? (
        <Words link={way.link} x={way.x2} y={way.y2 - 40} />
      ) : (
        <Words link={way.link} x={way.x2 - 6} y={way.y2} end />
      )}
    </g>
  ));
}

function curved({ x1, y1, x2, y2 }: LakeWay): string {
  const bend = x1 + 30;
  return `M${x1} ${y1} C${bend} ${y1} ${bend - 10} ${y2} ${x1 + 56} ${y2} H${x2}`;
}

function alongTrunk({ x1, y1, x2, y2 }: LakeWay): string {
  return `M${x1} ${y1} V${y2} H${x2}`;
}

/** Between sites, beside them. */
export function SiteWays({ ways, narrow }: { ways: readonly SiteWay[]; narrow: boolean }) {
  return ways.map(({ link, lane, x1, y1, x2, y2 }) => (
    <g key={`${link.a} ${link.b}`}>
      <path d={`M${x1} ${y1} H${lane} V${y2} H${x2}`} className={lookOf(link)} />
      {!narrow && <Words link={link} x={lane + 6} y={(y1 + y2) / 2} />}
    </g>
  ));
}

function Words({ link, x, y, end }: { link: Link | null; x: number; y: number; end?: boolean }) {
  const anchor = end ? "end" : "start";
  return (
    <text x={x} y={y - 6} textAnchor={anchor} className="topology-words">
      {link?.reason && <title>{link.reason}</title>}
      <tspan>{declaredOf(link)}</tspan>
      <tspan x={x} dy={end ? 20 : 16} className="topology-quiet">
        {measuredOf(link)}
      </tspan>
    </text>
  );
}

function lookOf(link: Link | null): string {
  if (link === null) return "way-unknown";
  return link.near ? "way-near" : "way-far";
}
