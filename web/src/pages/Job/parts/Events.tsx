import { List, Paper, Table, Text, Title } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { attemptsQuery } from "../../../api/jobs";
import type { Job } from "../../../api/shapes";
import { Time } from "../../../components/Time";
import { eventsOf, remarksOn } from "./jobEvents";

/** What happened to a job and when, and every remark on where it was put and why. */
export function Events({ job }: { job: Job }) {
  const attempts = useQuery(attemptsQuery({ project: job.project, job: job.id })).data?.items ?? [];
  return (
    <section aria-label="Events">
      <Title order={2} size="h4" mb="xs">
        Events
      </Title>
      <Paper withBorder>
        <Table aria-label="Events">
          <Table.Tbody>
            {eventsOf(job, attempts).map(({ at, what, why }, index) => (
              <Table.Tr key={index}>
                <Table.Th scope="row" w={150} fw={400}>
                  <Time at={at} />
                </Table.Th>
                <Table.Td>
                  {what}
                  {why && (
                    <Text size="xs" c="dimmed" style={{ overflowWrap: "anywhere" }}>
                      {why}
                    </Text>
                  )}
                </Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
        <Remarks reasons={remarksOn(job)} />
      </Paper>
    </section>
  );
}

function Remarks({ reasons }: { reasons: string[] }) {
  if (reasons.length === 0) return null;
  return (
    <List size="sm" c="dimmed" p="md" pt="xs" listStyleType="none" aria-label="Remarks">
      {reasons.map((reason, index) => (
        <List.Item key={index}>{reason}</List.Item>
      ))}
    </List>
  );
}
