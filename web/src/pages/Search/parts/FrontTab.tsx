import { Group, Paper, Select, Stack, useComputedColorScheme } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useMemo } from "react";
import { allTrialsQuery } from "../../../api/searches";
import type { Search, Trial } from "../../../api/shapes";
import { Figure } from "../../../components/figures/Figure";
import { Loaded } from "../../../components/Loaded";
import { formatMetric } from "../../../lib/metric";
import type { SearchSearch } from "../tabs";
import { BestTrials } from "./BestTrials";

interface Props {
  search: Search;
  shown: SearchSearch;
  onChange: (part: SearchSearch) => void;
}

/** Two objectives against each other; the trials that no other beats in everything stand out. */
export function FrontTab({ search, shown, onChange }: Props) {
  const place = { project: search.project, search: search.id };
  const result = useQuery(allTrialsQuery(place, !search.ended_at));
  const metrics = search.objectives.map(({ metric }) => metric);
  const at = (name: string | undefined, usual: number) =>
    Math.max(0, metrics.indexOf(name ?? metrics[usual] ?? ""));
  const [x, y] = [at(shown.fx, 0), at(shown.fy, 1)];
  return (
    <Stack>
      {metrics.length > 2 && (
        <Group>
          <Select
            size="xs"
            label="Horizontal"
            data={metrics}
            value={metrics[x] ?? null}
            onChange={(fx) => onChange({ fx: fx ?? undefined })}
            allowDeselect={false}
          />
          <Select
            size="xs"
            label="Vertical"
            data={metrics}
            value={metrics[y] ?? null}
            onChange={(fy) => onChange({ fy: fy ?? undefined })}
            allowDeselect={false}
          />
        </Group>
      )}
      <Loaded result={result}>{(trials) => <Front search={search} trials={trials} x={x} y={y} />}</Loaded>
      <BestTrials search={search} />
    </Stack>
  );
}

function Front({ search, trials, x, y }: { search: Search; trials: Trial[]; x: number; y: number }) {
  const scheme = useComputedColorScheme("light");
  const navigate = useNavigate();
  const option = useMemo(() => frontOption(search, trials, x, y, scheme), [search, trials, x, y, scheme]);
  const open = ({ value }: { value: readonly number[] }) => {
    const job = trials.find((trial) => trial.number === value[2])?.job;
    if (job) void navigate({ to: "/projects/$project/jobs/$job", params: { project: search.project, job } });
  };
  const names = [x, y].map((place) => search.objectives[place]?.metric);
  return (
    <Paper withBorder p="sm">
      <Figure
        label={`${names[1]} against ${names[0]}: ${search.best.length} trials are on the front, listed below`}
        height={400}
        option={option}
        on={{ click: open }}
      />
    </Paper>
  );
}

function frontOption(
  search: Search,
  trials: readonly Trial[],
  x: number,
  y: number,
  scheme: "light" | "dark",
) {
  const best = new Set(search.best.map((trial) => trial.number));
  const dots = (wanted: (trial: Trial) => boolean) =>
    trials
      .filter((trial) => trial.state === "succeeded" && wanted(trial))
      .map((trial) => [trial.values[x], trial.values[y], trial.number]);
  const front = dots((trial) => best.has(trial.number)).sort((a, b) => (a[0] ?? 0) - (b[0] ?? 0));
  const axis = (place: number) => ({
    type: "value",
    name: `${search.objectives[place]?.metric} (${search.objectives[place]?.direction})`,
    nameLocation: "middle",
    nameGap: place === x ? 26 : 44,
    scale: true,
    axisLabel: { formatter: formatMetric },
    splitLine: { lineStyle: { opacity: 0.25 } },
  });
  const color = scheme === "dark" ? "#3bc9db" : "#0b7285";
  return {
    grid: { left: 76, right: 20, top: 40, bottom: 50 },
    legend: { top: 0, textStyle: { color: scheme === "dark" ? "#c1c2c5" : "#495057" } },
    tooltip: {
      confine: true,
      renderMode: "richText",
      formatter: ({ value }: { value: [number, number, number] }) =>
        `Trial ${value[2]}\n${search.objectives[x]?.metric}: ${formatMetric(value[0])}\n${search.objectives[y]?.metric}: ${formatMetric(value[1])}`,
    },
    xAxis: axis(x),
    yAxis: axis(y),
    series: [
      {
        name: "on the front",
        type: "line",
        lineStyle: { type: "dashed", width: 1 },
        symbol: "diamond",
        symbolSize: 12,
        itemStyle: { color },
        data: front,
      },
      {
        name: "others",
        type: "scatter",
        symbolSize: 8,
        itemStyle: { color: scheme === "dark" ? "#868e96" : "#adb5bd" },
        data: dots((trial) => !best.has(trial.number)),
      },
    ],
  };
}
