import { Table, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { attemptsQuery } from "../../../api/jobs";
import type { Attempt, Job } from "../../../api/shapes";
import { Duration } from "../../../components/Duration";
import { Section } from "../../../components/Section";
import { Time } from "../../../components/Time";
import { endingWords } from "./states";

/** Every attempt to run a job, once there was more than one: where, when, and why each ended. */
export function Attempts({ job }: { job: Job }) {
  const place = { project: job.project, job: job.id };
  const attempts = useQuery({ ...attemptsQuery(place), enabled: job.attempt > 1 }).data?.items ?? [];
  if (job.attempt < 2 || attempts.length === 0) return null;
  return (
    <Section title="Attempts">
      <Table.ScrollContainer
        minWidth={600}
        scrollAreaProps={{ viewportProps: { tabIndex: 0, "aria-label": "Attempts" } }}
      >
        <Table aria-label="Attempts">
          <Table.Thead>
            <Table.Tr>
              {["Attempt", "Compute", "Placed", "Ran for", "How it ended"].map((word) => (
                <Table.Th key={word}>{word}</Table.Th>
              ))}
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {attempts.map((attempt) => (
              <Row key={attempt.id} attempt={attempt} />
            ))}
          </Table.Tbody>
        </Table>
      </Table.ScrollContainer>
    </Section>
  );
}

function Row({ attempt }: { attempt: Attempt }) {
  const ended = attempt.ended_at === null ? attempt.state : (endingWords(attempt) ?? "succeeded");
  return (
    <Table.Tr>
      <Table.Td>{attempt.number}</Table.Td>
      <Table.Td>
        {attempt.compute}
        {attempt.node !== attempt.compute && ` (${attempt.node})`}
      </Table.Td>
      <Table.Td>
        <Time at={attempt.created_at} />
      </Table.Td>
      <Table.Td>
        <Duration start={attempt.started_at} end={attempt.exited_at ?? attempt.ended_at} />
      </Table.Td>
      <Table.Td>
        {ended}
        {attempt.problem && attempt.problem !== ended && (
          <Text size="xs" c="dimmed">
            {attempt.problem}
          </Text>
        )}
      </Table.Td>
    </Table.Tr>
  );
}
