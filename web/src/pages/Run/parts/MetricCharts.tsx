import { SimpleGrid, Stack, Text, Title } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { memo, useMemo } from "react";
import { metricsQuery, type RunPlace } from "../../../api/runs";
import type { Series } from "../../../api/shapes";
import { Chart } from "../../../components/Chart";
import { CommandLine } from "../../../components/Copyable";
import { Loaded } from "../../../components/Loaded";

interface Props {
  place: RunPlace;
  /** Nothing more will come. */
  ended: boolean;
}

/** One chart for each metric, by step. */
export function MetricCharts({ place, ended }: Props) {
  const result = useQuery(metricsQuery(place));
  return (
    <section>
      <Title order={2} size="h4" mb="xs">
        Metrics
      </Title>
      <Loaded result={result}>
        {({ items }) =>
          items.length === 0 ? (
            <NoMetrics ended={ended} />
          ) : (
            <SimpleGrid minColWidth={270}>
              {items.map((series) => (
                <MetricChart key={series.key} series={series} />
              ))}
            </SimpleGrid>
          )
        }
      </Loaded>
    </section>
  );
}

const MetricChart = memo(function MetricChart({ series }: { series: Series }) {
  const data = useMemo(
    () => ({
      x: series.steps,
      time: false,
      lines: [{ label: series.key, values: series.values.map(finite) }],
    }),
    [series],
  );
  const shown = series.steps.length;
  const note = series.total > shown ? `${shown} of ${series.total.toLocaleString("en")} points` : undefined;
  return <Chart title={series.key} data={data} format={formatMetric} note={note} />;
});

/** A value that can be drawn; NaN and infinities are gaps. */
function finite(value: Series["values"][number]): number | null {
  return typeof value === "number" ? value : null;
}

/** Four significant digits, without trailing zeros. */
export function formatMetric(value: number): string {
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 1e6 || size < 1e-4) return value.toExponential(2);
  return String(Number(value.toPrecision(4)));
}

function NoMetrics({ ended }: { ended: boolean }) {
  if (ended) {
    return (
      <Text size="sm" c="dimmed">
        No metrics reported.
      </Text>
    );
  }
  return (
    <Stack gap="xs" align="flex-start">
      <Text size="sm">No metrics yet. In the script:</Text>
      <CommandLine command={'import millpond\nmillpond.log_metric("loss", 0.25, step=1)'} />
    </Stack>
  );
}
