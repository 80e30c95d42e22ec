/** When each step ran, and what its time went into. */
import { Anchor, Box, Group, Stack, Text, Tooltip } from "@mantine/core";
import type { FlowRun, FlowStepRun } from "../../../api/shapes";
import { useNow } from "../../../hooks/useNow";
import { formatSeconds } from "../../../lib/quantity";

const PARTS = [
  ["queue", "Queue", "gray-5"],
  ["fill", "Fill", "cyan-7"],
  ["environment", "Environment", "violet-6"],
  ["run", "Run", "green-7"],
  ["save", "Save", "orange-7"],
] as const;

export function Timeline({ run, onSelect }: { run: FlowRun; onSelect: (step: string) => void }) {
  const now = useNow(run.ended_at ? 0 : 1_000).getTime();
  const begin = Date.parse(run.started_at ?? run.created_at);
  const end = run.ended_at ? Date.parse(run.ended_at) : now;
  const whole = Math.max(1, end - begin);
  const begun = run.steps.filter((step) => step.ready_at || step.started_at);
  if (begun.length === 0) return <Text p="md">No step has started yet.</Text>;
  return (
    <Stack gap={6} p="md" style={{ overflow: "auto" }}>
      {begun.map((step) => (
        <Row
          key={`${step.name} ${step.index}`}
          step={step}
          begin={begin}
          whole={whole}
          now={now}
          onSelect={onSelect}
        />
      ))}
      <Group gap="md" mt="xs">
        {PARTS.map(([key, word, color]) => (
          <Group key={key} gap={6}>
            <Box w={10} h={10} style={{ background: `var(--mantine-color-${color})`, borderRadius: 2 }} />
            <Text size="xs">{word}</Text>
          </Group>
        ))}
      </Group>
    </Stack>
  );
}

interface RowProps {
  step: FlowStepRun;
  begin: number;
  whole: number;
  now: number;
  onSelect: (step: string) => void;
}

function Row({ step, begin, whole, now, onSelect }: RowProps) {
  const from = Date.parse((step.ready_at ?? step.started_at) as string);
  const to = step.ended_at ? Date.parse(step.ended_at) : now;
  const seconds = Math.max(0, to - from) / 1_000;
  const parts = PARTS.map(([key, word, color]) => ({ word, color, seconds: step.ledger?.[key] ?? 0 })).filter(
    (one) => one.seconds > 0,
  );
  const told =
    parts.map((one) => `${one.word} ${formatSeconds(one.seconds)}`).join(", ") || formatSeconds(seconds);
  const sum = parts.reduce((all, one) => all + one.seconds, 0);
  const label = step.index === null ? step.name : `${step.name}[${step.index}]`;
  return (
    <Group gap="sm" wrap="nowrap">
      <Anchor
        component="button"
        type="button"
        size="sm"
        w={150}
        ta="left"
        truncate
        onClick={() => onSelect(step.name)}
      >
        {label}
      </Anchor>
      <Box pos="relative" h={18} style={{ flex: 1, minWidth: 120 }}>
        <Tooltip label={`${label}: ${told}`}>
          <Group
            gap={0}
            wrap="nowrap"
            pos="absolute"
            h={18}
            aria-label={`${label}: ${told}`}
            style={{
              left: `${(100 * (from - begin)) / whole}%`,
              width: `max(3px, ${(100 * (to - from)) / whole}%)`,
              borderRadius: 3,
              overflow: "hidden",
            }}
            bg="gray.5"
          >
            {parts.map((one) => (
              <Box
                key={one.word}
                h={18}
                style={{
                  width: `${(100 * one.seconds) / sum}%`,
                  background: `var(--mantine-color-${one.color})`,
                }}
              />
            ))}
          </Group>
        </Tooltip>
      </Box>
    </Group>
  );
}
