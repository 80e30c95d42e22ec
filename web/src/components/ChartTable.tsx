import { ScrollArea, Table, Text } from "@mantine/core";
import { formatAbsolute } from "../lib/time";
import type { ChartData } from "./Chart";

const ROWS = 200;

interface Props {
  title: string;
  data: ChartData;
  format: (value: number) => string;
}

/** The newest points of a chart as rows, newest first. */
export function ChartTable({ title, data, format }: Props) {
  const first = Math.max(0, data.x.length - ROWS);
  const indices = data.x
    .map((_, index) => index)
    .slice(first)
    .reverse();
  return (
    <ScrollArea h={180} viewportProps={{ tabIndex: 0, "aria-label": `${title} as a table` }}>
      <Table aria-label={title} fz="xs" verticalSpacing={2} stickyHeader>
        <Table.Thead>
          <Table.Tr>
            <Table.Th>{data.time ? "Time" : "Step"}</Table.Th>
            {data.lines.map((line) => (
              <Table.Th key={line.label}>{line.label}</Table.Th>
            ))}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {indices.map((index) => (
            <Table.Tr key={index}>
              <Table.Td>
                {data.time ? formatAbsolute(new Date((data.x[index] ?? 0) * 1000)) : data.x[index]}
              </Table.Td>
              {data.lines.map((line) => {
                const value = line.values[index];
                return <Table.Td key={line.label}>{value == null ? "–" : format(value)}</Table.Td>;
              })}
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
      {first > 0 && <Text size="xs">The newest {ROWS} points are listed.</Text>}
    </ScrollArea>
  );
}
