import { Progress, Text } from "@mantine/core";
import type { Search, TrialState } from "../../../api/shapes";

const PARTS: readonly (readonly [TrialState, string])[] = [
  ["succeeded", "green"],
  ["pruned", "orange"],
  ["failed", "red"],
  ["cancelled", "gray"],
  ["running", "blue"],
];

/** How many trials there are of how many, and what became of them. */
export function TrialCounts({ search }: { search: Search }) {
  const present = PARTS.filter(([state]) => (search.counts[state] ?? 0) > 0);
  return (
    <>
      <Text size="sm">
        {search.trials} of {search.max_trials}
      </Text>
      <Progress.Root size={5} w={140} aria-hidden>
        {present.map(([state, color]) => (
          <Progress.Section
            key={state}
            color={color}
            value={(100 * (search.counts[state] ?? 0)) / search.max_trials}
          />
        ))}
      </Progress.Root>
      <Text size="xs" c="dimmed">
        {present.map(([state]) => `${search.counts[state]} ${state}`).join(", ")}
      </Text>
    </>
  );
}
