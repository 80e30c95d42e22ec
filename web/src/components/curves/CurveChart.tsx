import { ActionIcon, Group, Modal, Paper, Text, Title, Tooltip } from "@mantine/core";
import { useDisclosure, useViewportSize } from "@mantine/hooks";
import { IconArrowsMaximize, IconChartLine, IconTable, IconZoomReset } from "@tabler/icons-react";
import { type ReactNode, useId } from "react";
import type { Curve, Range, XAxis } from "../../lib/curves";
import { CurvePlot } from "./CurvePlot";
import { CurveTable } from "./CurveTable";

export const CHART_HEIGHT = 200;

interface Props {
  title: string;
  curves: readonly Curve[];
  axis: XAxis;
  log: boolean;
  onLog: (log: boolean) => void;
  zoom: Range | null;
  onZoom: (range: Range | null) => void;
  /** Between the title and the drawing: which line is which. */
  legend?: ReactNode;
  /** Below the drawing. */
  note?: string;
}

/** A card with curves, which can be seen as a table and on the whole screen. */
export function CurveChart(props: Props) {
  const { title, zoom, onZoom, log, onLog, legend, note } = props;
  const [table, tableView] = useDisclosure(false);
  const [large, largeView] = useDisclosure(false);
  const { height } = useViewportSize();
  const tableWords = table ? `Show ${title} as a chart` : `Show ${title} as a table`;
  const logWords = log ? `Linear scale for ${title}` : `Logarithmic scale for ${title}`;
  return (
    <Paper
      withBorder
      p="xs"
      component="section"
      aria-label={title}
      data-testid="chart"
      className="curve-chart"
    >
      <Group justify="space-between" wrap="nowrap" gap={4} mb={2}>
        <Title order={3} size="h6" lineClamp={1} title={title} style={{ overflowWrap: "anywhere" }}>
          {title}
        </Title>
        <Group gap={0} wrap="nowrap">
          {zoom && (
            <Tool words={`Show all of ${title}`} onClick={() => onZoom(null)}>
              <IconZoomReset size={15} />
            </Tool>
          )}
          <Tool words={logWords} pressed={log} onClick={() => onLog(!log)}>
            <span className="tool-text">log</span>
          </Tool>
          <Tool words={tableWords} pressed={table} onClick={tableView.toggle}>
            {table ? <IconChartLine size={15} /> : <IconTable size={15} />}
          </Tool>
          <Tool words={`Show ${title} on the whole screen`} onClick={largeView.open}>
            <IconArrowsMaximize size={15} />
          </Tool>
        </Group>
      </Group>
      {legend}
      <Drawing {...props} table={table} height={CHART_HEIGHT} />
      {note && (
        <Text size="xs" c="dimmed" mt={2}>
          {note}
        </Text>
      )}
      <Modal
        opened={large}
        onClose={largeView.close}
        fullScreen
        title={title}
        closeButtonProps={{ "aria-label": "Close" }}
      >
        {legend}
        <Drawing {...props} table={table} height={Math.max(240, height - 150)} />
        {note && <Text size="xs">{note}</Text>}
      </Modal>
    </Paper>
  );
}

function Drawing({
  title,
  curves,
  axis,
  log,
  zoom,
  onZoom,
  table,
  height,
}: Props & { table: boolean; height: number }) {
  const id = useId();
  if (curves.every((curve) => curve.x.length === 0)) {
    return (
      <Text size="sm" c="dimmed" h={height}>
        No measurements yet.
      </Text>
    );
  }
  if (table) return <CurveTable title={title} curves={curves} axis={axis} height={height} />;
  const words = curves.length === 1 ? "1 line" : `${curves.length} lines`;
  return (
    <CurvePlot
      id={id}
      label={`${title}, ${words}`}
      curves={curves}
      axis={axis}
      log={log}
      height={height}
      zoom={zoom}
      onZoom={onZoom}
    />
  );
}

interface ToolProps {
  words: string;
  pressed?: boolean;
  onClick: () => void;
  children: ReactNode;
}

function Tool({ words, pressed, onClick, children }: ToolProps) {
  return (
    <Tooltip label={words}>
      <ActionIcon
        size="sm"
        variant={pressed ? "light" : "subtle"}
        color="gray"
        aria-label={words}
        aria-pressed={pressed}
        onClick={onClick}
      >
        {children}
      </ActionIcon>
    </Tooltip>
  );
}
