import { ActionIcon, Group, Paper, Select, Stack, Switch, Table, Text, Tooltip } from "@mantine/core";
import { IconArrowsExchange } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { modelComparisonQuery, newestVersionsQuery } from "../../../api/models";
import type { Model, ModelComparison, ModelVersion } from "../../../api/shapes";
import { CommandLine } from "../../../components/Copyable";
import { Loaded } from "../../../components/Loaded";
import { ModelLink } from "../../../components/ModelLink";
import { Section } from "../../../components/Section";
import { shellQuote } from "../../../lib/names";
import { Difference } from "../../Dataset/parts/Difference";
import { inputRows, type ValueRow, valueRows } from "./differences";
import { WrittenCommit } from "./WrittenCommit";

interface Props {
  model: Model;
  before: string | undefined;
  after: string | undefined;
  onChange: (sides: { before: string; after: string }) => void;
}

/** Two versions side by side; without a choice, the newest and the one before it. */
export function CompareTab({ model, before, after, onChange }: Props) {
  const place = { project: model.project, model: model.name };
  const versions = useQuery(newestVersionsQuery(place)).data?.items ?? [];
  const right = after ?? (versions[0] && String(versions[0].version));
  const left = before ?? (right && otherThan(model, right, versions));
  if (!left || !right) return <Text>A model with two versions can be compared here.</Text>;
  const choices = [...Object.keys(model.aliases), ...versions.map((one) => String(one.version))];
  return (
    <Stack>
      <Group align="flex-end" gap="xs">
        <Side
          label="Before"
          choices={choices}
          value={left}
          onChange={(side) => onChange({ before: side, after: right })}
        />
        <Tooltip label="Swap sides">
          <ActionIcon
            variant="default"
            size={36}
            aria-label="Swap sides"
            onClick={() => onChange({ before: right, after: left })}
          >
            <IconArrowsExchange size={18} />
          </ActionIcon>
        </Tooltip>
        <Side
          label="After"
          choices={choices}
          value={right}
          onChange={(side) => onChange({ before: left, after: side })}
        />
      </Group>
      <CommandLine command={`mill model compare ${shellQuote(model.name)} ${left} ${right}`} />
      <Compared model={model} before={left} after={right} />
    </Stack>
  );
}

/** The version before `right`, or any other where that is the first. */
function otherThan(model: Model, right: string, versions: readonly ModelVersion[]): string | undefined {
  const number = model.aliases[right] ?? Number(right);
  const other =
    versions.find((one) => one.version < number) ?? versions.find((one) => one.version !== number);
  return other && String(other.version);
}

interface SideProps {
  label: string;
  choices: readonly string[];
  value: string;
  onChange: (side: string) => void;
}

function Side({ label, choices, value, onChange }: SideProps) {
  return (
    <Select
      label={label}
      w={200}
      data={[...new Set([...choices, value])]}
      value={value}
      onChange={(side) => side && onChange(side)}
      allowDeselect={false}
      searchable
    />
  );
}

function Compared({ model, before, after }: { model: Model; before: string; after: string }) {
  const place = { project: model.project, model: model.name };
  const result = useQuery(modelComparisonQuery(place, before, after));
  const [all, setAll] = useState(false);
  return (
    <Loaded result={result}>
      {(found) => (
        <Stack gap="lg">
          <Switch label="Show equal values, too" checked={all} onChange={() => setAll(!all)} />
          <Values title="Metrics" found={found} rows={valueRows(found.metrics, all)} />
          <Values title="Parameters" found={found} rows={valueRows(found.params, all)} />
          <Values title="Signature" found={found} rows={valueRows(found.signature, all)} />
          <Values title="Tags" found={found} rows={valueRows(found.tags, all)} />
          <Values
            title="Data"
            found={found}
            rows={inputRows(found.before.inputs, found.after.inputs, all)}
            asCommits
          />
          <Section title="Files" bare>
            {found.before.state === "elsewhere" || found.after.state === "elsewhere" ? (
              <Text size="sm">The files of one of them are not in the lake.</Text>
            ) : (
              <Difference
                place={{ project: model.project, dataset: model.dataset }}
                before={found.before.commit}
                after={found.after.commit}
              />
            )}
          </Section>
        </Stack>
      )}
    </Loaded>
  );
}

interface ValuesProps {
  title: string;
  found: ModelComparison;
  rows: readonly ValueRow[];
  asCommits?: boolean;
}

function Values({ title, found, rows, asCommits = false }: ValuesProps) {
  const shown = (value: string) => (asCommits ? <WrittenCommit written={value} /> : value);
  return (
    <Section title={title} bare>
      {rows.length === 0 ? (
        <Text size="sm" c="dimmed">
          No differences.
        </Text>
      ) : (
        <Paper withBorder>
          <Table.ScrollContainer
            minWidth={480}
            scrollAreaProps={{ viewportProps: { tabIndex: 0, "aria-label": title } }}
          >
            <Table aria-label={title} verticalSpacing={6} layout="fixed">
              <Table.Thead>
                <Table.Tr>
                  <Table.Th w="28%">Name</Table.Th>
                  <Table.Th>
                    <ModelLink {...found.before} />
                  </Table.Th>
                  <Table.Th>
                    <ModelLink {...found.after} />
                  </Table.Th>
                  <Table.Th w={120}>Change</Table.Th>
                </Table.Tr>
              </Table.Thead>
              <Table.Tbody>
                {rows.map((row) => (
                  <Table.Tr key={row.key}>
                    <Table.Th scope="row" fw={500} style={{ overflowWrap: "anywhere" }}>
                      {row.key}
                    </Table.Th>
                    <Table.Td style={{ overflowWrap: "anywhere" }}>
                      {row.before === null ? "–" : shown(row.before)}
                    </Table.Td>
                    <Table.Td style={{ overflowWrap: "anywhere" }} fw={row.differs ? 600 : undefined}>
                      {row.after === null ? "–" : shown(row.after)}
                    </Table.Td>
                    <Table.Td>{row.change}</Table.Td>
                  </Table.Tr>
                ))}
              </Table.Tbody>
            </Table>
          </Table.ScrollContainer>
        </Paper>
      )}
    </Section>
  );
}
