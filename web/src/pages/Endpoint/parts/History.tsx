import { Button, Stack, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { createColumnHelper } from "@tanstack/react-table";
import { revisionsQuery, useRollback } from "../../../api/endpoints";
import { useMay } from "../../../api/session";
import type { Endpoint, EndpointRevision } from "../../../api/shapes";
import { CommandLine } from "../../../components/Copyable";
import { DataTable } from "../../../components/DataTable";
import { Loaded } from "../../../components/Loaded";
import { notifyDone, tell } from "../../../components/notify";
import { Section } from "../../../components/Section";
import { Time } from "../../../components/Time";

interface Row extends EndpointRevision {
  endpoint: Endpoint;
}

const column = createColumnHelper<Row>();
const COLUMNS = [
  column.accessor("number", { header: "Revision" }),
  column.accessor("action", {
    header: "What changed",
    cell: ({ row }) => (
      <>
        {row.original.action}
        {row.original.restores !== null && ` of revision ${row.original.restores}`}
        {row.original.reason && (
          <Text size="xs" c="dimmed">
            {row.original.reason}
          </Text>
        )}
      </>
    ),
  }),
  column.display({ id: "versions", header: "Versions", cell: ({ row }) => versionsOf(row.original) }),
  column.accessor("created_at", {
    header: "When",
    cell: ({ row }) => (
      <>
        <Time at={row.original.created_at} /> by {row.original.created_by}
      </>
    ),
  }),
  column.display({ id: "restore", header: "Restore", cell: ({ row }) => <Restore row={row.original} /> }),
];

/** Every change, newest first; each can be brought back. */
export function History({ endpoint }: { endpoint: Endpoint }) {
  const result = useQuery(revisionsQuery({ project: endpoint.project, endpoint: endpoint.name }));
  return (
    <Loaded result={result}>
      {({ items }) => (
        <Stack>
          <Section title="Revisions">
            <DataTable
              label="Revisions"
              rows={items.map((one) => ({ ...one, endpoint }))}
              columns={COLUMNS}
              rowId={(row) => String(row.number)}
            />
          </Section>
          <CommandLine command={`mill endpoint rollback ${endpoint.name}`} />
        </Stack>
      )}
    </Loaded>
  );
}

function versionsOf(revision: EndpointRevision): string {
  const versions = revision.spec.versions;
  if (!Array.isArray(versions)) return "–";
  return versions.map((one) => `${one.model} ${one.weight ?? 100} %`).join(", ");
}

function Restore({ row }: { row: Row }) {
  const { endpoint } = row;
  const may = useMay(endpoint.project, "member");
  const rollback = useRollback({ project: endpoint.project, endpoint: endpoint.name });
  if (row.number === endpoint.revision) return <>serving now</>;
  if (!may) return <>–</>;
  return (
    <Button
      size="xs"
      variant="default"
      loading={rollback.isPending}
      onClick={() =>
        void tell(rollback.mutateAsync(row.number), () => notifyDone(`Revision ${row.number} is back.`))
      }
    >
      Restore
    </Button>
  );
}
