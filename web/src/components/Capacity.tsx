import { Box, Group, Progress, Text } from "@mantine/core";
import { formatBytes } from "../lib/quantity";

interface Props {
  used: number;
  /** Of what is used: promised to fills that are not whole yet. */
  filling?: number;
  reserved: number;
  free: number;
  total: number;
}

/** Used, promised, kept back and free of one volume, as a bar and in words. What other files take is what is missing. */
export function Capacity({ used, filling = 0, reserved, free, total }: Props) {
  const parts = [
    { word: "used", bytes: used - filling, color: "cyan.7", always: true },
    { word: "promised to fills", bytes: filling, color: "indigo.5", always: false },
    { word: "reserved", bytes: reserved, color: "gray.5", always: true },
    {
      word: "taken by other files",
      bytes: Math.max(0, total - used - reserved - free),
      color: "orange.6",
      always: false,
    },
    { word: "free", bytes: free, color: null, always: true },
  ].filter((part) => part.always || part.bytes > 0);
  const share = (bytes: number) => (total > 0 ? (100 * bytes) / total : 0);
  return (
    <div data-testid="capacity">
      <Progress.Root size="lg" aria-hidden>
        {parts.map(
          ({ word, bytes, color }) =>
            color && (
              <Progress.Section
                key={word}
                value={share(bytes)}
                color={color}
                striped={word === "reserved" || word === "promised to fills"}
              />
            ),
        )}
      </Progress.Root>
      <Group gap="2px 12px" mt={6}>
        {parts.map(({ word, bytes, color }) => (
          <Group key={word} gap={5} wrap="nowrap">
            <Swatch color={color} />
            <Text size="sm">
              {formatBytes(bytes)} {word}
            </Text>
          </Group>
        ))}
        <Text size="sm" c="dimmed">
          of {formatBytes(total)}
        </Text>
      </Group>
    </div>
  );
}

function Swatch({ color }: { color: string | null }) {
  const filled = color ?? "var(--mantine-color-default-border)";
  return <Box w={10} h={10} bg={filled} style={{ borderRadius: 2, flexShrink: 0 }} aria-hidden />;
}
