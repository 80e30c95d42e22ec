import { Group, Progress, Text } from "@mantine/core";
import { formatBytes } from "../lib/quantity";

interface Props {
  used: number;
  reserved: number;
  free: number;
  total: number;
}

/** Used, reserved and free of one volume, as a bar and in words. */
export function Capacity({ used, reserved, free, total }: Props) {
  const share = (bytes: number) => (total > 0 ? (100 * bytes) / total : 0);
  const words = `${formatBytes(used)} used, ${formatBytes(reserved)} reserved, ${formatBytes(free)} free`;
  return (
    <div>
      <Progress.Root size="lg" aria-hidden>
        <Progress.Section value={share(used)} color="cyan.7" />
        <Progress.Section value={share(reserved)} color="gray.5" striped />
      </Progress.Root>
      <Group justify="space-between" mt={6} gap="xs">
        <Text size="sm">{words}</Text>
        <Text size="sm" c="dimmed">
          of {formatBytes(total)}
        </Text>
      </Group>
    </div>
  );
}
