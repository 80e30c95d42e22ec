/** The steps as a table. Executions of one step are folded together where there are many. */
import { ActionIcon, Anchor, Group, Table, Text } from "@mantine/core";
import { IconChevronDown, IconChevronRight } from "@tabler/icons-react";
import { useState } from "react";
import type { FlowRun, FlowStepRun } from "../../../api/shapes";
import { Duration } from "../../../components/Duration";
import { Status } from "../../../components/Status";
import { TextLink } from "../../../components/TextLink";
import { eachWords } from "./Executions";
import { byStep, countStates, spanOf, stateOf } from "./stepStates";

interface Props {
  run: FlowRun;
  onSelect: (step: string) => void;
}

export function StepRuns({ run, onSelect }: Props) {
  const [opened, setOpened] = useState<ReadonlySet<string>>(new Set());
  const toggle = (name: string) =>
    setOpened((before) => {
      const next = new Set(before);
      if (!next.delete(name)) next.add(name);
      return next;
    });
  return (
    <Table.ScrollContainer
      minWidth={640}
      scrollAreaProps={{ viewportProps: { tabIndex: 0, "aria-label": "Steps of the run" } }}
    >
      <Table aria-label="Steps of the run">
        <Table.Thead>
          <Table.Tr>
            {["Step", "State", "Reason", "Job", "Where", "Duration"].map((title) => (
              <Table.Th key={title}>{title}</Table.Th>
            ))}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {[...byStep(run.steps)].flatMap(([name, steps]) => {
            const isMany = steps.length > 1;
            const rows = isMany
              ? [
                  <ManyRow
                    key={name}
                    name={name}
                    steps={steps}
                    isOpen={opened.has(name)}
                    onToggle={() => toggle(name)}
                    onSelect={onSelect}
                  />,
                ]
              : [];
            const shown = isMany && !opened.has(name) ? [] : steps;
            return [
              ...rows,
              ...shown.map((step) => (
                <OneRow key={`${name} ${step.index}`} run={run} step={step} onSelect={onSelect} />
              )),
            ];
          })}
        </Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  );
}

interface ManyProps {
  name: string;
  steps: FlowStepRun[];
  isOpen: boolean;
  onToggle: () => void;
  onSelect: (step: string) => void;
}

function ManyRow({ name, steps, isOpen, onToggle, onSelect }: ManyProps) {
  const Picture = isOpen ? IconChevronDown : IconChevronRight;
  const [start, end] = spanOf(steps);
  return (
    <Table.Tr>
      <Table.Td>
        <Group gap={4} wrap="nowrap">
          <ActionIcon
            variant="subtle"
            color="gray"
            size="sm"
            aria-expanded={isOpen}
            aria-label={`${isOpen ? "Hide" : "Show"} executions of ${name}`}
            onClick={onToggle}
          >
            <Picture size={14} />
          </ActionIcon>
          <Anchor component="button" type="button" size="sm" onClick={() => onSelect(name)}>
            {name}
          </Anchor>
          <Text size="xs" c="dimmed">
            × {steps.length}
          </Text>
        </Group>
      </Table.Td>
      <Table.Td>
        <Status state={stateOf(steps) as never} />
      </Table.Td>
      <Table.Td colSpan={3}>
        <Text size="sm" c="dimmed">
          {countStates(steps)
            .map(([state, count]) => `${count} ${state}`)
            .join(" · ")}
        </Text>
      </Table.Td>
      <Table.Td>
        <Duration start={start} end={end} />
      </Table.Td>
    </Table.Tr>
  );
}

function OneRow({
  run,
  step,
  onSelect,
}: {
  run: FlowRun;
  step: FlowStepRun;
  onSelect: (step: string) => void;
}) {
  return (
    <Table.Tr>
      <Table.Td pl={step.index === null ? undefined : 44}>
        <Anchor component="button" type="button" size="sm" onClick={() => onSelect(step.name)}>
          {step.index === null ? step.name : `${step.name}[${step.index}]`}
        </Anchor>
        {step.index !== null && (
          <Text size="xs" c="dimmed">
            {eachWords(step)}
          </Text>
        )}
      </Table.Td>
      <Table.Td>
        <Status state={step.state as never} />
      </Table.Td>
      <Table.Td>{step.reason}</Table.Td>
      <Table.Td>
        {step.job && (
          <TextLink
            to="/projects/$project/jobs/$job"
            params={{ project: run.project, job: step.job }}
            size="sm"
          >
            {step.job}
          </TextLink>
        )}
      </Table.Td>
      <Table.Td>{[step.template, step.site].filter(Boolean).join(" at ")}</Table.Td>
      <Table.Td>
        <Duration start={step.started_at ?? null} end={step.ended_at ?? null} />
      </Table.Td>
    </Table.Tr>
  );
}
