import { Select, useComputedColorScheme } from "@mantine/core";
import { useMemo } from "react";
import type { CursorStore } from "../../../components/curves/cursor";
import { byName } from "../../../lib/metric";
import { colorOf, RUN_COLORS } from "../../../lib/runColors";
import type { ChartRun } from "../../Run/charts/curvesOf";
import { MetricBoard } from "../../Run/charts/MetricBoard";
import { startOf } from "../../Run/parts/start";
import type { ComparedRun } from "../Compare";
import { differing, fieldsOf, fieldValue } from "../fields";
import type { CompareSearch } from "../tabs";

interface Props {
  project: string;
  compared: readonly ComparedRun[];
  search: CompareSearch;
  onChange: (part: CompareSearch) => void;
  cursor: CursorStore;
  live: boolean;
}

/** The curves of all runs over each other, or the mean of each group with a band from least to greatest. */
export function ChartsTab({ project, compared, search, onChange, cursor, live }: Props) {
  const scheme = useComputedColorScheme("light");
  const keys = useMemo(() => keysOf(compared).sort(byName), [compared]);
  const groups = useMemo(() => groupFields(compared), [compared]);
  const runs = useMemo(() => chartRuns(compared, search.group, scheme), [compared, search.group, scheme]);
  return (
    <MetricBoard
      project={project}
      runs={runs}
      keys={keys}
      settings={search}
      onSettings={onChange}
      live={live}
      cursor={cursor}
    >
      <Select
        size="xs"
        w={190}
        aria-label="Group runs by"
        placeholder="Group by…"
        searchable
        clearable
        clearButtonProps={{ "aria-label": "Do not group" }}
        data={groups}
        value={search.group ?? null}
        onChange={(group) => onChange({ group: group ?? undefined })}
      />
    </MetricBoard>
  );
}

function keysOf(compared: readonly ComparedRun[]): string[] {
  return [...new Set(compared.flatMap(({ run }) => Object.keys(run.summaries ?? {})))];
}

/** Parameters and tags that make groups: some runs are alike in them, and not all. */
function groupFields(compared: readonly ComparedRun[]): string[] {
  const runs = compared.map(({ run }) => run);
  const fields = fieldsOf(runs).filter((field) => !field.startsWith("metrics."));
  return differing(runs, fields).filter(
    (field) => new Set(runs.map((run) => fieldValue(run, field))).size < runs.length,
  );
}

function chartRuns(
  compared: readonly ComparedRun[],
  group: string | undefined,
  scheme: "light" | "dark",
): ChartRun[] {
  const names = group
    ? [...new Set(compared.map(({ run }) => written(fieldValue(run, group))))].sort(byName)
    : [];
  return compared.map(({ run, color }) => {
    const base = { id: run.id, name: run.name, begin: Date.parse(startOf(run) ?? run.started_at) };
    if (!group) return { ...base, color };
    const name = written(fieldValue(run, group));
    const number = names.indexOf(name) % RUN_COLORS.length;
    return { ...base, color: colorOf(number, scheme), group: name };
  });
}

function written(value: string | number | undefined): string {
  return value === undefined ? "none" : String(value);
}
