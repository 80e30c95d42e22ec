import { Box, Progress } from "@mantine/core";

interface Props {
  allocated: number;
  quota: number;
  /** What the whole bar stands for. */
  whole: number;
}

/** What a project has: within its quota, and over it; a mark where the quota ends. The numbers stand beside it. */
export function ShareBar({ allocated, quota, whole }: Props) {
  const percent = (gpus: number) => (whole > 0 ? (100 * gpus) / whole : 0);
  return (
    <Box pos="relative" miw={120} aria-hidden>
      <Progress.Root size="sm">
        <Progress.Section value={percent(Math.min(allocated, quota))} color="cyan.7" />
        <Progress.Section value={percent(Math.max(0, allocated - quota))} color="orange.6" />
      </Progress.Root>
      {quota > 0 && (
        <Box
          pos="absolute"
          top={-2}
          bottom={-2}
          left={`${percent(quota)}%`}
          w={2}
          bg="var(--mantine-color-text)"
        />
      )}
    </Box>
  );
}
