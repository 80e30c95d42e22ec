import { Table } from "@mantine/core";
import { useInfiniteQuery } from "@tanstack/react-query";
import { nestedRunsQuery } from "../../../api/runs";
import type { Run, RunDetails } from "../../../api/shapes";
import { Duration } from "../../../components/Duration";
import { Paged } from "../../../components/Paged";
import { Section } from "../../../components/Section";
import { Status } from "../../../components/Status";
import { TextLink } from "../../../components/TextLink";
import { formatMetric } from "../../../lib/metric";
import { plural } from "../../../lib/quantity";

/** Runs that were begun inside this one. */
export function NestedRuns({ run }: { run: RunDetails }) {
  const children = run.children ?? 0;
  const place = { project: run.project, run: run.id };
  const result = useInfiniteQuery({ ...nestedRunsQuery(place), enabled: children > 0 });
  if (children === 0) return null;
  return (
    <Section title={plural(children, "nested run")}>
      <Paged result={result} empty={null}>
        {(runs) => (
          <Table.ScrollContainer minWidth={460}>
            <Table aria-label="Nested runs" fz="sm">
              <Table.Tbody>
                {runs.map((one) => (
                  <Row key={one.id} run={one} />
                ))}
              </Table.Tbody>
            </Table>
          </Table.ScrollContainer>
        )}
      </Paged>
    </Section>
  );
}

function Row({ run }: { run: Run }) {
  const metrics = Object.entries(run.metrics).slice(0, 2);
  return (
    <Table.Tr>
      <Table.Td>
        <TextLink
          to="/projects/$project/runs/$run"
          params={{ project: run.project, run: run.id }}
          size="sm"
          className="row-name"
        >
          {run.name}
        </TextLink>
      </Table.Td>
      <Table.Td>
        <Status state={run.job_state ?? run.state} />
      </Table.Td>
      <Table.Td>
        <Duration start={run.started_at} end={run.ended_at} />
      </Table.Td>
      <Table.Td className="mono" style={{ overflowWrap: "anywhere" }}>
        {metrics.map(([key, value]) => `${key} ${formatMetric(value)}`).join("  ")}
      </Table.Td>
    </Table.Tr>
  );
}
