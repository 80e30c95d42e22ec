import { Paper } from "@mantine/core";
import { createColumnHelper } from "@tanstack/react-table";
import type { CachedCommit } from "../../../api/shapes";
import { DataTable } from "../../../components/DataTable";
import { Time } from "../../../components/Time";
import { CachedActions } from "./CachedActions";
import { Expiry, Name, Size, State } from "./CachedCells";
import { Keepers } from "./Keepers";

const column = createColumnHelper<CachedCommit>();

const VOLUME = column.accessor("volume", {
  header: "Volume",
  cell: ({ getValue }) => <span className="unbroken">{getValue()}</span>,
});

const COLUMNS = [
  column.accessor("dataset", { header: "Dataset", cell: ({ row }) => <Name cached={row.original} /> }),
  VOLUME,
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

interface Props {
  cached: CachedCommit[];
  /** All of one volume, which then need not be said of each. */
  oneVolume?: boolean;
}

export function CachedTable({ cached, oneVolume = false }: Props) {
  const columns = oneVolume ? COLUMNS.filter((one) => one !== VOLUME) : COLUMNS;
  return (
    <Paper withBorder>
      <DataTable
        label="Cached commits"
        rows={cached}
        columns={columns}
        rowId={(row) => row.id}
        minWidth={900}
      />
    </Paper>
  );
}
