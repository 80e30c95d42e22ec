import { Table, Text } from "@mantine/core";
import type { PlaceScore } from "../../../api/shapes";
import { Section } from "../../../components/Section";
import { formatBytes, formatSeconds } from "../../../lib/quantity";

const COLUMNS = ["Place", "Wait", "Data", "Wait cost", "Data cost", "Compute", "Transfer", "Score"];

/** What each place costs a job; the one with the least score is taken. As `mill why` prints it. */
export function ScoreTable({ places }: { places: PlaceScore[] }) {
  // Where there was no choice and nothing costs anything, there is nothing to compare.
  if (places.length < 2 && !places.some((place) => place.score)) return null;
  return (
    <Section title="Where it can run">
      <Table.ScrollContainer
        minWidth={700}
        scrollAreaProps={{ viewportProps: { tabIndex: 0, "aria-label": "Places" } }}
      >
        <Table aria-label="Places" fz="sm">
          <Table.Thead>
            <Table.Tr>
              {COLUMNS.map((name) => (
                <Table.Th key={name}>{name}</Table.Th>
              ))}
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {places.map((place) => (
              <Row key={`${place.place} ${place.template}`} place={place} />
            ))}
          </Table.Tbody>
        </Table>
      </Table.ScrollContainer>
      <Text size="xs" c="dimmed" p="xs">
        Costs are in the currency of your prices. The place with the least score is taken.
      </Text>
    </Section>
  );
}

function Row({ place }: { place: PlaceScore }) {
  return (
    <Table.Tr>
      <Table.Td>
        <Text size="sm" fw={place.chosen ? 700 : 400}>
          {place.place}
          {place.template && ` (${place.template})`}
          {place.chosen && " · chosen"}
        </Text>
        {place.note && (
          <Text size="xs" c="dimmed">
            {place.note}
          </Text>
        )}
      </Table.Td>
      <Table.Td>{place.wait_seconds === null ? "unknown" : secondsOf(place.wait_seconds)}</Table.Td>
      <Table.Td>
        {place.missing_bytes
          ? `${formatBytes(place.missing_bytes)} in ${formatSeconds(place.fill_seconds)}`
          : "there"}
      </Table.Td>
      {[place.wait_cost, place.fill_cost, place.compute_cost, place.egress_cost, place.score].map(
        (cost, at) => (
          <Table.Td key={COLUMNS[at + 3]}>{costOf(cost)}</Table.Td>
        ),
      )}
    </Table.Tr>
  );
}

function secondsOf(seconds: number): string {
  return seconds > 0 ? formatSeconds(seconds) : "none";
}

/** `0.25`; four digits of a small amount, so that no cost looks like none. */
export function costOf(cost: number | null): string {
  if (cost === null) return "unknown";
  if (cost === 0) return "0";
  return cost < 0.01 ? cost.toPrecision(2) : cost.toFixed(2);
}
