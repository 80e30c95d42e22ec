import { Box, Stack, Text } from "@mantine/core";
import { createColumnHelper } from "@tanstack/react-table";
import { useMemo } from "react";
import type { Source } from "../../../api/shapes";
import { DataTable } from "../../../components/DataTable";
import { Status } from "../../../components/Status";
import { TextLink } from "../../../components/TextLink";
import { Time } from "../../../components/Time";
import { formatSeconds } from "../../../lib/quantity";
import { describeResult } from "./results";
import { SourceActions } from "./SourceActions";

const column = createColumnHelper<Source>();

const COLUMNS = [
  column.accessor("name", { header: "Source" }),
  column.accessor("state", {
    header: "State",
    cell: ({ getValue }) => (
      <Box miw={100}>
        <Status state={getValue()} />
      </Box>
    ),
  }),
  column.accessor("dataset", { header: "Into", cell: ({ row }) => <Into source={row.original} /> }),
  column.accessor("uri", { header: "From", cell: ({ row }) => <From source={row.original} /> }),
  column.display({ id: "last", header: "Last run", cell: ({ row }) => <LastRun source={row.original} /> }),
  column.accessor("next_at", {
    header: "Next run",
    cell: ({ getValue }) => (getValue() ? <Time at={getValue() as string} /> : "when resumed"),
  }),
];

export function SourceTable({ sources, mayChange }: { sources: Source[]; mayChange: boolean }) {
  const columns = useMemo(
    () =>
      mayChange
        ? [
            ...COLUMNS,
            column.display({
              id: "actions",
              header: "Actions",
              cell: ({ row }) => <SourceActions source={row.original} />,
            }),
          ]
        : COLUMNS,
    [mayChange],
  );
  return <DataTable label="Sources" rows={sources} columns={columns} rowId={(source) => source.id} />;
}

function Into({ source }: { source: Source }) {
  const { project, dataset, branch, path } = source;
  return (
    <Stack gap={0}>
      <TextLink to="/projects/$project/datasets/$dataset" params={{ project, dataset }}>
        {dataset}@{branch}
      </TextLink>
      {path && (
        <Text size="xs" c="dimmed">
          {path}/
        </Text>
      )}
    </Stack>
  );
}

function From({ source }: { source: Source }) {
  const how = source.copies ? "copied" : "registered in place";
  return (
    <Stack gap={0}>
      <Text size="sm" style={{ overflowWrap: "anywhere" }}>
        {source.uri}
      </Text>
      <Text size="xs" c="dimmed">
        {source.connection} · {how} · every {formatSeconds(source.every_seconds)}
      </Text>
    </Stack>
  );
}

function LastRun({ source }: { source: Source }) {
  if (!source.ended_at) return "not yet";
  return (
    <Stack gap={0}>
      <Time at={source.ended_at} />
      <Text size="xs" c={source.problem ? undefined : "dimmed"} maw={320} className="source-result">
        {source.problem ?? (source.result && describeResult(source.result))}
      </Text>
    </Stack>
  );
}
