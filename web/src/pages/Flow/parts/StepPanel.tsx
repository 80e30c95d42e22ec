/** What is known of one step of a run: why it is in its state, what it got, made and took. */
import { ActionIcon, Button, Code, Divider, Group, Select, Stack, Text, Title } from "@mantine/core";
import { IconX } from "@tabler/icons-react";
import { useState } from "react";
import { useAnswerGate, useRetryFlowRun } from "../../../api/flows";
import type { FlowRun, FlowStepRun } from "../../../api/shapes";
import { Duration } from "../../../components/Duration";
import { notifyError } from "../../../components/notify";
import { Status } from "../../../components/Status";
import { TextLink } from "../../../components/TextLink";
import { LedgerBar } from "../../Job/parts/LedgerBar";

interface Props {
  run: FlowRun;
  /** The executions of the step. */
  steps: FlowStepRun[];
  onClose: () => void;
}

export function StepPanel({ run, steps, onClose }: Props) {
  const [index, setIndex] = useState(0);
  const step = steps[Math.min(index, steps.length - 1)];
  if (!step) return null;
  return (
    <Stack gap="sm" className="flow-inspector">
      <Group justify="space-between" wrap="nowrap">
        <Title order={2} size="h5" style={{ overflowWrap: "anywhere" }}>
          {step.name}
        </Title>
        <ActionIcon variant="subtle" color="gray" aria-label="Close" onClick={onClose}>
          <IconX size={16} />
        </ActionIcon>
      </Group>
      {steps.length > 1 && (
        <Select
          size="xs"
          label="Execution"
          data={steps.map((one, place) => ({
            value: String(place),
            label: `${one.index}: ${JSON.stringify(one.each)} ${one.state}`,
          }))}
          value={String(index)}
          onChange={(chosen) => setIndex(Number(chosen ?? 0))}
        />
      )}
      <Group gap="xs">
        <Status state={step.state as never} />
        <Duration start={step.started_at ?? null} end={step.ended_at ?? null} />
      </Group>
      {step.reason && <Text size="sm">{step.reason}</Text>}
      {step.kind === "approval" && step.state === "waiting" && <Gate run={run} step={step.name} />}
      <Facts run={run} step={step} />
      <Values title="Parameters" values={step.params ?? {}} />
      <Values title="Inputs" values={step.inputs ?? {}} />
      <Values title="Outputs" values={step.outputs ?? {}} />
      {step.ledger && <LedgerBar ledger={step.ledger} />}
      {run.ended_at && step.kind !== "dataset" && <RunFrom run={run} step={step.name} />}
    </Stack>
  );
}

function Facts({ run, step }: { run: FlowRun; step: FlowStepRun }) {
  return (
    <Stack gap={2}>
      {step.component && <Text size="sm">Component {step.component}</Text>}
      {(step.template || step.site) && (
        <Text size="sm">Ran on {[step.template, step.site, step.node].filter(Boolean).join(", ")}</Text>
      )}
      {step.remembered_from && (
        <Text size="sm">
          Taken from an earlier run:{" "}
          <TextLink
            to="/projects/$project/jobs/$job"
            params={{ project: run.project, job: step.remembered_from }}
            size="sm"
          >
            {step.remembered_from}
          </TextLink>
        </Text>
      )}
      {step.job && (
        <TextLink
          to="/projects/$project/jobs/$job"
          params={{ project: run.project, job: step.job }}
          size="sm"
        >
          Log, metrics and files of its job
        </TextLink>
      )}
    </Stack>
  );
}

function Values({ title, values }: { title: string; values: Record<string, unknown> }) {
  const rows = Object.entries(values);
  if (rows.length === 0) return null;
  return (
    <>
      <Divider label={title} labelPosition="left" />
      {rows.map(([name, value]) => (
        <div key={name}>
          <Text size="xs" c="dimmed">
            {name}
          </Text>
          <Code block style={{ whiteSpace: "pre-wrap", overflowWrap: "anywhere" }}>
            {typeof value === "string" ? value : JSON.stringify(value)}
          </Code>
        </div>
      ))}
    </>
  );
}

function Gate({ run, step }: { run: FlowRun; step: string }) {
  const answer = useAnswerGate({ project: run.project, flow_run: run.id }, step);
  return (
    <Group gap="xs">
      <Button
        size="xs"
        loading={answer.isPending}
        onClick={() => answer.mutate("approve", { onError: notifyError })}
      >
        Approve
      </Button>
      <Button size="xs" variant="default" onClick={() => answer.mutate("reject", { onError: notifyError })}>
        Reject
      </Button>
    </Group>
  );
}

function RunFrom({ run, step }: { run: FlowRun; step: string }) {
  const retry = useRetryFlowRun({ project: run.project, flow_run: run.id });
  return (
    <Button
      size="xs"
      variant="default"
      loading={retry.isPending}
      onClick={() => retry.mutate(step, { onError: notifyError })}
    >
      Run again from here
    </Button>
  );
}
