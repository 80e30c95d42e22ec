import { Button, Checkbox, Group, MultiSelect, Paper, Stack, Text, VisuallyHidden } from "@mantine/core";
import { IconArrowsDiff } from "@tabler/icons-react";
import { createColumnHelper } from "@tanstack/react-table";
import { useMemo, useState } from "react";
import type { ModelVersion } from "../../../api/shapes";
import { DataTable } from "../../../components/DataTable";
import { ModelLink } from "../../../components/ModelLink";
import { TextLink } from "../../../components/TextLink";
import { Time } from "../../../components/Time";
import { formatNumber } from "../../../lib/metric";
import { formatBytes, plural } from "../../../lib/quantity";
import { Aliases } from "./Aliases";
import { chosenMetrics, metricNames, writeChosen } from "./metricNames";
import { StageSelect } from "./StageSelect";

interface Props {
  versions: ModelVersion[];
  /** Chosen metrics, by commas. */
  metrics: string | undefined;
  onMetrics: (metrics: string | undefined) => void;
  onCompare: (before: string, after: string) => void;
}

const column = createColumnHelper<ModelVersion>();

/** Versions with aliases, stage and the metrics that somebody chose; two of them are compared. */
export function VersionTable({ versions, metrics, onMetrics, onCompare }: Props) {
  const [selected, setSelected] = useState<readonly number[]>([]);
  const known = useMemo(() => metricNames(versions), [versions]);
  const shown = chosenMetrics(known, metrics);
  // Of three, the two that were chosen last.
  const choose = (number: number, on: boolean) =>
    setSelected((before) =>
      [...before.filter((other) => other !== number), ...(on ? [number] : [])].slice(-2),
    );
  const [before, after] = [...selected].sort((a, b) => a - b);
  const columns = [
    column.display({
      id: "chosen",
      header: () => <VisuallyHidden>Compare</VisuallyHidden>,
      cell: ({ row }) => (
        <Checkbox
          size="xs"
          aria-label={`Select version ${row.original.version}`}
          checked={selected.includes(row.original.version)}
          onChange={(event) => choose(row.original.version, event.currentTarget.checked)}
        />
      ),
    }),
    ...FIRST,
    ...shown.map((name) =>
      column.accessor((version) => numberOf(version.metrics[name]), {
        id: `metric ${name}`,
        header: name,
        cell: ({ row }) => formatNumber(row.original.metrics[name]),
        sortUndefined: "last",
      }),
    ),
    ...LAST,
  ];
  return (
    <Stack>
      <Group justify="space-between" align="flex-end">
        <MultiSelect
          size="xs"
          label="Metrics as columns"
          miw={260}
          maw={700}
          data={known}
          value={shown}
          onChange={(names) => onMetrics(writeChosen(names))}
          searchable
          limit={100}
          disabled={known.length === 0}
        />
        <Button
          size="xs"
          variant="default"
          leftSection={<IconArrowsDiff size={16} aria-hidden />}
          disabled={after === undefined}
          onClick={() => onCompare(String(before), String(after))}
        >
          {after === undefined ? "Select two to compare" : `Compare versions ${before} and ${after}`}
        </Button>
      </Group>
      <Paper withBorder>
        <DataTable
          label="Versions"
          rows={versions}
          columns={columns}
          rowId={(version) => String(version.version)}
          minWidth={820}
        />
      </Paper>
    </Stack>
  );
}

const FIRST = [
  column.accessor("version", {
    header: "Version",
    cell: ({ row: { original: version } }) => (
      <>
        <ModelLink {...version}>Version {version.version}</ModelLink>
        {version.description && (
          <Text size="xs" c="dimmed" lineClamp={1} maw={260}>
            {version.description}
          </Text>
        )}
      </>
    ),
  }),
  column.display({ id: "aliases", header: "Aliases", cell: ({ row }) => <Aliases version={row.original} /> }),
  column.accessor("stage", { header: "Stage", cell: ({ row }) => <StageSelect version={row.original} /> }),
];

const LAST = [
  column.display({ id: "run", header: "Run", cell: ({ row }) => <RunCell version={row.original} /> }),
  column.accessor("bytes", {
    header: "Size",
    cell: ({ row: { original: version } }) =>
      version.state === "elsewhere" ? (
        "elsewhere"
      ) : (
        <span title={plural(version.files, "file")}>{formatBytes(version.bytes)}</span>
      ),
  }),
  column.accessor("created_at", {
    header: "Registered",
    cell: ({ row: { original: version } }) => (
      <>
        <Time at={version.created_at} /> by {version.created_by}
      </>
    ),
  }),
];

function RunCell({ version }: { version: ModelVersion }) {
  if (!version.run) return <>–</>;
  return (
    <TextLink
      to="/projects/$project/runs/$run"
      params={{ project: version.project, run: version.run }}
      size="sm"
      className="mono"
    >
      {version.run.slice(0, 8)}
    </TextLink>
  );
}

/** For the order of rows: those without a number come last. */
function numberOf(value: ModelVersion["metrics"][string] | undefined): number | undefined {
  return typeof value === "number" ? value : undefined;
}
