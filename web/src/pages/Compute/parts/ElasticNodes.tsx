import { Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { createColumnHelper } from "@tanstack/react-table";
import { computesQuery } from "../../../api/computes";
import type { ElasticNode } from "../../../api/shapes";
import { DataTable } from "../../../components/DataTable";
import { Duration } from "../../../components/Duration";
import { Status } from "../../../components/Status";
import { TextLink } from "../../../components/TextLink";

const column = createColumnHelper<ElasticNode>();

const COLUMNS = [
  column.accessor("name", { header: "Machine", cell: ({ row }) => <Name node={row.original} /> }),
  column.accessor("state", {
    header: "State",
    cell: ({ getValue }) => <Status state={getValue()} size="sm" />,
  }),
  column.accessor("reason", { header: "Reason", cell: ({ row }) => <Reason node={row.original} /> }),
  column.accessor((node) => node.created_at, {
    id: "age",
    header: "Age",
    cell: ({ row }) => <Duration start={row.original.created_at} end={row.original.gone_at} />,
  }),
];

/** Machines of one elastic compute, each with why it is in its state. */
export function ElasticNodes({ elastic, nodes }: { elastic: string; nodes: ElasticNode[] }) {
  return (
    <DataTable
      label={`Machines of ${elastic}`}
      rows={nodes}
      columns={COLUMNS}
      rowId={(node) => node.name}
      minWidth={600}
    />
  );
}

/** A link once its agent has joined, and for as long as it is attached. */
function Name({ node }: { node: ElasticNode }) {
  const compute = useQuery(computesQuery).data?.items.find(({ id }) => id === node.compute);
  if (!compute) return <>{node.name}</>;
  return (
    <TextLink to="/compute/$compute" params={{ compute: compute.name }} size="sm">
      {node.name}
    </TextLink>
  );
}

function Reason({ node }: { node: ElasticNode }) {
  return (
    <>
      {node.reason}
      {node.problem && (
        <Text size="xs" c="dimmed">
          {node.problem}
        </Text>
      )}
    </>
  );
}
