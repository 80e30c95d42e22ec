import { ScrollArea, Table, Text } from "@mantine/core";
import { type Curve, type Range, type XAxis, yRange } from "../../lib/curves";
import { formatMetric } from "../../lib/metric";
import { AXIS_NAMES, formatPlace } from "./axes";

const ROWS = 300;
/** More lines than these are summed up: nobody reads a table of a hundred columns. */
const FEW_LINES = 6;
const ALL: Range = [Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY];

interface Props {
  title: string;
  curves: readonly Curve[];
  axis: XAxis;
  height: number;
}

/** A chart for those who cannot see it: every point of a few lines; first, last, least and greatest of many. */
export function CurveTable({ title, curves, axis, height }: Props) {
  return (
    <ScrollArea h={height} viewportProps={{ tabIndex: 0, "aria-label": `${title} as a table` }}>
      {curves.length <= FEW_LINES ? (
        <Points title={title} curves={curves} axis={axis} />
      ) : (
        <Lines title={title} curves={curves} axis={axis} />
      )}
    </ScrollArea>
  );
}

function Points({ title, curves, axis }: Omit<Props, "height">) {
  const places = [...new Set(curves.flatMap((curve) => curve.x))].sort((a, b) => b - a);
  const values = curves.map(({ x, y }) => new Map(x.map((at, index) => [at, y[index]])));
  return (
    <Table aria-label={title} fz="xs" verticalSpacing={2} stickyHeader>
      <Table.Thead>
        <Table.Tr>
          <Table.Th>{AXIS_NAMES[axis]}</Table.Th>
          {curves.map((curve) => (
            <Table.Th key={curve.id}>{curve.label}</Table.Th>
          ))}
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {places.slice(0, ROWS).map((at) => (
          <Table.Tr key={at}>
            <Table.Td>{formatPlace(axis, at)}</Table.Td>
            {curves.map((curve, index) => {
              const value = values[index]?.get(at);
              return <Table.Td key={curve.id}>{value == null ? "–" : formatMetric(value)}</Table.Td>;
            })}
          </Table.Tr>
        ))}
      </Table.Tbody>
      {places.length > ROWS && (
        <Table.Caption>
          <Text size="xs">The last {ROWS} points are listed.</Text>
        </Table.Caption>
      )}
    </Table>
  );
}

function Lines({ title, curves, axis }: Omit<Props, "height">) {
  return (
    <Table aria-label={title} fz="xs" verticalSpacing={2} stickyHeader>
      <Table.Thead>
        <Table.Tr>
          {["Line", "Last", "Min", "Max", "Points", `Last ${AXIS_NAMES[axis].toLowerCase()}`].map((head) => (
            <Table.Th key={head}>{head}</Table.Th>
          ))}
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {curves.map((curve) => {
          const range = yRange([curve], ALL, false);
          const last = curve.y.findLast((value) => value !== null);
          return (
            <Table.Tr key={curve.id}>
              <Table.Td>{curve.label}</Table.Td>
              {[last, range?.[0], range?.[1]].map((value, index) => (
                <Table.Td key={index}>{value == null ? "–" : formatMetric(value)}</Table.Td>
              ))}
              <Table.Td>{curve.x.length}</Table.Td>
              <Table.Td>{curve.x.length > 0 ? formatPlace(axis, curve.x.at(-1) ?? 0) : "–"}</Table.Td>
            </Table.Tr>
          );
        })}
      </Table.Tbody>
    </Table>
  );
}
