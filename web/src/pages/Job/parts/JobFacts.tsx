import { Paper } from "@mantine/core";
import type { Job } from "../../../api/shapes";
import { CommitLink } from "../../../components/CommitLink";
import { type Fact, Facts } from "../../../components/Facts";
import { Section } from "../../../components/Section";
import { TextLink } from "../../../components/TextLink";
import { Time } from "../../../components/Time";
import { writeLabels } from "../../../lib/labels";
import { formatBytes, formatGpus, formatSeconds } from "../../../lib/quantity";
import { optionsOf, secretsOf } from "./draft";
import { shareWords } from "./states";

/** What the job was submitted with, as far as somebody has set it. */
export function JobFacts({ job }: { job: Job }) {
  return (
    <Section title="Settings" bare>
      <Paper withBorder p="md">
        <Facts facts={[...asked(job), ...limits(job), ...names(job)]} />
      </Paper>
    </Section>
  );
}

function names(job: Job): Fact[] {
  return [
    { name: "Job", value: job.written },
    { name: "Id", value: <span className="mono">{job.id}</span> },
  ];
}

function asked(job: Job): Fact[] {
  const share = shareWords(job);
  const amounts = [
    job.cpu > 0 && `${job.cpu} CPU`,
    job.memory_bytes > 0 && formatBytes(job.memory_bytes),
    job.gpu_hundredths > 0 && `${formatGpus(job.gpu_hundredths)} GPU${share ? ` (${share})` : ""}`,
  ].filter(Boolean);
  return [
    { name: "Asked for", value: amounts.join(", ") || "best effort" },
    ...(job.processes > 0
      ? [
          {
            name: "Processes",
            value: `${job.processes}${job.launcher === "mpi" ? " of MPI" : ""}, each with what was asked for`,
          },
        ]
      : []),
  ];
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
