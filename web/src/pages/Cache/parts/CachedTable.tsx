import { Paper, Text } from "@mantine/core";
import { createColumnHelper } from "@tanstack/react-table";
import type { CachedCommit } from "../../../api/shapes";
import { DataTable } from "../../../components/DataTable";
import { Status } from "../../../components/Status";
import { TextLink } from "../../../components/TextLink";
import { Time } from "../../../components/Time";
import { shortId } from "../../../lib/names";
import { formatBytes } from "../../../lib/quantity";
import { FillProgress } from "../../Dataset/parts/CachedBadge";
import { CachedActions } from "./CachedActions";
import { Leases } from "./Leases";

const column = createColumnHelper<CachedCommit>();

const COLUMNS = [
  column.accessor("dataset", { header: "Dataset", cell: ({ row }) => <Name cached={row.original} /> }),
  column.accessor("volume", { header: "Volume" }),
  column.accessor("state", { header: "State", cell: ({ row }) => <State cached={row.original} /> }),
  column.accessor("bytes", { header: "Size", cell: ({ getValue }) => formatBytes(getValue()) }),
  column.accessor("files", { header: "Files", cell: ({ getValue }) => getValue().toLocaleString("en") }),
  column.accessor("used_at", { header: "Last use", cell: ({ getValue }) => <Time at={getValue()} /> }),
  column.accessor("expires_at", { header: "Expires", cell: ({ row }) => <Expiry cached={row.original} /> }),
  column.display({ id: "leases", header: "Leased by", cell: ({ row }) => <Leases cached={row.original} /> }),
  column.display({
    id: "actions",
    header: "Actions",
    cell: ({ row }) => <CachedActions cached={row.original} />,
  }),
];

export function CachedTable({ cached }: { cached: CachedCommit[] }) {
  return (
    <Paper withBorder>
      <DataTable label="Cached commits" rows={cached} columns={COLUMNS} rowId={(row) => row.id} />
    </Paper>
  );
}

function Name({ cached }: { cached: CachedCommit }) {
  return (
    <>
      <TextLink
        to="/projects/$project/datasets/$dataset"
        params={{ project: cached.project, dataset: cached.dataset }}
        size="sm"
        fw={600}
      >
        {cached.dataset}
      </TextLink>
      <Text size="xs" c="dimmed">
        {cached.project} <span className="mono">@{shortId(cached.commit_id)}</span>
      </Text>
    </>
  );
}

function State({ cached }: { cached: CachedCommit }) {
  return (
    <>
      <Status state={cached.state} />
      {cached.state === "filling" && <FillProgress done={cached.done_bytes} total={cached.bytes} />}
      {cached.problem && (
        <Text size="xs" c="red.9" maw={260}>
          {cached.problem}
        </Text>
      )}
    </>
  );
}

function Expiry({ cached }: { cached: CachedCommit }) {
  if (cached.pinned) return <>never (pinned)</>;
  return cached.expires_at ? <Time at={cached.expires_at} /> : <>–</>;
}
