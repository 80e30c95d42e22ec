import { Button, Paper, Progress, Stack, Text } from "@mantine/core";
import { IconCpu } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { createColumnHelper } from "@tanstack/react-table";
import { gpuUseQuery } from "../../../api/gpuUse";
import type { NodeGpus } from "../../../api/shapes";
import { CommandLine } from "../../../components/Copyable";
import { DataTable } from "../../../components/DataTable";
import { EmptyState } from "../../../components/EmptyState";
import { Loaded } from "../../../components/Loaded";
import { TextLink } from "../../../components/TextLink";
import { roundGpus } from "../../../lib/quantity";
import { utilizationWords } from "./words";

const column = createColumnHelper<NodeGpus>();

const COLUMNS = [
  column.accessor("node", { header: "Node", cell: ({ getValue }) => <b>{getValue()}</b> }),
  column.accessor("compute", {
    header: "Compute",
    cell: ({ getValue }) => (
      <TextLink to="/compute/$compute" params={{ compute: getValue() }} size="sm">
        {getValue()}
      </TextLink>
    ),
  }),
  column.accessor("site", { header: "Site" }),
  column.accessor("gpus", {
    header: "GPUs",
    cell: ({ row: { original: node } }) => `${node.gpus} ${node.gpu_model}`.trim(),
  }),
  column.accessor("allocated", { header: "Allocated", cell: ({ row }) => <Allocated node={row.original} /> }),
  column.accessor((node) => node.gpus - node.allocated, {
    id: "free",
    header: "Free",
    cell: ({ getValue }) => roundGpus(getValue()),
  }),
  column.accessor("idle", { header: "Idle", cell: ({ getValue }) => roundGpus(getValue()) }),
  column.accessor((node) => node.utilization ?? -1, {
    id: "utilization",
    header: "GPU utilisation",
    cell: ({ row }) => utilizationWords(row.original.utilization),
  }),
  column.accessor("running", { header: "Jobs" }),
];

/** The nodes of all connected computes that have GPUs. */
export function NodeTable() {
  const result = useQuery(gpuUseQuery);
  return (
    <Loaded result={result}>
      {({ nodes }) =>
        nodes.length === 0 ? (
          <EmptyState
            icon={IconCpu}
            sentence="No connected node has GPUs. Attach a compute that does."
            action={
              <Button component={Link} to="/compute">
                Compute
              </Button>
            }
            command="mill compute attach ssh USER@HOST"
          />
        ) : (
          <Stack>
            <Paper withBorder>
              <DataTable
                label="Nodes"
                rows={nodes}
                columns={COLUMNS}
                rowId={(node) => `${node.compute} ${node.node}`}
                minWidth={800}
              />
            </Paper>
            <Text size="sm" c="dimmed">
              Idle GPUs are allocated and have done nothing for more than 5 minutes. Utilisation is the mean
              of the last minute over all GPUs of the node; a dash where it is not measured.
            </Text>
            <CommandLine command="mill compute list" />
          </Stack>
        )
      }
    </Loaded>
  );
}

function Allocated({ node }: { node: NodeGpus }) {
  return (
    <>
      {roundGpus(node.allocated)} of {node.gpus}
      <Progress value={(100 * node.allocated) / node.gpus} size="sm" color="cyan.7" miw={100} aria-hidden />
    </>
  );
}
