import type { Link } from "../../../api/shapes";
import type { LakeWay, SiteWay } from "./layout";
import { declaredOf, measuredOf } from "./words";

/** From the lake to every site: that way all bytes come first. */
export function LakeWays({ ways }: { ways: readonly LakeWay[] }) {
  return ways.map(({ site, link, x1, y1, x2, y2 }) => {
    const bend = x1 + 30;
    return (
      <g key={site}>
        <path
          d={`M${x1} ${y1} C${bend} ${y1} ${bend - 10} ${y2} ${x1 + 56} ${y2} H${x2}`}
          className={lookOf(link)}
        />
        <Words link={link} x={x2 - 6} y={y2} end />
      </g>
    );
  });
}

/** Between sites, beside them. */
export function SiteWays({ ways }: { ways: readonly SiteWay[] }) {
  return ways.map(({ link, lane, x1, y1, x2, y2 }) => (
    <g key={`${link.a} ${link.b}`}>
      <path d={`M${x1} ${y1} H${lane} V${y2} H${x2}`} className={lookOf(link)} />
      <Words link={link} x={lane + 6} y={(y1 + y2) / 2} />
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
