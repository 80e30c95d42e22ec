import { Alert, Badge, Group, List, Paper, Stack, Table, Text } from "@mantine/core";
import { IconInfoCircle } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { whyQuery } from "../../../api/jobs";
import type { Blocker, Job, Why } from "../../../api/shapes";
import { CommandLine } from "../../../components/Copyable";
import { JobLink } from "../../../components/JobLink";
import { Time } from "../../../components/Time";
import { shellQuote, splitWritten } from "../../../lib/names";
import { ScoreTable } from "./ScoreTable";
import { WAITING, withoutWaiting } from "./states";

/** Why a job waits: the rule, in words, who holds what it needs, when it can start. As `mill why` says it. */
export function WhyWaiting({ job }: { job: Job }) {
  const place = { project: job.project, job: job.id };
  // Who holds what changes without an event of this job.
  const why = useQuery({ ...whyQuery(place), refetchInterval: 10_000 }).data;
  return (
    <Stack component="section" aria-label={`Why it is ${job.state}`}>
      <Alert color="blue" icon={<IconInfoCircle />} title={`Why it is ${job.state}`}>
        <Stack gap="sm">
          {why && <Facts why={why} />}
          <List size="sm" spacing={4}>
            {currentReasons(why?.reasons ?? job.reasons).map((reason, index) => (
              <List.Item key={index}>{reason}</List.Item>
            ))}
          </List>
        </Stack>
      </Alert>
      {why && why.blockers.length > 0 && <Blockers blockers={why.blockers} />}
      {why && <ScoreTable places={why.places} />}
      <CommandLine command={`mill why ${shellQuote(job.id)} --project ${shellQuote(job.project)}`} />
    </Stack>
  );
}

/** What it waits for, and for whom it was preempted; what happened before stands with the events. */
function currentReasons(reasons: readonly string[]): string[] {
  const current = reasons.filter((reason) => reason.startsWith(WAITING) || reason.startsWith("Preempted at"));
  return (current.length ? current : reasons).map(withoutWaiting);
}

function Facts({ why }: { why: Why }) {
  return (
    <Group gap="md">
      {why.rule && (
        <Badge variant="outline" tt="none">
          Rule: {why.rule}
        </Badge>
      )}
      {why.nominated_on && <Text size="sm">Starts on {why.nominated_on} when its jobs have ended.</Text>}
      {why.earliest_start && (
        <Text size="sm" component="div">
          Earliest start: <Time at={why.earliest_start} />
        </Text>
      )}
    </Group>
  );
}

function Blockers({ blockers }: { blockers: Blocker[] }) {
  return (
    <Paper withBorder>
      <Table.ScrollContainer
        minWidth={420}
        scrollAreaProps={{ viewportProps: { tabIndex: 0, "aria-label": "Jobs that hold what it needs" } }}
      >
        <Table aria-label="Jobs that hold what it needs" fz="sm">
          <Table.Thead>
            <Table.Tr>
              {["Held by", "GPUs", "Quota", "Ends"].map((name) => (
                <Table.Th key={name}>{name}</Table.Th>
              ))}
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {blockers.map((blocker, index) => (
              <Table.Tr key={blocker.id ?? index}>
                <Table.Td>
                  <Holder blocker={blocker} />
                </Table.Td>
                <Table.Td>{blocker.gpus}</Table.Td>
                <Table.Td>{blocker.over_quota ? "over quota" : "in quota"}</Table.Td>
                <Table.Td>{blocker.ends_at ? <Time at={blocker.ends_at} /> : "no time limit"}</Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      </Table.ScrollContainer>
    </Paper>
  );
}

function Holder({ blocker: { id, job, project } }: { blocker: Blocker }) {
  if (id === null || job === null || project === null) return "a job of another project";
  return (
    <JobLink project={project} job={id}>
      {project}/{splitWritten(job).name || job}
    </JobLink>
  );
}
