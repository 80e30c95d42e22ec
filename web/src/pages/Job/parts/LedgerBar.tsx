import { Group, Paper, Progress, Text } from "@mantine/core";
import type { Ledger } from "../../../api/shapes";
import { Section } from "../../../components/Section";
import { formatSeconds } from "../../../lib/quantity";

const PARTS = [
  ["earlier", "Earlier attempts", "pink.5"],
  ["queue", "Queue", "gray.6"],
  ["fill", "Fill", "cyan.7"],
  ["environment", "Environment", "violet.6"],
  ["run", "Run", "green.7"],
  ["save", "Save", "orange.7"],
] as const;

/** Time spent, from submit to end. */
export function LedgerBar({ ledger }: { ledger: Ledger }) {
  const parts = PARTS.flatMap(([key, word, color]) => {
    const seconds = ledger[key];
    return seconds === null || seconds === undefined ? [] : [{ key, word, color, seconds }];
  });
  const whole = parts.reduce((sum, part) => sum + part.seconds, 0);
  if (whole === 0) return null;
  return (
    <Section title="Time spent" bare>
      <Paper withBorder p="md">
        <Progress.Root size="lg" aria-hidden>
          {parts.map((part) => (
            <Progress.Section key={part.key} value={(100 * part.seconds) / whole} color={part.color} />
          ))}
        </Progress.Root>
        <Group component="dl" gap="8px 20px" m={0} mt="xs" data-testid="ledger">
          {parts.map((part) => (
            <Group key={part.key} gap={6} component="div">
              <svg width="10" height="10" aria-hidden="true">
                <rect
                  width="10"
                  height="10"
                  rx="2"
                  fill={`var(--mantine-color-${part.color.replace(".", "-")})`}
                />
              </svg>
              <Text component="dt" size="sm">
                {part.word}
              </Text>
              <Text component="dd" size="sm" m={0} fw={600}>
                {formatSeconds(part.seconds)}
              </Text>
            </Group>
          ))}
        </Group>
      </Paper>
    </Section>
  );
}
