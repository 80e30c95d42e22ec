import { Paper } from "@mantine/core";
import { createColumnHelper } from "@tanstack/react-table";
import type { CachedCommit } from "../../../api/shapes";
import { DataTable } from "../../../components/DataTable";
import { Time } from "../../../components/Time";
import { CachedActions } from "./CachedActions";
import { Expiry, Name, Size, State } from "./CachedCells";
import { Keepers } from "./Keepers";

const column = createColumnHelper<CachedCommit>();

const COLUMNS = [
  column.accessor("dataset", { header: "Dataset", cell: ({ row }) => <Name cached={row.original} /> }),
  column.accessor("volume", {
    header: "Volume",
    cell: ({ getValue }) => <span className="unbroken">{getValue()}</span>,
  }),
  column.accessor("state", { header: "State", cell: ({ row }) => <State cached={row.original} /> }),
  column.accessor("bytes", { header: "Size", cell: ({ row }) => <Size cached={row.original} /> }),
  column.accessor("files", { header: "Files", cell: ({ getValue }) => getValue().toLocaleString("en") }),
  column.accessor("used_at", { header: "Last use", cell: ({ getValue }) => <Time at={getValue()} /> }),
  column.accessor("expires_at", { header: "Expires", cell: ({ row }) => <Expiry cached={row.original} /> }),
  column.display({ id: "kept", header: "Kept by", cell: ({ row }) => <Keepers cached={row.original} /> }),
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
