import { Box, Paper, Stack, Text } from "@mantine/core";
import type { Job } from "../../../api/shapes";
import { CommitLink } from "../../../components/CommitLink";
import { CommandLine } from "../../../components/Copyable";
import { Duration } from "../../../components/Duration";
import { type Fact, Facts } from "../../../components/Facts";
import { TextLink } from "../../../components/TextLink";
import { Time } from "../../../components/Time";
import { shellLine } from "../../../lib/names";
import type { Recorded } from "../tabs";
import { originOf } from "./origin";

interface Props extends Recorded {
  /** Beside another tab than the overview: left out where the screen is narrow. */
  brief: boolean;
}

/** What ran, when, where, from which commit to which. */
export function RunSummary({ run, job, brief }: Props) {
  const command = job?.command ?? originOf(run).command;
  return (
    <Box visibleFrom={brief ? "sm" : undefined}>
      <Paper withBorder p="md" mb="md" component="section" aria-label="Summary">
        <Stack gap="sm">
          {command.length > 0 && (
            <div>
              <Text size="xs" c="dimmed" mb={2}>
                Input
              </Text>
              <CommandLine command={shellLine(command)} />
            </div>
          )}
          <Facts facts={[...(job ? factsOfJob(job) : factsOfScript(run)), ...searchFacts(run)]} />
        </Stack>
      </Paper>
    </Box>
  );
}

function factsOfJob(job: Job): Fact[] {
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
    { name: "Compute", value: <ComputeLink job={job} /> },
    { name: "Image", value: job.image ?? "the machine's own" },
    {
      name: "Start commit",
      value: <CommitLink project={job.project} dataset=".code" commit={job.code_commit} />,
    },
    {
      name: "End commit",
      value: <CommitLink project={job.project} dataset=".outputs" commit={job.output_commit} />,
    },
  ];
}

/** Of a trial: the search that chose its parameters. */
function searchFacts(run: Recorded["run"]): Fact[] {
  const { search_id: search, trial } = run.tags;
  if (!search) return [];
  const link = (
    <TextLink to="/projects/$project/searches/$search" params={{ project: run.project, search }} size="sm">
      <span className="mono">{search}</span>
    </TextLink>
  );
  return [
    { name: "Search id", value: link },
    { name: "Trial", value: trial ?? "–" },
  ];
}

function ComputeLink({ job }: { job: Job }) {
  if (!job.compute) return "–";
  return (
    <>
      <TextLink to="/compute/$compute" params={{ compute: job.compute }} size="sm">
        {job.compute}
      </TextLink>
      {job.template && ` · ${job.template}`}
      {job.node && job.node !== job.compute && ` (${job.node})`}
    </>
  );
}

function factsOfScript(run: Recorded["run"]): Fact[] {
  const { host, git } = originOf(run);
  return [
    { name: "Duration", value: <Duration start={run.started_at} end={run.ended_at} /> },
    { name: "Start", value: <Time at={run.started_at} /> },
    { name: "End", value: <Time at={run.ended_at} /> },
    { name: "Started by", value: "a script, without a job" },
    ...(host ? [{ name: "Host", value: host }] : []),
    ...(git ? [{ name: "Git commit", value: <span className="mono">{git.commit.slice(0, 12)}</span> }] : []),
  ];
}
