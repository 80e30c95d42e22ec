import { Group, Progress, Text } from "@mantine/core";
import { type Fill, progressWords, shareOf } from "./progress";

/** How far a commit is on its way to a volume: a bar, what arrived, how fast, and how long it still takes. */
export function FillProgress({ fill }: { fill: Fill }) {
  return (
    <Group gap="4px 8px">
      <Progress
        value={shareOf(fill)}
        w={140}
        size="md"
        color="cyan.7"
        animated
        aria-label="Share of the bytes that arrived"
      />
      <Text size="sm">{progressWords(fill)}</Text>
    </Group>
  );
}
