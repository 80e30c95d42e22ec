import { Group, Text } from "@mantine/core";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { memo, useMemo, useState } from "react";
import { seriesQuery } from "../../../api/series";
import type { Series } from "../../../api/shapes";
import { CHART_HEIGHT, CurveChart } from "../../../components/curves/CurveChart";
import { LineSample } from "../../../components/curves/LineSample";
import type { Range } from "../../../lib/curves";
import { formatNumber, type KeyGroup } from "../../../lib/metric";
import { type ChartRun, colorOf, type Drawn, dashOf, grouped, sourcesOf, stepsIn } from "./curvesOf";
import { useInSight } from "./useInSight";

interface Props extends Drawn {
  project: string;
  group: KeyGroup;
  runs: readonly ChartRun[];
  log: boolean;
  /** More points are coming. */
  live: boolean;
}

/** One chart of a board. Its points are asked for when it comes into sight, and those of a stretch when zoomed into. */
export const MetricChart = memo(function MetricChart(props: Props) {
  const { ref, seen } = useInSight<HTMLDivElement>();
  return (
    <div ref={ref} style={{ minHeight: CHART_HEIGHT + 46 }}>
      {seen && <Seen {...props} />}
    </div>
  );
});

function Seen({ project, group, runs, log, live, axis, smooth, epochs }: Props) {
  const [zoom, setZoom] = useState<Range | null>(null);
  const [ownLog, setOwnLog] = useState<boolean | null>(null);
  const ids = useMemo(() => runs.map((run) => run.id), [runs]);
  const times = axis === "time" || axis === "relative";
  const asked = { project, runs: ids, keys: group.keys, times };
  const refetchInterval = live ? 5_000 : false;
  const whole = useQuery({ ...seriesQuery(asked), placeholderData: keepPreviousData, refetchInterval });
  const drawn = useMemo(() => ({ axis, smooth, epochs }), [axis, smooth, epochs]);
  const sources = useMemo(
    () => sourcesOf(whole.data ?? [], group.keys, runs, drawn),
    [whole.data, group.keys, runs, drawn],
  );
  const steps = useMemo(() => (zoom ? stepsIn(sources, zoom) : null), [zoom, sources]);
  const part = useQuery({
    ...seriesQuery({ ...asked, start: steps?.[0], end: steps?.[1] }),
    enabled: steps !== null && isThinned(whole.data),
    placeholderData: keepPreviousData,
  });
  const items = steps && part.data ? part.data : whole.data;
  const curves = useMemo(() => {
    const found = items === whole.data ? sources : sourcesOf(items ?? [], group.keys, runs, drawn);
    return runs.some((run) => run.group !== undefined)
      ? grouped(found, group.keys, runs)
      : found.map(({ curve }) => curve);
  }, [items, whole.data, sources, group.keys, runs, drawn]);
  return (
    <CurveChart
      title={group.keys.length === 1 ? (group.keys[0] ?? group.name) : group.name}
      curves={curves}
      axis={axis}
      log={ownLog ?? log}
      onLog={setOwnLog}
      zoom={zoom}
      onZoom={setZoom}
      legend={<Legend group={group} runs={runs} items={items} />}
      note={whole.error ? whole.error.message : noteOf(items)}
    />
  );
}

function isThinned(items: readonly Series[] | undefined): boolean {
  return items?.some((series) => series.total > series.steps.length) ?? false;
}

/** Nothing where every point is drawn. */
function noteOf(items: readonly Series[] | undefined): string | undefined {
  if (!items || !isThinned(items)) return undefined;
  const shown = items.reduce((sum, series) => sum + series.steps.length, 0);
  const total = items.reduce((sum, series) => sum + series.total, 0);
  return `${shown.toLocaleString("en")} of ${total.toLocaleString("en")} points, peaks included. Zoom in for all.`;
}

/** Which key is drawn how; of a single run also the last values. */
function Legend({
  group,
  runs,
  items,
}: {
  group: KeyGroup;
  runs: readonly ChartRun[];
  items?: readonly Series[];
}) {
  const only = runs.length === 1 ? runs[0] : undefined;
  if (!only && group.keys.length === 1) return null;
  return (
    <Group gap="0 14px" mb={2} role="group" aria-label={only ? "Latest values" : "Lines"}>
      {group.keys.map((key) => (
        <Group key={key} gap={5} wrap="nowrap">
          <LineSample
            color={only ? colorOf(key, only, group.keys) : "currentColor"}
            dash={dashOf(key, group.keys)}
          />
          <Text size="xs">
            {group.keys.length > 1 && `${key} `}
            {only && <span className="mono">{formatNumber(lastOf(items, key))}</span>}
          </Text>
        </Group>
      ))}
    </Group>
  );
}

function lastOf(items: readonly Series[] | undefined, key: string): Series["values"][number] | undefined {
  return items?.find((series) => series.key === key)?.values.at(-1);
}
