import { ActionIcon, Group, Paper, Text, Title, Tooltip } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { IconChartLine, IconTable } from "@tabler/icons-react";
import { useState } from "react";
import { ChartTable } from "./ChartTable";
import { Plot } from "./Plot";
import { Readout } from "./Readout";

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
  /** Amounts that add up: each line stands on the one before, and holds until the next point. */
  readonly stacked?: boolean;
  /** What the drawing spans, where that is more than its points do. */
  readonly span?: readonly [number, number];
}

interface Props {
  title: string;
  data: ChartData;
  format: (value: number) => string;
  note?: string;
}

/** Lines over steps or time, with the values under the cursor, and the same numbers as a table. */
export function Chart({ title, data, format, note }: Props) {
  const [table, view] = useDisclosure(false);
  const [pointed, setPointed] = useState<number | null>(null);
  const label = table ? `Show ${title} as a chart` : `Show ${title} as a table`;
  const newest = data.lines.map((line) => lastOf(line.values)).filter((value) => value !== null);
  return (
    <Paper withBorder p="sm" component="section" aria-label={title} data-testid="chart">
      <Group justify="space-between" wrap="nowrap" mb={4}>
        <Title order={3} size="h6" style={{ overflowWrap: "anywhere" }}>
          {title}
        </Title>
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
      {newest.length > 0 && <Readout data={data} format={format} pointed={table ? null : pointed} />}
      {table && <ChartTable title={title} data={data} format={format} />}
      {!table && newest.length > 0 && (
        <Plot
          label={`${title}, latest ${newest.map(format).join(", ")}`}
          data={data}
          format={format}
          onPoint={setPointed}
        />
      )}
      {!table && newest.length === 0 && (
        <Text size="sm" c="dimmed">
          No measurements yet.
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

function lastOf(values: readonly (number | null)[]): number | null {
  return values.findLast((value) => value !== null) ?? null;
}
