import { Alert, Stack, Text } from "@mantine/core";
import { IconAlertTriangle } from "@tabler/icons-react";
import type { Volume } from "../../../api/shapes";
import { Capacity } from "../../../components/Capacity";
import { formatBytes } from "../../../lib/quantity";

/** How full a volume is: bytes, inodes where they can run out, and what is not Millpond's. */
export function VolumeSpace({ volume }: { volume: Volume }) {
  return (
    <Stack gap="xs">
      {volume.problem && (
        <Alert color="red" icon={<IconAlertTriangle />} title={volume.problem} role="alert">
          It is used again by itself once the cause is gone.
        </Alert>
      )}
      <Capacity
        used={volume.used_bytes}
        filling={volume.filling_bytes}
        reserved={volume.reserve_bytes}
        free={volume.free_bytes}
        total={volume.capacity_bytes}
      />
      <Text size="sm" c="dimmed">
        {diskOf(volume).join(" ")}
      </Text>
    </Stack>
  );
}

/** What the agent measured, in sentences. */
export function diskOf(volume: Volume): string[] {
  const { foreign_bytes, leftover_bytes, disk_free_bytes, disk_total_bytes, inodes_total, inodes_free } =
    volume;
  const said: string[] = [];
  if (disk_free_bytes != null && disk_total_bytes != null) {
    said.push(`The disk: ${formatBytes(disk_free_bytes)} free of ${formatBytes(disk_total_bytes)}.`);
  }
  if (foreign_bytes) said.push(`${formatBytes(foreign_bytes)} are other files, never touched.`);
  if (leftover_bytes) {
    said.push(`${formatBytes(leftover_bytes)} of evicted commits go when nobody has them open any more.`);
  }
  if (inodes_total != null && inodes_free != null) {
    const [free, total] = [inodes_free, inodes_total].map((value) => value.toLocaleString("en"));
    said.push(
      `Inodes: ${free} free of ${total}, ${volume.used_inodes.toLocaleString("en")} by cached commits.`,
    );
  }
  return said;
}
