import { Alert, Group, Paper, SimpleGrid, Text, Title } from "@mantine/core";
import { IconAlertTriangle } from "@tabler/icons-react";
import type { Volume } from "../../../api/shapes";
import { Capacity } from "../../../components/Capacity";
import { Status } from "../../../components/Status";
import { formatSeconds, plural } from "../../../lib/quantity";
import { VolumeActions } from "./VolumeActions";

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
      <Group justify="space-between" mb="xs">
        <div>
          <Title order={2} size="h4">
            {volume.name}
          </Title>
          <Text size="sm" c="dimmed">
            <span className="mono">{volume.path}</span> at {volume.site}
          </Text>
        </div>
        <Status state={volume.connected ? "connected" : "away"} />
      </Group>
      {volume.problem && (
        <Alert color="red" icon={<IconAlertTriangle />} mb="sm" title={volume.problem} role="alert" />
      )}
      <Capacity
        used={volume.used_bytes}
        reserved={volume.reserve_bytes}
        free={volume.free_bytes}
        total={volume.capacity_bytes}
      />
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
