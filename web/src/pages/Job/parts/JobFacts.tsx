import { Paper, Stack, Text } from "@mantine/core";
import type { Job } from "../../../api/shapes";
import { CommandLine } from "../../../components/Copyable";
import { Duration } from "../../../components/Duration";
import { type Fact, Facts } from "../../../components/Facts";
import { TextLink } from "../../../components/TextLink";
import { Time } from "../../../components/Time";
import { shellLine, shortId } from "../../../lib/names";
import { formatBytes, formatGpus } from "../../../lib/quantity";
import { CommitLink, InputLinks } from "./InputLinks";

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
        <Facts facts={[...times(job), ...place(job), ...data(job)]} />
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
  const asked = [
    job.cpu > 0 && `${job.cpu} CPU`,
    job.memory_bytes > 0 && formatBytes(job.memory_bytes),
    job.gpu_hundredths > 0 && `${formatGpus(job.gpu_hundredths)} GPU${shareOf(job)}`,
  ].filter(Boolean);
  return [
    { name: "Compute", value: job.compute ? `${job.compute}${job.node ? ` (${job.node})` : ""}` : "–" },
    { name: "Asked for", value: asked.join(", ") || "best effort" },
    { name: "Image", value: job.image ?? "the machine's own" },
  ];
}

/** How a part of a GPU is kept to where the job was placed. */
function shareOf(job: Job): string {
  if (job.gpu_share === "accounted") return " (accounted, not enforced)";
  return job.gpu_share === "enforced" ? " (enforced)" : "";
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
    { name: "Inputs", value: <InputLinks inputs={job.inputs} /> },
    {
      name: "Outputs",
      value: <CommitLink project={job.project} dataset=".outputs" commit={job.output_commit} />,
    },
    { name: "Run", value: run },
    { name: "Id", value: <span className="mono">{job.id}</span> },
  ];
}
