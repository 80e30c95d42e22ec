/** Two runs of a flow beside each other. */
import { Breadcrumbs, Group, Select, Stack, Switch, Table, Text } from "@mantine/core";
import { useQueries, useQuery } from "@tanstack/react-query";
import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { lazy, type ReactNode, Suspense } from "react";
import { flowRunQuery, flowRunsQuery } from "../../api/flows";
import { runQuery } from "../../api/runs";
import type { FlowRun } from "../../api/shapes";
import { BriefEmptyState } from "../../components/EmptyState";
import { Loaded } from "../../components/Loaded";
import { PageHeader } from "../../components/PageHeader";
import { Section } from "../../components/Section";
import { Status } from "../../components/Status";
import { TextLink } from "../../components/TextLink";
import { Time } from "../../components/Time";
import { WaitingRows } from "../../components/Waiting";
import { formatSeconds } from "../../lib/quantity";
import { componentsOf, dataOf, durationsOf, outputsOf, type Row, rowsOf, statesOf } from "./comparing";
import { writeValue } from "./editor/inspector/values";
import { filesPlace } from "./parts/places";
import { startedBy } from "./parts/startedBy";

const TextDiff = lazy(() =>
  import("../../components/TextDiff").then((found) => ({ default: found.TextDiff })),
);
const route = getRouteApi("/in/projects/$project/flows/$flow/compare");
const ROUTE = "/projects/$project/flows/$flow/compare";
/** Steps whose metrics are asked for. */
const MOST_RUNS = 30;

export function CompareFlowRuns() {
  const place = route.useParams();
  const { a, b, all = false } = route.useSearch();
  const navigate = useNavigate();
  const runs = useQuery(flowRunsQuery(place)).data?.items ?? [];
  const choose = (given: { a?: string; b?: string; all?: boolean }) =>
    void navigate({ to: ROUTE, params: place, search: (before) => ({ ...before, ...given }), replace: true });
  // An address may name a run as NAME#NUMBER.
  const idOf = (given?: string) => runs.find((run) => run.id === given || run.written === given)?.id ?? null;
  const data = runs.map((run) => ({
    value: run.id,
    label: `#${run.number} · ${run.state} · version ${run.version}`,
  }));
  return (
    <>
      <PageHeader
        title={`Compare runs of ${place.flow}`}
        above={
          <Breadcrumbs>
            <TextLink to="/flows" search={{ project: place.project }} size="sm">
              Flows
            </TextLink>
            <TextLink to="/projects/$project/flows/$flow" params={place} search={{ tab: "runs" }} size="sm">
              {place.flow}
            </TextLink>
          </Breadcrumbs>
        }
        below={
          <Group gap="sm" mt="xs" align="flex-end">
            <Select
              label="Before"
              data={data}
              value={idOf(a)}
              onChange={(id) => choose({ a: id ?? undefined })}
            />
            <Select
              label="After"
              data={data}
              value={idOf(b)}
              onChange={(id) => choose({ b: id ?? undefined })}
            />
            <Switch
              label="Show what is the same, too"
              mb={8}
              checked={all}
              onChange={(event) => choose({ all: event.currentTarget.checked || undefined })}
            />
          </Group>
        }
      />
      {a && b ? (
        <Both project={place.project} a={a} b={b} isAll={all} />
      ) : (
        <BriefEmptyState words="Choose two runs." />
      )}
    </>
  );
}

function Both({ project, a, b, isAll }: { project: string; a: string; b: string; isAll: boolean }) {
  const one = useQuery(flowRunQuery({ project, flow_run: a }));
  const other = useQuery(flowRunQuery({ project, flow_run: b }));
  return (
    <Loaded result={one}>
      {(before) => <Loaded result={other}>{(after) => <Parts a={before} b={after} isAll={isAll} />}</Loaded>}
    </Loaded>
  );
}

function Parts({ a, b, isAll }: { a: FlowRun; b: FlowRun; isAll: boolean }) {
  const metrics = useMetrics(a, b);
  const tables: [string, Row[]][] = [
    ["Parameters", rowsOf(a.params, b.params)],
    ["Components and code", rowsOf(componentsOf(a), componentsOf(b))],
    ["Data", rowsOf(dataOf(a), dataOf(b))],
    ["Outputs", rowsOf(outputsOf(a), outputsOf(b))],
    ["Metrics", metrics],
    ["States", rowsOf(statesOf(a), statesOf(b))],
  ];
  return (
    <Stack gap="lg">
      <Heads a={a} b={b} />
      {tables.map(([title, rows]) => (
        <Differences key={title} title={title} rows={rows} isAll={isAll} />
      ))}
      <DurationTable a={a} b={b} />
      {a.text !== b.text && (
        <Section title={`Flow, from version ${a.version} to ${b.version}`} bare>
          <Suspense fallback={<WaitingRows />}>
            <TextDiff before={a.text ?? ""} after={b.text ?? ""} />
          </Suspense>
        </Section>
      )}
    </Stack>
  );
}

/** The newest value of each metric that the steps logged. */
function useMetrics(a: FlowRun, b: FlowRun): Row[] {
  const asked = [a, b].flatMap((run, side) =>
    run.steps.flatMap((step) =>
      step.run ? [{ side, project: run.project, run: step.run, name: nameOf(step.name, step.index) }] : [],
    ),
  );
  const shown = asked.slice(0, 2 * MOST_RUNS);
  const results = useQueries({ queries: shown.map(({ project, run }) => runQuery({ project, run })) });
  const sides: [Record<string, unknown>, Record<string, unknown>] = [{}, {}];
  shown.forEach(({ side, name }, index) => {
    for (const [metric, value] of Object.entries(results[index]?.data?.metrics ?? {})) {
      (sides[side as 0 | 1] as Record<string, unknown>)[`${name}.${metric}`] = value;
    }
  });
  return rowsOf(...sides);
}

function nameOf(step: string, index: number | null): string {
  return index === null ? step : `${step}[${index}]`;
}

function Heads({ a, b }: { a: FlowRun; b: FlowRun }) {
  const cells: [string, (run: FlowRun) => ReactNode][] = [
    ["State", (run) => <Status state={run.state as never} />],
    ["Version", (run) => run.version],
    ["Started", (run) => <Time at={run.created_at} />],
    ["Started by", startedBy],
  ];
  return (
    <Section title="Runs">
      <Table aria-label="Runs" layout="fixed">
        <Table.Thead>
          <Table.Tr>
            <Table.Th w="24%" aria-label="What" />
            {[a, b].map((run, side) => (
              <Table.Th key={side}>
                <TextLink
                  to="/projects/$project/flow-runs/$run"
                  params={{ project: run.project, run: run.id }}
                  size="sm"
                >
                  {run.flow} #{run.number}
                </TextLink>
              </Table.Th>
            ))}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {cells.map(([name, show]) => (
            <Table.Tr key={name}>
              <Table.Td>{name}</Table.Td>
              <Table.Td>{show(a)}</Table.Td>
              <Table.Td>{show(b)}</Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Section>
  );
}

function Differences({ title, rows, isAll }: { title: string; rows: readonly Row[]; isAll: boolean }) {
  if (rows.length === 0) return null;
  const shown = rows.filter((row) => isAll || !row.isSame);
  if (shown.length === 0)
    return (
      <Section title={title} bare>
        <Text size="sm" c="dimmed">
          The same in both runs.
        </Text>
      </Section>
    );
  return (
    <Section title={title}>
      <Table aria-label={title} layout="fixed">
        <Table.Tbody>
          {shown.map((row) => (
            <Table.Tr key={row.name}>
              <Table.Td w="24%" className="mono" style={{ overflowWrap: "anywhere" }}>
                {row.name}
              </Table.Td>
              <Table.Td className={row.isSame ? undefined : "flow-before"}>
                <Cell value={row.a} />
              </Table.Td>
              <Table.Td className={row.isSame ? undefined : "flow-after"}>
                <Cell value={row.b} change={changeOf(row)} />
              </Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Section>
  );
}

function Cell({ value, change }: { value: unknown; change?: string }) {
  const place = filesPlace(value);
  if (place)
    return (
      <TextLink
        to="/projects/$project/datasets/$dataset"
        params={{ project: place.project, dataset: place.dataset }}
        search={{ tab: "files", ref: place.commit, path: place.path || undefined }}
        size="sm"
      >
        {place.dataset}@<span className="mono">{place.commit.slice(0, 12)}</span>
        {place.path && `:${place.path}`}
      </TextLink>
    );
  if (value === undefined) return <Text size="sm">–</Text>;
  return (
    <Text size="sm" style={{ overflowWrap: "anywhere" }}>
      {typeof value === "number" ? Number(value.toPrecision(6)) : writeValue(value)}
      {change && (
        <Text span size="xs" c="dimmed">
          {" "}
          {change}
        </Text>
      )}
    </Text>
  );
}

/** `+3.1 %` between numbers. */
function changeOf({ a, b }: Row): string | undefined {
  if (typeof a !== "number" || typeof b !== "number" || a === b || a === 0) return undefined;
  const percent = (100 * (b - a)) / Math.abs(a);
  return `${percent > 0 ? "+" : ""}${Number(percent.toPrecision(3))} %`;
}

function DurationTable({ a, b }: { a: FlowRun; b: FlowRun }) {
  const rows = durationsOf(a, b);
  const most = Math.max(...rows.flatMap((row) => [row.a ?? 0, row.b ?? 0]), 0.001);
  if (rows.length === 0) return null;
  return (
    <Section title="Durations">
      <Table aria-label="Durations" layout="fixed">
        <Table.Tbody>
          {rows.map((row) => (
            <Table.Tr key={row.name}>
              <Table.Td w="24%" className="mono">
                {row.name}
              </Table.Td>
              {[row.a, row.b].map((seconds, side) => (
                <Table.Td key={side}>
                  {seconds === null ? (
                    "–"
                  ) : (
                    <Group gap="xs" wrap="nowrap">
                      <span
                        className="flow-length"
                        style={{ width: `${(60 * seconds) / most}%` }}
                        aria-hidden
                      />
                      <Text size="sm" className="unbroken">
                        {formatSeconds(seconds)}
                      </Text>
                    </Group>
                  )}
                </Table.Td>
              ))}
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Section>
  );
}
