import { ActionIcon, Group, Table, Text, Tooltip } from "@mantine/core";
import { IconChevronLeft, IconChevronRight } from "@tabler/icons-react";
import type { ReactNode } from "react";

export interface Column {
  name: string;
  type: string;
}

interface Props {
  label: string;
  columns: Column[];
  rows: ReactNode[][];
  /** The number of the first row, counted from 1. */
  first: number;
}

const NUMBERS = /^(u?int|integer|number|float|double|decimal)/i;

/** Rows of a table with the names and types of its columns; scrolls both ways. */
export function Sheet({ label, columns, rows, first }: Props) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls must be reachable by keyboard
    <section className="preview-sheet" aria-label={label} tabIndex={0}>
      <Table
        stickyHeader
        aria-label={label}
        verticalSpacing={4}
        horizontalSpacing="xs"
        fz="xs"
        withColumnBorders
      >
        <Table.Thead>
          <Table.Tr>
            <Table.Th ta="right">
              <Text span size="xs" c="dimmed">
                #
              </Text>
            </Table.Th>
            {columns.map((column, index) => (
              <Table.Th key={index}>
                {column.name}
                <Text size="xs" c="dimmed" fw={400} style={{ whiteSpace: "nowrap" }}>
                  {column.type || "empty"}
                </Text>
              </Table.Th>
            ))}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {rows.map((row, number) => (
            <Table.Tr key={number}>
              <Table.Td ta="right" c="dimmed">
                {first + number}
              </Table.Td>
              {columns.map((column, index) => (
                <Table.Td
                  key={index}
                  ta={NUMBERS.test(column.type) ? "right" : undefined}
                  className="preview-cell"
                >
                  {row[index] ?? ""}
                </Table.Td>
              ))}
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </section>
  );
}

interface PagerProps {
  words: string;
  back?: () => void;
  on?: () => void;
}

/** Which rows these are, and the way to those before and behind. */
export function Pager({ words, back, on }: PagerProps) {
  return (
    <Group justify="space-between" mb="xs">
      <Text size="sm" c="dimmed" role="status">
        {words}
      </Text>
      <Group gap={4}>
        <Turn label="Previous rows" onClick={back} icon={<IconChevronLeft size={16} />} />
        <Turn label="Next rows" onClick={on} icon={<IconChevronRight size={16} />} />
      </Group>
    </Group>
  );
}

function Turn({ label, onClick, icon }: { label: string; onClick?: () => void; icon: ReactNode }) {
  return (
    <Tooltip label={label}>
      <ActionIcon variant="default" aria-label={label} disabled={!onClick} onClick={onClick}>
        {icon}
      </ActionIcon>
    </Tooltip>
  );
}
