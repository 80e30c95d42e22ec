import { ActionIcon, Box, Group, Paper, Text, Title, Tooltip } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { IconChartLine, IconTable } from "@tabler/icons-react";
import { ChartTable } from "./ChartTable";
import { Plot, useLineColors } from "./Plot";

export interface Line {
  readonly label: string;
  readonly values: readonly (number | null)[];
}

export interface ChartData {
  /** Seconds since 1970 when `time`, steps otherwise. */
  readonly x: readonly number[];
  readonly time: boolean;
  readonly lines: readonly Line[];
  /** Amounts are seen against nothing at all; other values against each other. */
  readonly fromZero?: boolean;
  /** What the drawing spans, where that is more than its points do. */
  readonly span?: readonly [number, number];
}

interface Props {
  title: string;
  data: ChartData;
  format: (value: number) => string;
  note?: string;
}

/** Lines over steps or time, with the same numbers as a table for those who would rather read them. */
export function Chart({ title, data, format, note }: Props) {
  const [table, view] = useDisclosure(false);
  const label = table ? `Show ${title} as a chart` : `Show ${title} as a table`;
  const newest = data.lines.map((line) => lastOf(line.values)).filter((value) => value !== null);
  const summary = newest.map(format).join(", ");
  return (
    <Paper withBorder p="sm" component="section" aria-label={title} data-testid="chart">
      <Group justify="space-between" wrap="nowrap" mb={4}>
        <Title order={3} size="h6" style={{ overflowWrap: "anywhere" }}>
          {title}
        </Title>
        <Group gap="xs" wrap="nowrap">
          {data.lines.length === 1 && (
            <Text size="sm" className="mono">
              {summary}
            </Text>
          )}
          <Tooltip label={label}>
            <ActionIcon
              variant="subtle"
              color="gray"
              aria-label={label}
              aria-pressed={table}
              onClick={view.toggle}
            >
              {table ? <IconChartLine size={16} /> : <IconTable size={16} />}
            </ActionIcon>
          </Tooltip>
        </Group>
      </Group>
      {data.lines.length > 1 && <Newest lines={data.lines} format={format} />}
      {table && <ChartTable title={title} data={data} format={format} />}
      {!table && newest.length > 0 && <Plot label={`${title}, now ${summary}`} data={data} format={format} />}
      {!table && newest.length === 0 && (
        <Text size="sm" c="dimmed">
          Nothing was measured.
        </Text>
      )}
      {note && (
        <Text size="xs" c="dimmed">
          {note}
        </Text>
      )}
    </Paper>
  );
}

/** What each line is, and where it is now. */
function Newest({ lines, format }: Pick<ChartData, "lines"> & Pick<Props, "format">) {
  const colors = useLineColors();
  return (
    <Group gap="2px 14px" mb={4}>
      {lines.map((line, index) => {
        const value = lastOf(line.values);
        return (
          <Group key={line.label} gap={5} wrap="nowrap">
            <Box w={10} h={10} bg={colors[index % colors.length]} style={{ borderRadius: 2 }} aria-hidden />
            <Text size="xs">
              {line.label} <span className="mono">{value === null ? "–" : format(value)}</span>
            </Text>
          </Group>
        );
      })}
    </Group>
  );
}

function lastOf(values: readonly (number | null)[]): number | null {
  return values.findLast((value) => value !== null) ?? null;
}
