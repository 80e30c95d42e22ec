import { Group, Paper, SimpleGrid, Text, Title } from "@mantine/core";
import type { Volume } from "../../../api/shapes";
import { Status } from "../../../components/Status";
import { TextLink } from "../../../components/TextLink";
import { formatSeconds, plural } from "../../../lib/quantity";
import { VolumeActions } from "./VolumeActions";
import { VolumeSpace } from "./VolumeSpace";

export function VolumeCards({ volumes }: { volumes: Volume[] }) {
  return (
    <SimpleGrid cols={{ base: 1, md: 2 }}>
      {volumes.map((volume) => (
        <VolumeCard key={volume.id} volume={volume} />
      ))}
    </SimpleGrid>
  );
}

function VolumeCard({ volume }: { volume: Volume }) {
  return (
    <Paper withBorder p="md" component="section" data-testid="volume">
      <Group justify="space-between" mb="xs" align="flex-start">
        <div>
          <Title order={2} size="h4">
            <TextLink to="/caches/$volume" params={{ volume: volume.name }} inherit>
              {volume.name}
            </TextLink>
          </Title>
          <Text size="sm" c="dimmed" style={{ overflowWrap: "anywhere" }}>
            <span className="mono">{volume.path}</span> at {volume.site} · {volume.tier}
          </Text>
        </div>
        <Status state={volume.connected ? "connected" : "away"} />
      </Group>
      <VolumeSpace volume={volume} />
      <Group justify="space-between" mt="sm">
        <Text size="sm">
          {plural(volume.cached_commits, "Cached Commit")} · cleared after{" "}
          {formatSeconds(volume.idle_seconds)} without use
        </Text>
        <VolumeActions volume={volume} />
      </Group>
    </Paper>
  );
}
