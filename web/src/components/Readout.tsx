import { Box, Group, Text } from "@mantine/core";
import { formatAbsolute } from "../lib/time";
import type { ChartData } from "./Chart";
import { useLineColors } from "./Plot";

interface Props {
  data: ChartData;
  format: (value: number) => string;
  /** The point under the cursor; null shows the latest values. */
  pointed: number | null;
}

/** The legend of a chart: each line with its value at the point under the cursor, and where that point is. */
export function Readout({ data, format, pointed }: Props) {
  const colors = useLineColors();
  // Points may have gone since the cursor moved.
  const at = pointed !== null && pointed < data.x.length ? pointed : null;
  return (
    <Group
      gap="2px 14px"
      mb={4}
      role="group"
      aria-label={at === null ? "Latest values" : "Values at the cursor"}
    >
      {data.lines.map((line, index) => (
        <Group key={line.label} gap={5} wrap="nowrap">
          <Box w={10} h={10} bg={colors[index % colors.length]} style={{ borderRadius: 2 }} aria-hidden />
          <Text size="xs">
            {data.lines.length > 1 && `${line.label} `}
            <span className="mono">{valueAt(line.values, at, format)}</span>
          </Text>
        </Group>
      ))}
      <Text size="xs" c="dimmed" ml="auto">
        {at === null ? "latest" : placeOf(data, at)}
      </Text>
    </Group>
  );
}

function valueAt(values: readonly (number | null)[], at: number | null, format: Props["format"]): string {
  const value = at === null ? values.findLast((one) => one !== null) : values[at];
  return value == null ? "–" : format(value);
}

function placeOf({ x, time }: ChartData, at: number): string {
  const place = x[at] ?? 0;
  return time ? formatAbsolute(new Date(place * 1000)) : `step ${place.toLocaleString("en")}`;
}
