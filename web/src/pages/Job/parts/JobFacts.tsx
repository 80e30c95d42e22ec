import { Paper, Stack, Text } from "@mantine/core";
import type { Job } from "../../../api/shapes";
import { CommandLine } from "../../../components/Copyable";
import { Duration } from "../../../components/Duration";
import { type Fact, Facts } from "../../../components/Facts";
import { TextLink } from "../../../components/TextLink";
import { Time } from "../../../components/Time";
import { writeLabels } from "../../../lib/labels";
import { shellLine, shortId } from "../../../lib/names";
import { formatBytes, formatGpus, formatSeconds } from "../../../lib/quantity";
import { optionsOf, secretsOf } from "./draft";
import { CommitLink, InputLinks } from "./InputLinks";
import { shareWords } from "./states";

export function JobFacts({ job }: { job: Job }) {
  return (
    <Paper withBorder p="md">
      <Stack>
        <div>
          <Text size="xs" c="dimmed" mb={2}>
            Command
          </Text>
          <CommandLine command={shellLine(job.command)} />
        </div>
        <Facts facts={[...times(job), ...place(job), ...limits(job), ...data(job)]} />
      </Stack>
    </Paper>
  );
}

function times(job: Job): Fact[] {
  // Until outputs are saved the job goes on, but its command has ended: the ledger knows.
  const ran = job.ledger.run;
  const begun = job.started_at ? Date.parse(job.started_at) : null;
  const exited =
    begun !== null && ran !== null && job.ended_at ? new Date(begun + ran * 1000).toISOString() : null;
  return [
    { name: "Total duration", value: <Duration start={job.queued_at} end={job.ended_at} /> },
    { name: "Running", value: <Duration start={job.started_at} end={exited} /> },
    { name: "Start", value: <Time at={job.started_at} /> },
    { name: "End", value: <Time at={job.ended_at} /> },
    ...(job.exit_code === null ? [] : [{ name: "Exit code", value: job.exit_code }]),
  ];
}

function place(job: Job): Fact[] {
  const share = shareWords(job);
  const asked = [
    job.cpu > 0 && `${job.cpu} CPU`,
    job.memory_bytes > 0 && formatBytes(job.memory_bytes),
    job.gpu_hundredths > 0 && `${formatGpus(job.gpu_hundredths)} GPU${share ? ` (${share})` : ""}`,
  ].filter(Boolean);
  return [
    { name: "Compute", value: <ComputeLink job={job} /> },
    { name: "Asked for", value: asked.join(", ") || "best effort" },
    ...(job.processes > 0
      ? [{ name: "Processes", value: `${job.processes}, each with what was asked for` }]
      : []),
    { name: "Image", value: job.image ?? "the machine's own" },
  ];
}

function ComputeLink({ job }: { job: Job }) {
  if (!job.compute) return "–";
  return (
    <>
      <TextLink to="/compute/$compute" params={{ compute: job.compute }} size="sm">
        {job.compute}
      </TextLink>
      {job.node && job.node !== job.compute && ` (${job.node})`}
    </>
  );
}

/** Only those somebody has set. */
function limits(job: Job): Fact[] {
  const secrets = secretsOf(job);
  const options = optionsOf(job);
  const labels = writeLabels(job.spec.node_selector);
  const facts: (Fact | false)[] = [
    job.spec.on != null && { name: "Run on", value: onWords(job) },
    job.wanted_compute !== null && { name: "Only on", value: job.wanted_compute },
    job.spec.gpu_type != null && { name: "GPU type", value: job.spec.gpu_type },
    (job.spec.min_gpu_memory_bytes ?? 0) > 0 && {
      name: "GPU memory",
      value: `at least ${formatBytes(job.spec.min_gpu_memory_bytes ?? 0)}`,
    },
    labels.length > 0 && { name: "Node labels", value: <span className="mono">{labels.join(", ")}</span> },
    options.length > 0 && { name: "Options", value: <span className="mono">{options.join(", ")}</span> },
    job.priority !== 0 && { name: "Priority", value: job.priority },
    job.spec.preemptible != null && { name: "Preemptible", value: job.spec.preemptible ? "yes" : "no" },
    job.checkpoint_commit != null && { name: "Last checkpoint", value: <Checkpoint job={job} /> },
    job.preemptions > 0 && { name: "Preemptions", value: job.preemptions },
    job.timeout_seconds > 0 && { name: "Time limit", value: formatSeconds(job.timeout_seconds) },
    job.retries > 0 && {
      name: "Retries",
      value: `${job.retried} of ${job.retries} used, on ${job.retry_on.join(", ")}`,
    },
    job.after.length > 0 && { name: "After", value: <AfterLinks job={job} /> },
    (job.idle_seconds ?? 0) > 0 && { name: "Idle limit", value: formatSeconds(job.idle_seconds ?? 0) },
    (job.ports ?? []).length > 0 && { name: "Ports", value: (job.ports ?? []).join(", ") },
    secrets.length > 0 && { name: "Secrets", value: <span className="mono">{secrets.join(", ")}</span> },
  ];
  return facts.filter((fact) => fact !== false);
}

/** When it was saved, and the commit that the next attempt restores. */
function Checkpoint({ job }: { job: Job }) {
  return (
    <>
      <CommitLink project={job.project} dataset=".checkpoints" commit={job.checkpoint_commit ?? null} />{" "}
      {job.saved_at && <Time at={job.saved_at} />}
    </>
  );
}

/** `burst (cloud)`: the queue, and the template of it that the job uses. */
function onWords({ spec, template }: Job): string {
  return template && template !== spec.on ? `${spec.on} (${template})` : (spec.on ?? "");
}

function AfterLinks({ job }: { job: Job }) {
  return job.after.map((other) => (
    <div key={other.job}>
      <JobLink project={job.project} job={other.job} name={other.name} />{" "}
      {other.when === "any" ? "has ended" : "has succeeded"}
      {other.state && ` (${other.state})`}
    </div>
  ));
}

function JobLink({ project, job, name }: { project: string; job: string; name: string }) {
  return (
    <TextLink to="/projects/$project/jobs/$job" params={{ project, job }} size="sm">
      {name}
    </TextLink>
  );
}

function data(job: Job): Fact[] {
  const run = (
    <TextLink to="/projects/$project/runs/$run" params={{ project: job.project, run: job.run_id }} size="sm">
      <span className="mono">{shortId(job.run_id)}</span>
    </TextLink>
  );
  return [
    {
      name: "Code commit",
      value: <CommitLink project={job.project} dataset=".code" commit={job.code_commit} />,
    },
    ...(job.environment_source ? [{ name: "Environment", value: <Environment job={job} /> }] : []),
    { name: "Inputs", value: <InputLinks inputs={job.inputs} /> },
    {
      name: "Outputs",
      value: <CommitLink project={job.project} dataset=".outputs" commit={job.output_commit} />,
    },
    { name: "Run", value: run },
    { name: "Id", value: <span className="mono">{job.id}</span> },
  ];
}

/** The packages it runs with, and the job that built them. */
function Environment({ job }: { job: Job }) {
  return (
    <>
      <CommitLink project={job.project} dataset=".outputs" commit={job.environment_commit} />
      {job.environment_job && (
        <>
          {" built by "}
          <JobLink project={job.project} job={job.environment_job} name={job.environment_job} />
        </>
      )}
    </>
  );
}
