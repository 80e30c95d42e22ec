import { Stack, Text, Title, useComputedColorScheme } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useMemo, useState } from "react";
import { type RunPlace, runQuery } from "../../../api/runs";
import { CommandLine } from "../../../components/Copyable";
import { Loaded } from "../../../components/Loaded";
import { byName } from "../../../lib/metric";
import { colorNumbers, colorOf, RUN_COLORS } from "../../../lib/runColors";
import { readChoice, writeChoice } from "../../../lib/storage";
import type { ChartRun } from "../charts/curvesOf";
import { MetricBoard } from "../charts/MetricBoard";
import { type ChartSettings, readSettings } from "../charts/settings";

export interface MetricChartsProps {
  /** The run whose metrics are drawn: its project, and its id. */
  place: RunPlace;
  /** Nothing more will come. */
  ended: boolean;
  /** False where a tab or a drawer says "Metrics" already. */
  heading?: boolean;
}

/**
 * The metrics of one run, a chart for each: `loss` and `val_loss` together, under one cursor, with axis, smoothing,
 * logarithmic scale, zoom, table and full screen. Charts load when they come into sight, so any number of keys may be there.
 * It follows the run by itself once somebody follows the topic `run:ID` (`useTopic`).
 */
export function MetricCharts({ place, ended, heading = true }: MetricChartsProps) {
  const result = useQuery(runQuery(place));
  const [settings, setSettings] = useState(rememberedSettings);
  const change = (part: ChartSettings) => {
    const { keys, ...kept } = { ...settings, ...part };
    setSettings({ ...kept, keys });
    writeChoice("charts", JSON.stringify(kept));
  };
  const scheme = useComputedColorScheme("light");
  const first = colorNumbers([place.run])[0] ?? 0;
  const started = result.data?.started_at;
  const runs = useMemo(
    () => [aloneRun(place.run, first, scheme, started)],
    [place.run, first, scheme, started],
  );
  const keys = Object.keys(result.data?.summaries ?? {}).join("\0");
  const sorted = useMemo(() => keys.split("\0").filter(Boolean).sort(byName), [keys]);
  return (
    <section>
      {heading && (
        <Title order={2} size="h4" mb="xs">
          Metrics
        </Title>
      )}
      <Loaded result={result}>
        {() =>
          sorted.length === 0 ? (
            <NoMetrics ended={ended} />
          ) : (
            <MetricBoard
              project={place.project}
              runs={runs}
              keys={sorted}
              settings={settings}
              onSettings={change}
              live={false}
            />
          )
        }
      </Loaded>
    </section>
  );
}

/** The run's own colour first, then others for the lines beside it. */
function aloneRun(
  id: string,
  first: number,
  scheme: "light" | "dark",
  started: string | undefined,
): ChartRun {
  const keyColors = RUN_COLORS.map((_, place) => colorOf(first + place, scheme));
  return { id, name: id, color: colorOf(first, scheme), keyColors, begin: Date.parse(started ?? "") || 0 };
}

/** How charts were drawn last in this browser. */
function rememberedSettings(): ChartSettings {
  try {
    return readSettings(JSON.parse(readChoice("charts") ?? "{}"));
  } catch {
    return {};
  }
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
