/** When each step ran, and what its time went into. Many executions of one step are one row that opens. */
import { ActionIcon, Anchor, Box, Group, Stack, Text, Tooltip } from "@mantine/core";
import { IconChevronDown, IconChevronRight } from "@tabler/icons-react";
import { useState } from "react";
import type { FlowRun, FlowStepRun } from "../../../api/shapes";
import { useNow } from "../../../hooks/useNow";
import { formatSeconds } from "../../../lib/quantity";
import { eachWords } from "./Executions";
import { byStep, doneWords, spanOf } from "./stepStates";

const PARTS = [
  ["earlier", "Earlier attempts", "pink-5"],
  ["queue", "Queue", "gray-5"],
  ["fill", "Fill", "cyan-7"],
  ["environment", "Environment", "violet-6"],
  ["run", "Run", "green-7"],
  ["save", "Save", "orange-7"],
] as const;
const TICKS = 5;

interface Scale {
  begin: number;
  whole: number;
  now: number;
}

export function Timeline({ run, onSelect }: { run: FlowRun; onSelect: (step: string) => void }) {
  const [opened, setOpened] = useState<ReadonlySet<string>>(new Set());
  const now = useNow(run.ended_at ? 0 : 1_000).getTime();
  const begin = Date.parse(run.started_at ?? run.created_at);
  const end = run.ended_at ? Date.parse(run.ended_at) : now;
  const scale = { begin, whole: Math.max(1, end - begin), now };
  const begun = [...byStep(run.steps)].filter(([, steps]) => spanOf(steps)[0] !== null);
  if (begun.length === 0) return <Text p="md">No step has started yet.</Text>;
  const toggle = (name: string) => {
    const next = new Set(opened);
    if (!next.delete(name)) next.add(name);
    setOpened(next);
  };
  return (
    <Stack gap={6} p="md" className="flow-timeline">
      <Axis scale={scale} />
      {begun.flatMap(([name, steps]) => {
        const isMany = steps.length > 1;
        const rows = isMany
          ? []
          : steps.map((step) => <OneRow key={name} step={step} scale={scale} onSelect={onSelect} />);
        if (!isMany) return rows;
        return [
          <ManyRow
            key={name}
            name={name}
            steps={steps}
            scale={scale}
            isOpen={opened.has(name)}
            onToggle={() => toggle(name)}
            onSelect={onSelect}
          />,
          ...(opened.has(name)
            ? steps.map((step) => (
                <OneRow key={`${name} ${step.index}`} step={step} scale={scale} onSelect={onSelect} />
              ))
            : []),
        ];
      })}
      <Group gap="md" mt="xs">
        {PARTS.map(([key, word, color]) => (
          <Group key={key} gap={6}>
            <Box w={10} h={10} style={{ background: `var(--mantine-color-${color})`, borderRadius: 2 }} />
            <Text size="xs">{word}</Text>
          </Group>
        ))}
        <Group gap={6}>
          <Box w={10} h={10} className="flow-bar-none" style={{ borderRadius: 2 }} />
          <Text size="xs">No job: remembered, dataset or approval</Text>
        </Group>
      </Group>
    </Stack>
  );
}

function Axis({ scale }: { scale: Scale }) {
  return (
    <div className="flow-row" aria-hidden>
      <span />
      <div className="flow-axis">
        {Array.from({ length: TICKS }, (_, tick) => (
          <span key={tick} style={{ left: `${(100 * tick) / TICKS}%` }}>
            {formatSeconds((scale.whole * tick) / TICKS / 1_000)}
          </span>
        ))}
      </div>
      <span />
    </div>
  );
}

interface RowProps {
  step: FlowStepRun;
  scale: Scale;
  onSelect: (step: string) => void;
}

function OneRow({ step, scale, onSelect }: RowProps) {
  const from = Date.parse((step.ready_at ?? step.started_at ?? step.ended_at) as string);
  const to = step.ended_at ? Date.parse(step.ended_at) : scale.now;
  if (Number.isNaN(from)) return null;
  const seconds = Math.max(0, to - from) / 1_000;
  const parts = PARTS.flatMap(([key, word, color]) => {
    const spent = step.ledger?.[key] ?? 0;
    return spent > 0 ? [{ word, color, spent }] : [];
  });
  const sum = parts.reduce((all, one) => all + one.spent, 0);
  const label = step.index === null ? step.name : `${step.name}[${step.index}]`;
  const told = parts.map((one) => `${one.word} ${formatSeconds(one.spent)}`).join(", ") || step.state;
  return (
    <div className="flow-row">
      <Anchor
        component="button"
        type="button"
        size="sm"
        ta="left"
        truncate
        pl={step.index === null ? undefined : 22}
        title={step.index === null ? undefined : eachWords(step)}
        onClick={() => onSelect(step.name)}
      >
        {label}
      </Anchor>
      <div className="flow-track">
        <Tooltip label={`${label}: ${told}`}>
          <div
            className="flow-bar flow-bar-none"
            role="img"
            aria-label={`${label}: ${told}`}
            style={between(from, to, scale)}
          >
            {parts.map((one) => (
              <span
                key={one.word}
                style={{
                  width: `${(100 * one.spent) / sum}%`,
                  background: `var(--mantine-color-${one.color})`,
                }}
              />
            ))}
          </div>
        </Tooltip>
      </div>
      <Text size="xs" c="dimmed" ta="right">
        {formatSeconds(seconds)}
      </Text>
    </div>
  );
}

interface ManyProps {
  name: string;
  steps: FlowStepRun[];
  scale: Scale;
  isOpen: boolean;
  onToggle: () => void;
  onSelect: (step: string) => void;
}

/** The executions of a step as one row: how many were under way at each moment. */
function ManyRow({ name, steps, scale, isOpen, onToggle, onSelect }: ManyProps) {
  const Picture = isOpen ? IconChevronDown : IconChevronRight;
  const [start, last] = spanOf(steps);
  const from = Date.parse(start as string);
  const to = last ? Date.parse(last) : scale.now;
  const told = doneWords(steps);
  return (
    <div className="flow-row">
      <Group gap={2} wrap="nowrap" miw={0}>
        <ActionIcon
          variant="subtle"
          color="gray"
          size={20}
          aria-expanded={isOpen}
          aria-label={`${isOpen ? "Hide" : "Show"} executions of ${name}`}
          onClick={onToggle}
        >
          <Picture size={14} />
        </ActionIcon>
        <Anchor component="button" type="button" size="sm" truncate onClick={() => onSelect(name)}>
          {name} × {steps.length}
        </Anchor>
      </Group>
      <div className="flow-track">
        <Tooltip label={`${name}: ${told}`}>
          <div
            className="flow-bar flow-bar-many"
            role="img"
            aria-label={`${name}: ${told}`}
            style={between(from, to, scale)}
          >
            <span>{told}</span>
          </div>
        </Tooltip>
      </div>
      <Text size="xs" c="dimmed" ta="right">
        {formatSeconds(Math.max(0, to - from) / 1_000)}
      </Text>
    </div>
  );
}

function between(from: number, to: number, { begin, whole }: Scale) {
  return {
    left: `${Math.min(100, (100 * Math.max(0, from - begin)) / whole)}%`,
    width: `max(4px, ${(100 * Math.max(0, to - from)) / whole}%)`,
  };
}
