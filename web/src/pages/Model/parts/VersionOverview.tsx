import { Paper, SimpleGrid, Stack, Table, Text } from "@mantine/core";
import { useChangeVersion } from "../../../api/models";
import { useMay } from "../../../api/session";
import type { ModelVersion } from "../../../api/shapes";
import { CommandLine } from "../../../components/Copyable";
import { EditableMarkdown } from "../../../components/EditableMarkdown";
import { tell } from "../../../components/notify";
import { Section } from "../../../components/Section";
import { TagEditor } from "../../../components/TagEditor";
import { byName, formatNumber } from "../../../lib/metric";
import { shellQuote } from "../../../lib/names";
import { FilteredRows } from "../../Run/parts/FilteredRows";
import { Origin } from "./Origin";
import { VersionCheck } from "./VersionCheck";

/** What a version is, how it is used, what was known when it was registered. */
export function VersionOverview({ version }: { version: ModelVersion }) {
  const metrics = Object.keys(version.metrics).sort(byName);
  const params = Object.keys(version.params).sort(byName);
  const columns = Object.keys(version.signature_columns);
  return (
    <Stack gap="xl">
      <Described version={version} />
      <Origin version={version} />
      <VersionCheck version={version} />
      <SimpleGrid cols={{ base: 1, md: 2 }}>
        <Rows title="Metrics" names={metrics} value={(name) => formatNumber(version.metrics[name])} />
        <Rows title="Parameters" names={params} value={(name) => version.params[name] ?? ""} />
      </SimpleGrid>
      <SimpleGrid cols={{ base: 1, md: 2 }}>
        <Rows
          title="Signature"
          names={columns}
          value={(name) => version.signature_columns[name] ?? ""}
          empty="Not known. It is read from a file MLmodel, or given when a version is registered."
        />
        <VersionTags version={version} />
      </SimpleGrid>
      <Use version={version} />
    </Stack>
  );
}

function Described({ version }: { version: ModelVersion }) {
  const may = useMay(version.project, "member");
  const change = useChange(version);
  return (
    <EditableMarkdown
      title="Description"
      text={version.description}
      hint="What is new in this version."
      may={may}
      onSave={(description) => change.mutateAsync({ description })}
    />
  );
}

function VersionTags({ version }: { version: ModelVersion }) {
  const may = useMay(version.project, "member");
  const change = useChange(version);
  return (
    <TagEditor tags={version.tags} may={may} onPut={(tags) => void tell(change.mutateAsync({ tags }))} />
  );
}

function useChange({ project, model, version }: ModelVersion) {
  return useChangeVersion({ project, model, version: String(version) });
}

interface RowsProps {
  title: string;
  names: readonly string[];
  value: (name: string) => string;
  empty?: string;
}

function Rows({ title, names, value, empty }: RowsProps) {
  return (
    <Section title={title}>
      <FilteredRows label={title} names={names} empty={empty ?? `No ${title.toLowerCase()}.`}>
        {(name) => (
          <Table.Tr key={name}>
            <Table.Th scope="row" w="50%" fw={500} style={{ overflowWrap: "anywhere" }}>
              {name}
            </Table.Th>
            <Table.Td style={{ overflowWrap: "anywhere" }}>{value(name)}</Table.Td>
          </Table.Tr>
        )}
      </FilteredRows>
    </Section>
  );
}

/** The lines by which scripts, jobs and MLflow's clients name this version. */
function Use({ version }: { version: ModelVersion }) {
  const written = `${version.model}@${version.version}`;
  const lines = [
    ["Download", `mill model download ${shellQuote(written)} --to model`],
    ["Serve it on this machine", `mill serve ${shellQuote(written)}`],
    ["Python", `millpond.Model(${JSON.stringify(written)}).path()`],
    [
      "In a job",
      `mill submit --data ${shellQuote(`${version.dataset}@${version.version}`)} -- python evaluate.py`,
    ],
    ["MLflow", `models:/${version.model}/${version.version}`],
    ...version.aliases.map((alias) => [`As ${alias}`, `models:/${version.model}@${alias}`] as const),
  ] as const;
  return (
    <Section title="Use it" bare>
      <Paper withBorder p="md">
        <Stack gap="xs">
          {lines.map(([name, line]) => (
            <div key={name}>
              <Text size="xs" c="dimmed">
                {name}
              </Text>
              <CommandLine command={line} />
            </div>
          ))}
        </Stack>
      </Paper>
    </Section>
  );
}
