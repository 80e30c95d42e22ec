import { Paper, Table, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { eventsQuery } from "../../../api/jobs";
import type { Job, JobEvent } from "../../../api/shapes";
import { CommandLine } from "../../../components/Copyable";
import { Loaded } from "../../../components/Loaded";
import { Section } from "../../../components/Section";
import { Time } from "../../../components/Time";
import { shellQuote } from "../../../lib/names";

const COLUMNS = ["When", "What", "Rule", "By", "Node", "Attempt"];

/** Every change of a job's state: when, why, under which rule and by whom. */
export function Events({ job }: { job: Job }) {
  const result = useQuery(eventsQuery({ project: job.project, job: job.id }));
  const command = `mill events ${shellQuote(job.id)} --project ${shellQuote(job.project)}`;
  return (
    <Section title="Events" bare actions={<CommandLine command={command} />}>
      <Loaded result={result}>{({ items }) => <EventTable events={items} />}</Loaded>
    </Section>
  );
}

function EventTable({ events }: { events: JobEvent[] }) {
  return (
    <Paper withBorder>
      <Table.ScrollContainer
        minWidth={650}
        scrollAreaProps={{ viewportProps: { tabIndex: 0, "aria-label": "Events" } }}
      >
        <Table aria-label="Events">
          <Table.Thead>
            <Table.Tr>
              {COLUMNS.map((name) => (
                <Table.Th key={name}>{name}</Table.Th>
              ))}
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {events.map((event, index) => (
              <Row key={index} event={event} />
            ))}
          </Table.Tbody>
        </Table>
      </Table.ScrollContainer>
    </Paper>
  );
}

function Row({ event }: { event: JobEvent }) {
  return (
    <Table.Tr>
      <Table.Td className="unbroken">
        <Time at={event.at} />
      </Table.Td>
      <Table.Td>
        {event.what}
        {event.why && (
          <Text size="xs" c="dimmed" style={{ overflowWrap: "anywhere" }}>
            {event.why}
          </Text>
        )}
      </Table.Td>
      <Table.Td>{event.rule ?? "–"}</Table.Td>
      <Table.Td>{event.by ?? "–"}</Table.Td>
      <Table.Td>{event.node ?? "–"}</Table.Td>
      <Table.Td>{event.attempt ?? "–"}</Table.Td>
    </Table.Tr>
  );
}
