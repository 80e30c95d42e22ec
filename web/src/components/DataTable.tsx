import { Group, Table, UnstyledButton } from "@mantine/core";
import { IconArrowDown, IconArrowUp } from "@tabler/icons-react";
import {
  type ColumnDef,
  flexRender,
  getCoreRowModel,
  getSortedRowModel,
  type Header,
  useReactTable,
} from "@tanstack/react-table";
import { createContext, useContext } from "react";

/** False where a list has rows that are not loaded: sorting a part of it would mislead. Set by `Pages` and `Paged`. */
export const WholeList = createContext(true);

interface Props<Row> {
  /** Said to those who cannot see the table. */
  label: string;
  rows: Row[];
  // biome-ignore lint/suspicious/noExplicitAny: a column's own value type is no concern of the table
  columns: ColumnDef<Row, any>[];
  rowId: (row: Row) => string;
  /** Below this it is scrolled sideways. */
  minWidth?: number;
}

/** A table; sorted by any column with an accessor once all rows are loaded. */
export function DataTable<Row>({ label, rows, columns, rowId, minWidth = 700 }: Props<Row>) {
  const table = useReactTable({
    data: rows,
    columns,
    getRowId: rowId,
    enableSorting: useContext(WholeList),
    getCoreRowModel: getCoreRowModel(),
    getSortedRowModel: getSortedRowModel(),
  });
  return (
    <Table.ScrollContainer
      minWidth={minWidth}
      scrollAreaProps={{ viewportProps: { tabIndex: 0, "aria-label": label } }}
    >
      <Table aria-label={label}>
        <Table.Thead>
          <Table.Tr>
            {table.getFlatHeaders().map((header) => (
              <HeaderCell key={header.id} header={header} />
            ))}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {table.getRowModel().rows.map((row) => (
            <Table.Tr key={row.id}>
              {row.getVisibleCells().map((cell) => (
                <Table.Td key={cell.id}>{flexRender(cell.column.columnDef.cell, cell.getContext())}</Table.Td>
              ))}
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  );
}

function HeaderCell<Row>({ header }: { header: Header<Row, unknown> }) {
  const content = flexRender(header.column.columnDef.header, header.getContext());
  if (!header.column.getCanSort()) return <Table.Th>{content}</Table.Th>;
  const sorted = header.column.getIsSorted();
  const order = sorted === "asc" ? "ascending" : sorted === "desc" ? "descending" : "none";
  return (
    <Table.Th aria-sort={order}>
      <UnstyledButton onClick={header.column.getToggleSortingHandler()} fw={700} fz="sm">
        <Group gap={4} wrap="nowrap">
          {content}
          {sorted === "asc" && <IconArrowUp size={14} aria-hidden />}
          {sorted === "desc" && <IconArrowDown size={14} aria-hidden />}
        </Group>
      </UnstyledButton>
    </Table.Th>
  );
}
