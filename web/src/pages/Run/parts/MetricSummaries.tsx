import { Table, Text } from "@mantine/core";
import type { MetricSummary, RunDetails } from "../../../api/shapes";
import { Section } from "../../../components/Section";
import { formatMetric } from "../../../lib/metric";
import { FilteredRows } from "./FilteredRows";

/** Last, least and greatest value of each metric. */
export function MetricSummaries({ run }: { run: RunDetails }) {
  const summaries = run.summaries ?? {};
  return (
    <Section title="Metrics">
      <FilteredRows
        label="Metrics"
        names={Object.keys(summaries).sort()}
        empty='No metrics. Report some with millpond.log_metric("loss", 0.25, step=1).'
        head={
          <Table.Thead>
            <Table.Tr>
              {["Metric", "Last", "Min", "Max", "Points"].map((word, index) => (
                <Table.Th
                  key={word}
                  ta={index ? "right" : undefined}
                  visibleFrom={word === "Points" ? "sm" : undefined}
                >
                  {word}
                </Table.Th>
              ))}
            </Table.Tr>
          </Table.Thead>
        }
      >
        {(name) => <Row key={name} name={name} summary={summaries[name]} />}
      </FilteredRows>
    </Section>
  );
}

function Row({ name, summary }: { name: string; summary: MetricSummary | undefined }) {
  if (!summary) return null;
  return (
    <Table.Tr>
      <Table.Th scope="row" fw={500} miw="8rem" style={{ overflowWrap: "anywhere" }}>
        {name}
      </Table.Th>
      <Value value={summary.last} step={summary.last_step} />
      <Value value={summary.min} step={summary.min_step} />
      <Value value={summary.max} step={summary.max_step} />
      <Table.Td ta="right" visibleFrom="sm">
        {summary.points.toLocaleString("en")}
      </Table.Td>
    </Table.Tr>
  );
}

interface ValueProps {
  value: MetricSummary["min"] | undefined;
  step: number | null | undefined;
}

function Value({ value, step }: ValueProps) {
  return (
    <Table.Td ta="right" className="mono unbroken">
      {value === null || value === undefined ? "–" : typeof value === "number" ? formatMetric(value) : value}
      {step !== null && step !== undefined && (
        <Text size="xs" c="dimmed" component="div">
          step {step.toLocaleString("en")}
        </Text>
      )}
    </Table.Td>
  );
}
