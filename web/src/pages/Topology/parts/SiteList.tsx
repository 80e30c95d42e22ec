import { Group, List, Paper, SimpleGrid, Stack, Text, Title } from "@mantine/core";
import type { Topology, TopologyCompute, TopologyVolume } from "../../../api/shapes";
import { Status } from "../../../components/Status";
import { TextLink } from "../../../components/TextLink";
import { formatRate } from "../../../lib/quantity";
import { LimitButton } from "./LimitForm";
import { SiteAddress } from "./SiteAddress";
import { RemoveSite } from "./SiteForms";
import { SiteLake } from "./SiteLake";
import { SitePlacements } from "./SitePlacements";
import { fillsOf, stockOf, strengthOf } from "./words";

/** The drawing in words: every site with what stands there. */
export function SiteList({ topology }: { topology: Topology }) {
  return (
    <SimpleGrid cols={{ base: 1, md: 2 }}>
      {topology.sites.map((site) => {
        const volumes = topology.volumes.filter(({ volume }) => volume.site === site.name);
        const computes = topology.computes.filter((compute) => compute.site === site.name);
        return (
          <Paper key={site.id} withBorder p="md" component="section" aria-label={`Site ${site.name}`}>
            <Group justify="space-between" mb="xs">
              <Title order={3} size="h5">
                {site.name}
              </Title>
              {volumes.length + computes.length === 0 && <RemoveSite site={site.name} />}
            </Group>
            <Stack gap="sm">
              {volumes.map((item) => (
                <VolumeWords key={item.volume.id} item={item} />
              ))}
              {computes.map((item) => (
                <ComputeWords key={item.name} item={item} />
              ))}
              {volumes.length + computes.length === 0 && (
                <Text size="sm" c="dimmed">
                  No volumes or computes yet.
                </Text>
              )}
              {/* Also of a site where nothing stands yet: what is set there holds for what comes. */}
              <SiteAddress site={site} />
              <SiteLake site={site} />
              <SitePlacements site={site} />
              <Group gap="xs">
                <Text size="sm" c="dimmed">
                  {site.limit ? `Fills are limited to ${site.limit.text}` : "Fills have no limit"}
                </Text>
                <LimitButton of={{ site: site.name }} limit={site.limit} />
              </Group>
            </Stack>
          </Paper>
        );
      })}
    </SimpleGrid>
  );
}

function VolumeWords({ item }: { item: TopologyVolume }) {
  const { volume } = item;
  const fills = fillsOf(item);
  return (
    <div>
      <Group gap="xs">
        <Text size="sm" component="div">
          Volume{" "}
          <TextLink to="/caches/$volume" params={{ volume: volume.name }} size="sm" fw={600}>
            {volume.name}
          </TextLink>
        </Text>
        <Status state={volume.connected ? "connected" : "away"} size="sm" />
      </Group>
      <Text size="sm" c="dimmed">
        {volume.tier} · {stockOf(item)}
        {fills && ` · ${fills}`}
      </Text>
      {item.bandwidth.map(({ source, bytes_per_second }) => (
        <Text key={source} size="sm" c="dimmed">
          {formatRate(bytes_per_second)} measured from {source === "lake" ? "the lake" : source}
        </Text>
      ))}
    </div>
  );
}

function ComputeWords({ item }: { item: TopologyCompute }) {
  return (
    <div>
      <Group gap="xs">
        <Text size="sm" component="div">
          Compute{" "}
          <TextLink to="/compute" size="sm" fw={600}>
            {item.name}
          </TextLink>
        </Text>
        <Status state={item.connected ? "connected" : "away"} size="sm" />
      </Group>
      <Text size="sm" c="dimmed">
        {item.driver} · {strengthOf(item)}
      </Text>
      <List size="sm" spacing={2} c="dimmed">
        {item.volumes.map((near) => (
          <List.Item key={near.volume}>
            {near.serves ? `uses ${near.volume}` : `does not use ${near.volume}`}: {near.reason}
          </List.Item>
        ))}
      </List>
    </div>
  );
}
