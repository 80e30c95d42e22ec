import { Button, Group, MultiSelect, Paper, Switch, Text, useComputedColorScheme } from "@mantine/core";
import type { ECharts } from "echarts/core";
import { useMemo, useState } from "react";
import { Figure } from "../../../components/figures/Figure";
import { formatMetric } from "../../../lib/metric";
import { plural } from "../../../lib/quantity";
import { type ComparedValues, differing, fieldsOf, fieldValue, numbersOf } from "../fields";
import type { CompareSearch } from "../tabs";
import { FieldTable } from "./FieldTable";
import { axisOf, rampOf, usualFields } from "./ScatterTab";

interface Props {
  compared: readonly ComparedValues[];
  search: CompareSearch;
  onChange: (part: CompareSearch) => void;
  /** What is done with the selected ones. */
  action?: string;
}

const MOST_PARAMS = 6;

/** A line for each run through its values, coloured by the last axis. Dragging along an axis selects runs. */
export function ParallelTab({ compared, search, onChange, action = "Keep" }: Props) {
  const scheme = useComputedColorScheme("light");
  const [table, setTable] = useState(false);
  const [selected, setSelected] = useState<readonly string[] | null>(null);
  const runs = useMemo(() => compared.map(({ run }) => run), [compared]);
  const fields = useMemo(() => differing(runs, fieldsOf(runs)), [runs]);
  const usual = useMemo(() => usualAxes(fields), [fields]);
  const axes = useMemo(
    () => (search.axes ? search.axes.split(",").filter((field) => fields.includes(field)) : usual),
    [search.axes, fields, usual],
  );
  const option = useMemo(() => parallelOption(compared, axes, scheme), [compared, axes, scheme]);
  const select = (_: never, chart: ECharts) => setSelected(selectedIn(chart, compared));
  const keep = () => {
    setSelected(null);
    onChange({ runs: selected?.join(",") });
  };
  return (
    <>
      <Group mb="sm" align="flex-end">
        <MultiSelect
          size="xs"
          miw={320}
          maw={900}
          label="Axes; the last gives the colour"
          searchable
          limit={100}
          data={fields}
          value={axes}
          onChange={(chosen) => onChange({ axes: chosen.join(",") || undefined })}
        />
        <Switch size="xs" label="As a table" checked={table} onChange={() => setTable(!table)} />
        {selected && selected.length < compared.length && (
          <Button size="xs" variant="default" disabled={selected.length === 0} onClick={keep}>
            {action} {plural(selected.length, "selected run")}
          </Button>
        )}
      </Group>
      <Paper withBorder p="sm">
        {axes.length < 2 ? (
          <Text size="sm">Choose two or more values in which these runs differ.</Text>
        ) : table ? (
          <FieldTable compared={compared} fields={axes} />
        ) : (
          <Figure
            label={`Parallel coordinates of ${plural(runs.length, "run")}`}
            height={460}
            option={option}
            on={{ axisareaselected: select }}
          />
        )}
      </Paper>
    </>
  );
}

/** The parameters that differ, then a measure of success. */
function usualAxes(fields: readonly string[]): string[] {
  const params = fields.filter((field) => field.startsWith("params.")).slice(0, MOST_PARAMS);
  const [, best] = usualFields(fields);
  return best && !params.includes(best) ? [...params, best] : params;
}

function parallelOption(
  compared: readonly ComparedValues[],
  axes: readonly string[],
  scheme: "light" | "dark",
) {
  const runs = compared.map(({ run }) => run);
  const numbers = axes.map((field) => numbersOf(runs, field));
  const ink = scheme === "dark" ? "#c1c2c5" : "#495057";
  // A rim of the background keeps labels readable where lines cross them.
  const rim = { textBorderColor: scheme === "dark" ? "#242424" : "#ffffff", textBorderWidth: 3 };
  const label = { color: ink, ...rim };
  const last = numbers.at(-1) ?? null;
  const rows = runs.map((run, place) => ({
    name: run.name,
    value: axes.map((field, axis) => {
      const column = numbers[axis];
      return column ? (column[place] ?? "-") : String(fieldValue(run, field) ?? "none");
    }),
    lineStyle: last ? undefined : { color: compared[place]?.color },
  }));
  return {
    parallelAxis: axes.map((field, dim) => ({
      dim,
      name: field.replace(/^(params|metrics|tags)\./, ""),
      nameTextStyle: { color: ink },
      ...(numbers[dim]
        ? {
            type: axisOf(field, numbers[dim]).type,
            scale: true,
            axisLabel: { ...label, formatter: formatMetric },
          }
        : { type: "category", axisLabel: { ...label, width: 90, overflow: "truncate" } }),
    })),
    parallel: { left: 50, right: last ? 120 : 60, top: 40, bottom: 24 },
    visualMap: last ? [rampOf(last, axes.length - 1, scheme)] : [],
    series: [
      {
        type: "parallel",
        lineStyle: { width: runs.length > 60 ? 1.2 : 2, opacity: 0.7 },
        inactiveOpacity: 0.05,
        data: rows,
      },
    ],
  };
}

/** The ids of the runs that lie within what was marked on the axes. */
function selectedIn(chart: ECharts, compared: readonly ComparedValues[]): string[] {
  // ECharts knows it, and its types do not say so.
  const model = chart as unknown as {
    getModel: () => {
      getSeriesByIndex: (index: number) => { getRawIndicesByActiveState: (state: string) => number[] };
    };
  };
  const series = model.getModel().getSeriesByIndex(0);
  const active = series.getRawIndicesByActiveState("active");
  const places = active.length > 0 ? active : series.getRawIndicesByActiveState("normal");
  return places.flatMap((place) => compared[place]?.run.id ?? []);
}
