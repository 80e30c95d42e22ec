/** What is known of one step of a run: why it is in its state, what it got, made and took, and its log. */
import { ActionIcon, Button, Group, SegmentedControl, Stack, Text, Textarea, Title } from "@mantine/core";
import { IconX } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { useAnswerGate, useRetryFlowRun } from "../../../api/flows";
import { jobQuery } from "../../../api/jobs";
import type { FlowRun, FlowStepRun } from "../../../api/shapes";
import { Duration } from "../../../components/Duration";
import { Facts } from "../../../components/Facts";
import { Loaded } from "../../../components/Loaded";
import { notifyDone, notifyError } from "../../../components/notify";
import { Status } from "../../../components/Status";
import { TextLink } from "../../../components/TextLink";
import { Time } from "../../../components/Time";
import { LedgerBar } from "../../Job/parts/LedgerBar";
import { LogView } from "../../Job/parts/LogView";
import { WhyWaiting } from "../../Job/parts/WhyWaiting";
import { Executions, eachWords } from "./Executions";
import { rememberedPlace } from "./places";
import { StepValues } from "./StepValues";

interface Props {
  run: FlowRun;
  /** The executions of the step. */
  steps: FlowStepRun[];
  onClose: () => void;
}

export function StepPanel({ run, steps, onClose }: Props) {
  // What failed is looked at first.
  const [chosen, setChosen] = useState(() =>
    Math.max(
      0,
      steps.findIndex((one) => one.state === "failed"),
    ),
  );
  const [tab, setTab] = useState<"about" | "log">("about");
  const step = steps[Math.min(chosen, steps.length - 1)];
  if (!step) return null;
  return (
    <Stack gap="sm" className="flow-inspector" component="aside" aria-label={`Step ${step.name}`}>
      <Group justify="space-between" wrap="nowrap">
        <Title order={2} size="h5" style={{ overflowWrap: "anywhere" }}>
          {step.name}
        </Title>
        <ActionIcon variant="subtle" color="gray" aria-label="Close" onClick={onClose}>
          <IconX size={16} />
        </ActionIcon>
      </Group>
      {step.index !== null && <Executions steps={steps} chosen={chosen} onChoose={setChosen} />}
      {step.index !== null && (
        <Text size="sm">
          Execution {step.index}: {eachWords(step)}
        </Text>
      )}
      <Group gap="xs">
        <Status state={step.state as never} />
        <Text size="sm">
          <Duration start={step.started_at ?? null} end={step.ended_at ?? null} />
        </Text>
        {step.attempts > 1 && (
          <Text size="sm" c="dimmed">
            attempt {step.attempts}
          </Text>
        )}
      </Group>
      {step.reason && <Text size="sm">{step.reason}</Text>}
      {step.kind === "approval" && step.state === "waiting" && step.started_at && !run.ended_at && (
        <Gate run={run} step={step} />
      )}
      {step.job && (
        <SegmentedControl
          size="xs"
          aria-label="Part"
          value={tab}
          onChange={(given) => setTab(given as "about" | "log")}
          data={[
            { value: "about", label: "About" },
            { value: "log", label: "Log" },
          ]}
        />
      )}
      {tab === "log" && step.job ? (
        <StepLog project={run.project} job={step.job} />
      ) : (
        <About run={run} step={step} />
      )}
    </Stack>
  );
}

function About({ run, step }: { run: FlowRun; step: FlowStepRun }) {
  const isWaiting = step.state === "queued" || step.state === "preempted";
  return (
    <>
      {isWaiting && step.job && <Why project={run.project} job={step.job} />}
      <Where run={run} step={step} />
      <StepValues title="Inputs" values={step.inputs ?? {}} />
      <StepValues title="Outputs" values={step.outputs ?? {}} />
      <StepValues title="Parameters" values={step.params ?? {}} />
      {step.ledger && <LedgerBar ledger={step.ledger} />}
      {run.ended_at && step.kind !== "dataset" && <RunFrom run={run} step={step.name} />}
    </>
  );
}

function Where({ run, step }: { run: FlowRun; step: FlowStepRun }) {
  const remembered = step.remembered_from ? rememberedPlace(step.remembered_from) : null;
  const place = [step.site, step.compute === step.site ? null : step.compute, step.node]
    .filter(Boolean)
    .join(", ");
  const facts = [
    step.component && {
      name: "Component",
      value: (
        <TextLink
          to="/projects/$project/library/$component"
          params={{ project: run.project, component: step.component }}
          size="sm"
        >
          {step.component}
        </TextLink>
      ),
    },
    place && { name: step.ended_at ? "Ran at" : "Runs at", value: place },
    step.template && { name: "Template", value: step.template },
    step.job && {
      name: "Job",
      value: (
        <TextLink
          to="/projects/$project/jobs/$job"
          params={{ project: run.project, job: step.job }}
          size="sm"
        >
          {step.job}
        </TextLink>
      ),
    },
    step.run && {
      name: "Run",
      value: (
        <TextLink
          to="/projects/$project/runs/$run"
          params={{ project: run.project, run: step.run }}
          search={{ tab: "metrics" }}
          size="sm"
        >
          metrics and files
        </TextLink>
      ),
    },
    remembered && {
      name: "Remembered from",
      value: (
        <TextLink
          to="/projects/$project/flow-runs/$run"
          params={{ project: run.project, run: remembered.run }}
          search={{ step: remembered.step }}
          size="sm"
        >
          {remembered.run}
        </TextLink>
      ),
    },
    step.expires_at && { name: "Ends at", value: <Time at={step.expires_at} /> },
  ].filter((one) => Boolean(one));
  return facts.length > 0 ? <Facts facts={facts as Parameters<typeof Facts>[0]["facts"]} /> : null;
}

function Why({ project, job }: { project: string; job: string }) {
  const found = useQuery(jobQuery({ project, job })).data;
  return found ? <WhyWaiting job={found} /> : null;
}

function StepLog({ project, job }: { project: string; job: string }) {
  const result = useQuery(jobQuery({ project, job }));
  return (
    <Loaded result={result}>
      {(found) => (
        <section aria-label="Log">
          <LogView key={found.id} job={found} />
        </section>
      )}
    </Loaded>
  );
}

function Gate({ run, step }: { run: FlowRun; step: FlowStepRun }) {
  const [comment, setComment] = useState("");
  const answer = useAnswerGate({ project: run.project, flow_run: run.id }, step.name);
  const give = (given: "approve" | "reject") =>
    answer.mutate(
      { answer: given, comment },
      {
        onSuccess: () =>
          notifyDone(given === "approve" ? `${step.name} approved.` : `${step.name} rejected.`),
        onError: notifyError,
      },
    );
  return (
    <Stack gap="xs">
      <Textarea
        size="xs"
        label="Comment"
        autosize
        minRows={1}
        maxRows={4}
        maxLength={500}
        value={comment}
        onChange={(event) => setComment(event.currentTarget.value)}
      />
      <Group gap="xs">
        <Button size="xs" loading={answer.isPending} onClick={() => give("approve")}>
          Approve
        </Button>
        <Button size="xs" variant="default" disabled={answer.isPending} onClick={() => give("reject")}>
          Reject
        </Button>
      </Group>
    </Stack>
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
