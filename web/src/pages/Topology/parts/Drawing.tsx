import { Box, Group, Text } from "@mantine/core";
import { useMemo } from "react";
import type { Topology } from "../../../api/shapes";
import { formatBandwidth, plural } from "../../../lib/quantity";
import { layoutOf } from "./layout";
import { LakeShape, SiteShape } from "./Places";
import { LakeWays, SiteWays } from "./Ways";

/** Sites with their volumes and computes, the lake, and the ways between them. The lists below say the same. */
export function Drawing({ topology }: { topology: Topology }) {
  const layout = useMemo(() => layoutOf(topology), [topology]);
  const { width, height } = layout;
  const words = `The lake and ${plural(layout.sites.length, "site")}, as listed below`;
  return (
    <Box>
      <Box className="topology" tabIndex={0} role="region" aria-label="Drawing of the topology">
        <svg width={width} height={height} viewBox={`0 0 ${width} ${height}`} role="img" aria-label={words}>
          <LakeWays ways={layout.lakeWays} />
          <SiteWays ways={layout.siteWays} />
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
        <Legend className="way-unknown">nothing is known yet</Legend>
      </Group>
    </Box>
  );
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
