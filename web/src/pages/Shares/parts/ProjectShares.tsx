import { Button, Paper, Stack, Text } from "@mantine/core";
import { IconChartPie } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { createColumnHelper } from "@tanstack/react-table";
import { gpuUseQuery } from "../../../api/gpuUse";
import type { Share } from "../../../api/shapes";
import { sharesQuery } from "../../../api/shares";
import { CommandLine } from "../../../components/Copyable";
import { DataTable } from "../../../components/DataTable";
import { EmptyState } from "../../../components/EmptyState";
import { Loaded } from "../../../components/Loaded";
import { ProjectLink } from "../../../components/ProjectLink";
import { roundGpus } from "../../../lib/quantity";
import type { SharesRange } from "../tabs";
import { ShareBar } from "./ShareBar";
import { SharesChart } from "./SharesChart";
import { pendingWords } from "./words";

const column = createColumnHelper<Share>();

const POOL = column.accessor("pool", { header: "Pool", cell: ({ getValue }) => getValue() || "default" });

const COLUMNS = [
  column.accessor("project", {
    header: "Project",
    cell: ({ getValue }) => <ProjectLink project={getValue()} />,
  }),
  POOL,
  column.accessor("allocated", { header: "Allocated", cell: ({ row }) => <Allocated of={row.original} /> }),
  column.accessor("quota", { header: "Quota", cell: ({ getValue }) => roundGpus(getValue()) }),
  column.accessor("share", { header: "Share", cell: ({ getValue }) => roundGpus(getValue()) }),
  column.accessor("over_quota", { header: "Over quota", cell: ({ getValue }) => roundGpus(getValue()) }),
  column.accessor("idle", { header: "Idle", cell: ({ getValue }) => roundGpus(getValue()) }),
  column.accessor("pending_gpus", {
    header: "Pending",
    cell: ({ row }) => pendingWords(row.original.pending_gpus, row.original.pending_jobs),
  }),
  column.accessor("weight", { header: "Weight" }),
  column.accessor((row) => row.limit ?? Number.POSITIVE_INFINITY, {
    id: "limit",
    header: "Limit",
    cell: ({ row }) => row.original.limit ?? "none",
  }),
];

interface Props {
  project: string | undefined;
  /** How far back the chart shows. */
  range: SharesRange;
  onRange: (range: SharesRange) => void;
}

/** Per project: what it is guaranteed, what it may expect now, what it has, what it waits for. */
export function ProjectShares({ project, range, onRange }: Props) {
  const result = useQuery(sharesQuery);
  return (
    <Loaded result={result}>
      {({ items }) => {
        const shown = items.filter((share) => project === undefined || share.project === project);
        if (shown.length === 0) return <NoShares />;
        return (
          <Stack gap="xl">
            <Shares shares={shown} />
            <SharesChart project={project} range={range} onRange={onRange} />
          </Stack>
        );
      }}
    </Loaded>
  );
}

function Shares({ shares }: { shares: Share[] }) {
  const pools = new Set(shares.map((share) => share.pool));
  const columns = pools.size > 1 ? COLUMNS : COLUMNS.filter((one) => one !== POOL);
  return (
    <Stack>
      <Paper withBorder>
        <DataTable
          label="Shares of projects"
          rows={shares}
          columns={columns}
          rowId={(row) => `${row.project} ${row.pool}`}
          minWidth={900}
        />
      </Paper>
      <Text size="sm" c="dimmed">
        A project is guaranteed its quota. Its share is what it can expect now: its quota as far as it needs
        it, and idle GPUs divided by weight. Jobs over quota can be preempted.
      </Text>
      <CommandLine command="mill project list" />
    </Stack>
  );
}

function Allocated({ of }: { of: Share }) {
  const gpus = useQuery(gpuUseQuery).data?.gpus ?? 0;
  return (
    <>
      {roundGpus(of.allocated)}
      <ShareBar allocated={of.allocated} quota={of.quota} whole={Math.max(gpus, of.allocated, of.quota)} />
    </>
  );
}

function NoShares() {
  return (
    <EmptyState
      icon={IconChartPie}
      sentence="No projects to show. GPUs are shared between projects by their quotas."
      action={
        <Button component={Link} to="/projects">
          Projects
        </Button>
      }
      command="mill project create NAME --quota 4"
    />
  );
}
