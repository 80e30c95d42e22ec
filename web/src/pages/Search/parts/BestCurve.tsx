import { Paper, Text, Title, useComputedColorScheme } from "@mantine/core";
import { useNavigate } from "@tanstack/react-router";
import { useMemo } from "react";
import type { Search, Trial, TrialState } from "../../../api/shapes";
import { Figure } from "../../../components/figures/Figure";
import { formatMetric } from "../../../lib/metric";
import { bestSoFar, objectiveValue } from "./trials";

interface Props {
  search: Search;
  trials: readonly Trial[];
  /** Which objective. */
  place: number;
}

const SHOWN: readonly TrialState[] = ["succeeded", "pruned", "running"];
const COLORS = {
  light: { best: "#0b7285", succeeded: "#2b8a3e", pruned: "#d9480f", running: "#1864ab" },
  dark: { best: "#3bc9db", succeeded: "#69db7c", pruned: "#ff922b", running: "#74c0fc" },
};
const SYMBOLS = { succeeded: "circle", pruned: "triangle", running: "emptyCircle" };

/** A dot for each trial with a value, and the best value so far. A dot leads to its job. */
export function BestCurve({ search, trials, place }: Props) {
  const scheme = useComputedColorScheme("light");
  const navigate = useNavigate();
  const objective = search.objectives[place];
  const option = useMemo(() => curveOption(search, trials, place, scheme), [search, trials, place, scheme]);
  if (!objective) return null;
  const best = bestSoFar(trials, objective, place).at(-1)?.best;
  const title = `Best ${objective.metric} so far`;
  const open = ({ value }: { value: [number, number] }) => {
    const job = trials.find((trial) => trial.number === value[0])?.job;
    if (job) void navigate({ to: "/projects/$project/jobs/$job", params: { project: search.project, job } });
  };
  const hasValues = trials.some((trial) => objectiveValue(trial, search.objectives, place) !== null);
  return (
    <Paper withBorder p="sm" component="section" aria-label={title}>
      <Title order={2} size="h6" mb={4}>
        {title}
        {best !== undefined && `: ${formatMetric(best)}`}
      </Title>
      {hasValues ? (
        <Figure
          label={`${title}${best === undefined ? "" : `, ${formatMetric(best)}`}; all values are in the table of trials`}
          height={280}
          option={option}
          on={{ click: open }}
        />
      ) : (
        <Text size="sm" c="dimmed">
          No trial has logged {objective.metric} yet.
        </Text>
      )}
    </Paper>
  );
}

function curveOption(search: Search, trials: readonly Trial[], place: number, scheme: "light" | "dark") {
  const objective = search.objectives[place];
  const colors = COLORS[scheme];
  const best = objective ? bestSoFar(trials, objective, place) : [];
  const [newest, reached] = [trials.at(-1), best.at(-1)];
  // What is best now holds up to the newest trial.
  const line = newest && reached ? [...best, { ...reached, number: newest.number }] : best;
  const ofState = (state: TrialState) =>
    trials.flatMap((trial) => {
      const value = objectiveValue(trial, search.objectives, place);
      return trial.state === state && value !== null ? [[trial.number, value]] : [];
    });
  return {
    grid: { left: 60, right: 16, top: 36, bottom: 40 },
    legend: { top: 0, textStyle: { color: scheme === "dark" ? "#c1c2c5" : "#495057" } },
    tooltip: {
      confine: true,
      renderMode: "richText",
      formatter: ({ seriesName, value }: { seriesName: string; value: [number, number] }) =>
        `Trial ${value[0]} (${seriesName})\n${objective?.metric}: ${formatMetric(value[1])}`,
    },
    xAxis: { type: "value", name: "trial", nameLocation: "middle", nameGap: 24, minInterval: 1 },
    yAxis: {
      type: "value",
      scale: true,
      axisLabel: { formatter: formatMetric },
      splitLine: { lineStyle: { opacity: 0.25 } },
    },
    series: [
      {
        name: "best so far",
        type: "line",
        step: "end",
        showSymbol: best.length === 1,
        itemStyle: { color: colors.best },
        data: line.map((point) => [point.number, point.best]),
      },
      ...SHOWN.map((state) => ({
        name: state,
        type: "scatter",
        symbol: SYMBOLS[state as keyof typeof SYMBOLS],
        symbolSize: 8,
        itemStyle: { color: colors[state as keyof typeof SYMBOLS], opacity: 0.85 },
        data: ofState(state),
      })).filter((series) => series.data.length > 0),
    ],
  };
}
