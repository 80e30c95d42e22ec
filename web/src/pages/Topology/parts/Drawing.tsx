import { Box, Group, Text } from "@mantine/core";
import { useElementSize } from "@mantine/hooks";
import { useMemo } from "react";
import type { Topology } from "../../../api/shapes";
import { formatBandwidth, plural } from "../../../lib/quantity";
import { layoutOf } from "./layout";
import { narrowLayoutOf } from "./narrow";
import { LakeShape, SiteShape } from "./Places";
import { LakeWays, SiteWays } from "./Ways";

/** Sites with their volumes and computes, the lake, and the ways between them. The lists below say the same. */
export function Drawing({ topology }: { topology: Topology }) {
  const { ref, width: room } = useElementSize();
  const layout = useMemo(() => fitting(topology, room), [topology, room]);
  const { width, height } = layout;
  const words = `The lake and ${plural(layout.sites.length, "site")}, as listed below`;
  return (
    <Box ref={ref}>
      <Box className="topology" tabIndex={0} role="region" aria-label="Topology diagram">
        <svg
          className="topology-drawing"
          width={width}
          height={height}
          viewBox={`0 0 ${width} ${height}`}
          role="img"
          aria-label={words}
        >
          <LakeWays ways={layout.lakeWays} narrow={layout.narrow} />
          <SiteWays ways={layout.siteWays} narrow={layout.narrow} />
          <LakeShape box={layout.lake} />
          {layout.sites.map((site) => (
            <SiteShape key={site.name} site={site} />
          ))}
        </svg>
      </Box>
      <Group gap="lg" mt="xs">
        <Legend className="way-near">
          near: at least {formatBandwidth(topology.near_bits_per_second)} and at most{" "}
          {topology.near_latency_ms} ms
        </Legend>
        <Legend className="way-far">other links</Legend>
        <Legend className="way-unknown">unknown</Legend>
      </Group>
    </Box>
  );
}

/** A little too wide is drawn a little smaller; more than that, another way. */
const SMALLEST = 0.85;

function fitting(topology: Topology, room: number) {
  const wide = layoutOf(topology);
  return room === 0 || wide.width * SMALLEST <= room ? wide : narrowLayoutOf(topology);
}

function Legend({ className, children }: { className: string; children: React.ReactNode }) {
  return (
    <Group gap={6} wrap="nowrap">
      <svg width="28" height="8" aria-hidden="true">
        <path d="M0 4 H28" className={className} />
      </svg>
      <Text size="xs" c="dimmed">
        {children}
      </Text>
    </Group>
  );
}
