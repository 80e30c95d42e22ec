import { Badge, type MantineColor, Text } from "@mantine/core";
import { createColumnHelper } from "@tanstack/react-table";
import { DataTable } from "../../../components/DataTable";
import { formatNumber } from "../../../lib/metric";
import type { DriftColumn, DriftRow } from "./drift";

const COLORS: Record<DriftColumn["level"], MantineColor> = {
  much: "red",
  some: "orange",
  none: "green",
  unknown: "gray",
};
const WIDTH = 96;
const HEIGHT = 24;
/** What is much by the usual reading fills the drawing. */
const LEAST_TOP = 0.25;

const helper = createColumnHelper<DriftRow>();
const COLUMNS = [
  helper.accessor("column", {
    header: "Column",
    cell: ({ getValue }) => <span style={{ overflowWrap: "anywhere" }}>{getValue()}</span>,
  }),
  helper.accessor("level", {
    header: "Drift",
    cell: ({ row }) => <Level row={row.original} />,
  }),
  helper.accessor("psi", { header: "PSI", cell: ({ getValue }) => formatNumber(getValue()) }),
  helper.accessor("p_value", { header: "p", cell: ({ getValue }) => formatNumber(getValue()) }),
  helper.display({ id: "history", header: "PSI over time", cell: ({ row }) => <Trend row={row.original} /> }),
  helper.accessor("reason", { header: "Why" }),
];

/** The columns of a window, those that moved most first. */
export function DriftColumns({ rows }: { rows: DriftRow[] }) {
  return (
    <DataTable label="Columns" rows={rows} columns={COLUMNS} rowId={(row) => row.column} minWidth={760} />
  );
}

function Level({ row }: { row: DriftRow }) {
  return (
    <>
      <Badge color={COLORS[row.level]} variant="light">
        {row.level}
      </Badge>
      {row.is_alert && (
        <Text size="xs" component="div">
          too much
        </Text>
      )}
    </>
  );
}

/** The last windows of a column, small enough for a row; the numbers are in the chart below. */
function Trend({ row: { column, history } }: { row: DriftRow }) {
  const known = history.filter((value) => value !== null);
  if (known.length < 2) return <>–</>;
  const top = Math.max(LEAST_TOP, ...known);
  const points = history
    .map((value, place) =>
      value === null ? null : [(place / (history.length - 1)) * WIDTH, HEIGHT - (value / top) * HEIGHT],
    )
    .filter((point) => point !== null)
    .map(([x = 0, y = 0]) => `${x.toFixed(1)},${y.toFixed(1)}`);
  return (
    <svg
      width={WIDTH}
      height={HEIGHT}
      viewBox={`0 -1 ${WIDTH} ${HEIGHT + 2}`}
      role="img"
      aria-label={`PSI of ${column}: ${known.slice(-10).map(formatNumber).join(", ")}`}
    >
      <polyline points={points.join(" ")} fill="none" stroke="currentColor" strokeWidth={1.5} />
    </svg>
  );
}
