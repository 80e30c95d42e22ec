/** What was measured of a project's models, as the tables of TR-4886, beside what that document found. */
import { Badge, Stack, Table, Text, Tooltip } from "@mantine/core";
import { IconGauge } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { mlperfQuery } from "../../api/mlperf";
import type { MlperfResult, MlperfRow, MlperfTable } from "../../api/shapes";
import { CommandLine } from "../Copyable";
import { EmptyState } from "../EmptyState";
import { Loaded } from "../Loaded";
import { Section } from "../Section";
import { TextLink } from "../TextLink";
import { Time } from "../Time";
import { detailWords, ratioWords, resultWords, setupWords } from "./words";

/** `model`: what the command that measures more is to name. */
export function MlperfTables({ project, model = "MODEL@VERSION" }: { project: string; model?: string }) {
  const result = useQuery(mlperfQuery(project));
  const command = `mill perf mlperf ${model} --servers 1,2 --storage local,shared`;
  return (
    <Loaded result={result}>
      {({ measured, tables }) =>
        measured === 0 ? (
          <EmptyState
            icon={IconGauge}
            sentence="Nothing measured yet. MLPerf's own load generator measures a model on this machine, an endpoint or a URL."
            command={command}
          />
        ) : (
          <Stack>
            <Text size="sm" c="dimmed">
              The newest result of each task of TR-4886 (edge inference), measured in {project} by MLPerf's
              load generator. The document shows its numbers as pictures; its last row says what its text
              tells of them.
            </Text>
            {tables.map((table) => (
              <ScenarioTable key={table.scenario} project={project} table={table} />
            ))}
            <CommandLine command={command} />
          </Stack>
        )
      }
    </Loaded>
  );
}

function ScenarioTable({ project, table }: { project: string; table: MlperfTable }) {
  const title = `${table.title}, ${table.unit}`;
  return (
    <Section title={`${title} (${table.higher_is_better ? "more" : "less"} is better)`}>
      <Table.ScrollContainer
        minWidth={260 + 110 * (table.setups.length + 2)}
        scrollAreaProps={{ viewportProps: { tabIndex: 0, "aria-label": title } }}
      >
        <Table aria-label={title}>
          <Table.Thead>
            <Table.Tr>
              <Table.Th scope="col">Task</Table.Th>
              {table.setups.map((setup) => (
                <Table.Th key={setupWords(setup)} scope="col">
                  {setupWords(setup)}
                </Table.Th>
              ))}
              <Table.Th scope="col">Shared to local</Table.Th>
              <Table.Th scope="col">Two servers to one</Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {table.rows.map((row) => (
              <TaskRow key={row.task} project={project} table={table} row={row} />
            ))}
            {table.document && (
              <Table.Tr>
                <Table.Th scope="row" colSpan={table.setups.length + 1}>
                  TR-4886
                </Table.Th>
                <Table.Td>{table.document.shared_to_local}</Table.Td>
                <Table.Td>{table.document.two_to_one}</Table.Td>
              </Table.Tr>
            )}
          </Table.Tbody>
        </Table>
      </Table.ScrollContainer>
    </Section>
  );
}

function TaskRow({ project, table, row }: { project: string; table: MlperfTable; row: MlperfRow }) {
  return (
    <Table.Tr>
      <Table.Th scope="row" fw={500}>
        {row.title}
        {row.model && (
          <Text size="xs" c="dimmed">
            {row.model}, {row.dataset}
          </Text>
        )}
      </Table.Th>
      {table.setups.map((setup, index) => (
        <Table.Td key={setupWords(setup)}>
          <Result project={project} result={row.results[index] ?? null} />
        </Table.Td>
      ))}
      <Table.Td>{ratioWords(row.shared_to_local)}</Table.Td>
      <Table.Td>{ratioWords(row.two_to_one)}</Table.Td>
    </Table.Tr>
  );
}

function Result({ project, result }: { project: string; result: MlperfResult | null }) {
  if (!result) {
    return (
      <Text size="sm" c="dimmed">
        {resultWords(result)}
      </Text>
    );
  }
  return (
    <>
      <Tooltip
        label={detailWords(result)}
        multiline
        maw={360}
        events={{ hover: true, focus: true, touch: true }}
      >
        <TextLink to="/projects/$project/runs/$run" params={{ project, run: result.run }} size="sm" fw={600}>
          {resultWords(result)}
        </TextLink>
      </Tooltip>
      {!result.valid && (
        <Badge color="red" variant="light" size="sm" ml={6}>
          INVALID
        </Badge>
      )}
      <Text size="xs" c="dimmed">
        {result.model} <Time at={result.at} />
      </Text>
    </>
  );
}
